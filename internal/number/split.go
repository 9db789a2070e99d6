package number

import "math"

// Split replaces parts by whole numbers that sum up to total, in proportion to what they
// were. Parts that are not 0 stay at least 1 if total allows that for all of them. If all
// parts are 0, they stay 0.
func Split(parts []int, total int) {
	sum, left := 0, 0
	for _, n := range parts {
		sum += n
		left += min(n, 1)
	}
	least := 1
	if total < left {
		least = 0
	}
	run, done := 0, 0
	for i, n := range parts {
		if n == 0 {
			continue
		}
		run, left = run+n, left-1
		// The running sum is rounded, so that errors do not add up.
		upTo := int(math.Round(float64(run) / float64(sum) * float64(total)))
		upTo = min(max(upTo, done+least), total-least*left)
		parts[i], done = upTo-done, upTo
	}
}

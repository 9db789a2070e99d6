// Package suggest finds the name that was probably meant by a misspelt one.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// Name returns the name with the smallest edit distance from written, or "" if even
// that would change more than a third of its letters.
func Name(written string, names []string) string {
	written = strings.ToLower(written)
	best, least := "", 0
	for _, n := range names {
		d := Distance(written, strings.ToLower(n))
		if d <= max(1, len(n)/3) && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}

// Distance returns the number of letters to change, add, remove or swap with the next.
// For a text of more than 200 bytes it returns the longer length.
func Distance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return max(len(a), len(b))
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		two, one, row = one, row, two
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(one[j]+cost, one[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Names returns the names that written may mean, the nearest first: those that
// contain it, and those within a small edit distance.
func Names(written string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	low := strings.ToLower(written)
	for _, n := range names {
		other := strings.ToLower(n)
		d := Distance(low, other)
		switch {
		case strings.HasPrefix(other, low):
			d = 0
		case strings.Contains(other, low):
			d = 1
		case d > max(1, len(low)/3):
			continue
		}
		found = append(found, candidate{n, d})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found {
		out = append(out, c.name)
	}
	return out
}

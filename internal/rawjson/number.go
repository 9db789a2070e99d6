package rawjson

import "math"

// Int returns the value of an integer that fits in an int64. Numbers such as 1e3
// and 5.0 are integers too. False for fractions, larger numbers and other kinds.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	return parseInt(v.Raw())
}

// parseInt reads a valid number.
func parseInt(s []byte) (int64, bool) {
	neg := s[0] == '-'
	if neg {
		s = s[1:]
	}
	// The number is the digits held so far times ten to the power exp. Zeros
	// wait in pending until a digit after them shows that they are needed.
	var mant uint64
	var pending, exp int64
	frac := false
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' {
			frac = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		if frac {
			exp--
		}
		if c == '0' {
			pending++
			continue
		}
		var ok bool
		if mant, ok = shift10(mant, pending+1); !ok {
			return 0, false
		}
		mant += uint64(c - '0') // no overflow: mant is a multiple of 10 below 1e19
		pending = 0
	}
	if i < len(s) { // e or E
		exp += exponent(s[i+1:])
	}
	if mant == 0 {
		return 0, true
	}
	exp += pending
	if exp < 0 {
		return 0, false
	}
	mant, ok := shift10(mant, exp)
	switch {
	case !ok:
		return 0, false
	case neg && mant <= -math.MinInt64:
		return -int64(mant), true
	case !neg && mant <= math.MaxInt64:
		return int64(mant), true
	}
	return 0, false
}

// shift10 is m times ten to the power n, if that is below 1e19, so that one
// more digit cannot overflow.
func shift10(m uint64, n int64) (uint64, bool) {
	if m == 0 {
		return 0, true
	}
	for ; n > 0; n-- {
		if m >= 1e18 {
			return 0, false
		}
		m *= 10
	}
	return m, true
}

// exponent parses a valid exponent with its sign. Very large ones stay large:
// a text is shorter than 2 GiB, so no mantissa can compensate for them.
func exponent(s []byte) int64 {
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg = s[0] == '-'
		s = s[1:]
	}
	n := int64(0)
	for _, c := range s {
		n = min(n*10+int64(c-'0'), 1<<40)
	}
	if neg {
		return -n
	}
	return n
}

// scanNumber returns the end of the number that starts at data[i]; on failure the
// end is the first byte that is wrong.
func scanNumber(data []byte, i int) (end int, ok bool) {
	if data[i] == '-' {
		i++
	}
	switch {
	case i >= len(data):
		return i, false
	case data[i] == '0':
		i++
	default:
		if i, ok = scanDigits(data, i); !ok {
			return i, false
		}
	}
	if i < len(data) && data[i] == '.' {
		if i, ok = scanDigits(data, i+1); !ok {
			return i, false
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if i, ok = scanDigits(data, i); !ok {
			return i, false
		}
	}
	return i, true
}

// scanDigits returns the end of the one or more digits that start at data[i].
func scanDigits(data []byte, i int) (end int, ok bool) {
	start := i
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i, i > start
}

// Package number checks numbers in settings and divides totals. NaN and infinities, which break
// comparisons and sums, are never valid; what a total is divided into sums up to it.
package number

import (
	"fmt"
	"math"
)

// Finite reports whether x is neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Within reports whether x is a number from low to high.
func Within(x, low, high float64) bool { return x >= low && x <= high && Finite(x) }

// Check returns an error if x is not finite.
func Check(x float64) error {
	if !Finite(x) {
		return fmt.Errorf("%g is not a number that can be used: give one such as 0.5", x)
	}
	return nil
}

package number

import (
	"math"
	"testing"
)

func TestOnlyFiniteNumbersPass(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Finite(x) || Within(x, math.Inf(-1), math.Inf(1)) || Check(x) == nil {
			t.Errorf("%g passes", x)
		}
	}
	for _, x := range []float64{0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if !Finite(x) || Check(x) != nil {
			t.Errorf("%g does not pass", x)
		}
	}
	if !Within(5, 5, 100) || !Within(100, 5, 100) || Within(4.9, 5, 100) || Within(100.1, 5, 100) {
		t.Error("the bounds")
	}
}

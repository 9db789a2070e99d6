package window

import (
	"math"
	"testing"

	"github.com/oriel-context/oriel/token"
)

func TestDearReadsMakeDeepCuts(t *testing.T) {
	rates := func(input, read float64) token.Prices {
		return token.Prices{Rates: token.Rates{Input: input, CacheRead: read}}
	}
	for name, tt := range map[string]struct {
		wish   bool
		prices token.Prices
		want   float64
	}{
		"no cache":       {true, rates(3, 0), .42},
		"a quarter":      {true, rates(2, .5), .42},
		"a tenth":        {true, rates(5, .5), .42},
		"a twentieth":    {true, rates(5, .25), .46},
		"a fortieth":     {true, rates(4, .1), .5},
		"nearly nothing": {true, rates(4, .001), .5},
		"no price":       {true, token.Prices{}, .5},
		"a limit":        {false, rates(5, .5), .5},
	} {
		if got := LowShare(tt.wish, tt.prices); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, got, tt.want)
		}
	}
}

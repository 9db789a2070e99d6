package suggest

import (
	"strings"
	"testing"
)

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"code-mode", "full", "balanced", "off"}
	for written, want := range map[string]string{
		"code-mod": "code-mode", "Code-Mode": "code-mode", "code_mode": "code-mode", "ful": "full", "fulll": "full",
		"balacned": "balanced",
		"of":       "off", "nonsense": "", "": "", strings.Repeat("x", 500): "",
	} {
		if got := Name(written, names); got != want {
			t.Errorf("%.20q: %q, not %q", written, got, want)
		}
	}
}

func TestDistanceCountsChanges(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q, %q: %d and %d, not %d", c.a, c.b, got, back, c.want)
		}
	}
}

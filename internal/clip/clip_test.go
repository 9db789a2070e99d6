package clip

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClippedTextSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc… (1 bytes more)"},
		{"aé", 2, "a… (2 bytes more)"},
		{"a😀b", 4, "a… (5 bytes more)"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80… (1 bytes more)"},
		{strings.Repeat("x", 1<<20), 2, "xx… (1048574 bytes more)"},
	} {
		if got := To(c.in, c.n); got != c.want {
			t.Errorf("%.10q, %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzTo(f *testing.F) {
	f.Add("a😀b", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(0, n%1000)
		got := To(s, n)
		if len(got) > n+40 || len(s) <= n && got != s {
			t.Errorf("%d bytes of %d, at most %d", len(got), len(s), n)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
	})
}

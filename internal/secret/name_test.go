package secret

import "testing"

// Names are compared without case and separators, whatever their characters are.
func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "X-Api-Key": "xapikey", "api_key": "apikey", "A.p i-Key": "apikey", "\u212Aey": "key",
		"X-\u00C4-b": "x\u00E4b", "-_. ": "",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { plainName("Anthropic-Dangerous-Direct-Browser-Access") }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

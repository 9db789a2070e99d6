package recall

import (
	"strings"
	"testing"
)

func TestProseIsEmbeddedWithoutItsCode(t *testing.T) {
	const prose = "Can you review this code and tell me whether the retry is right?"
	const code = "```go\nfor {\n\tretry()\n}\n```"
	for text, want := range map[string]string{
		prose + "\n" + code + "\nThank you.":           prose + " Thank you.",
		prose + "\n" + strings.TrimSuffix(code, "```"): prose,
		"Fix this:\n" + code:                           "Fix this: ```go for { retry() } ```", // too little prose
		"two\n  words":                                 "two words",
	} {
		if got := embedText("", text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got, want := embedText("Ann", prose+code), "Ann: "+prose; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

package report_test

import (
	"testing"

	"github.com/oriel-context/oriel/internal/report"
)

func TestOnOneLine(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "x"}`:   `{"a": "x"}`,
		"{\"a\": 1}\r": "{\"a\": 1}\r",
		"{\r\n\t\"a\": \"b  c\",\n  \"d\": [\n 1\n ]\n}": `{"a": "b  c","d": [1]}`,
	} {
		if got := string(report.OnOneLine([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

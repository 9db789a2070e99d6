package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
)

func TestStringDecodesLiterals(t *testing.T) {
	for literal, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\n\t\r\b\f\/\\\""`: "\n\t\r\b\f/\\\"", `"\u00e9\ud83d\ude00"`: "é😀", `"\u0000"`: "\x00",
		`"\ud800x"`: "\ufffdx", `"\udc00\ud800"`: "\ufffd\ufffd", // not in any body that was read
		``: "", `"`: "", `x`: "", `"\`: "", `"\"`: "\ufffd", `"\u12"`: "\ufffd12", `"\q"`: "\ufffd",
	} {
		if got := chat.String(literal).String(); got != want {
			t.Errorf("%s decodes to %q, want %q", literal, got, want)
		}
	}
	if !chat.String(`""`).Empty() || !chat.String(nil).Empty() || chat.String(`" "`).Empty() {
		t.Error("Empty")
	}
}

// A literal says what the standard library says it does, both ways.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "héllo\n\"\\", "\x00\x1f\u2028😀", "\xff\xfe", strings.Repeat("a", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		literal := chat.Quote(s)
		var std string
		if err := json.Unmarshal(literal, &std); err != nil {
			t.Fatalf("%v: %s", err, literal)
		}
		if got := literal.String(); got != std || utf8.ValidString(s) && got != s {
			t.Fatalf("%q became %s and %q", s, literal, got)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := chat.String(raw).String(); got != std {
			t.Fatalf("%s decodes to %q, want %q", raw, got, std)
		}
		_ = chat.String(s).String() // whatever it is, no panic
	})
}

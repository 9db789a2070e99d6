package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/oriel-context/oriel/internal/rawjson"
)

func TestMendChangesOnlyWhatHasNoMeaning(t *testing.T) {
	for in, want := range map[string]string{
		`"plain é"`:               `"plain é"`,
		`"\ud83d\ude00"`:          `"\ud83d\ude00"`,
		`"\ud83d"`:                `"\ufffd"`,
		`"\uDE00x"`:               `"\ufffdx"`,
		`"\ud83d\ud83d\ude00"`:    `"\ufffd\ud83d\ude00"`,
		`"\\ud83d"`:               `"\\ud83d"`,
		`"\\\ud83d"`:              `"\\\ufffd"`,
		"\"\xff\xfe\"":            "\"\ufffd\"",
		"\ufeff\"x\"":             `"x"`,
		`"\ud83`:                  `"\ud83`,
		`"\`:                      `"\`,
		"\"\xed\xa0\xbd\\udc00\"": "\"\ufffd\\ufffd\"",
	} {
		before := in
		if got := string(rawjson.Mend([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if in != before {
			t.Errorf("%q was changed", before)
		}
	}
	whole := []byte(`{"a":"\ud83d\ude00"}`)
	if got := rawjson.Mend(whole); &got[0] != &whole[0] {
		t.Error("copied without need")
	}
}

// What the standard library takes as JSON is read.
func FuzzParseLenient(f *testing.F) {
	for _, s := range []string{`{"a":"\ud800"}`, "\"\xff\"", `[1,2]`, "\ufeff{}", `{"a":"\ud800\udc00"}`, `"\\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		_, err := rawjson.ParseLenient(data, 1<<20)
		if json.Valid(data) && err != nil && len(data) < 1<<20 {
			t.Fatalf("%q: %v", data, err)
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the input was changed")
		}
	})
}

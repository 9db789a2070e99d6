package secret

import (
	"net/http"
	"strings"
	"testing"
)

// Strings and names that contain a key are replaced, whatever they are escaped or nested in;
// all other bytes stay.
func TestReplaceLeavesAllElse(t *testing.T) {
	k := Of(http.Header{"Authorization": {"Bearer sk-LEAK-7f3a91c0d2e4"}}, "")
	by := func(string) string { return "gone" }
	for raw, want := range map[string]string{
		`{ "a": "plain",	"b":[1.0, null] }`:                    `{ "a": "plain",	"b":[1.0, null] }`,
		`{"a": "sk-LEAK-7f3a91c0d2e4" , "b":1e3}`:              `{"a": "gone" , "b":1e3}`,
		`{"a":{"b":["x", "of sk-LEAK\u002d7f3a91c0d2e4."]}}`:   `{"a":{"b":["x", "gone"]}}`,
		`{"sk-LEAK-7f3a91c0d2e4":{"sk-LEAK-7f3a91c0d2e4": 1}}`: `{"gone":{"gone": 1}}`,
		`"{\"a\":\"sk-LEAK-7f3a91c0d2e4\"}"`:                   `"gone"`,
		`{"a":"sk-LEAK-7f3a91c0d2e4"`:                          `"` + NotKept + `"`,
	} {
		if got := string(k.Replace([]byte(raw), by)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	long := []byte(`{"a":"` + strings.Repeat("nothing to see ", 1<<16) + `"}`)
	if got := k.Replace(long, by); &got[0] != &long[0] {
		t.Error("a text without keys is copied")
	}
}

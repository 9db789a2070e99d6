package secret

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The work of looking for keys does not grow with their number: each place of a text is
// looked up, not each key.
func TestManyShortKeysAreFoundTogether(t *testing.T) {
	var cookies []string
	for i := range 1500 {
		cookies = append(cookies, fmt.Sprintf("k%08d", i))
	}
	k := Of(http.Header{"Cookie": {strings.Join(cookies, ";")}}, "")
	x := k.index()
	for _, v := range k.values {
		if n := x.at([]byte(v + "tail")); n < min(part, len(v)) {
			t.Fatalf("%q: %d bytes found", v, n)
		}
	}
	text := strings.Repeat("an answer of words, ", 50_000)
	if got := k.Clean(text); got != text {
		t.Error("a text without keys was changed")
	}
	if got := k.Clean(text + cookies[700] + text); strings.Contains(got, cookies[700]) ||
		!strings.Contains(got, NotKept) {
		t.Error("a key was kept")
	}
}

// Of a request with more credentials than anybody has, no text is kept.
func TestTooManyCredentialsKeepNothing(t *testing.T) {
	k := Of(http.Header{"Cookie": {strings.Repeat("abcdefgh;", 3000)}}, "")
	if len(k.values) > 0 || k.None() {
		t.Errorf("%d values", len(k.values))
	}
	if got := k.Clean("any text at all"); got != "["+NotKept+"]" {
		t.Errorf("%q", got)
	}
	if got := Value("other-key-0").And(k).Clean("any text at all"); got != "["+NotKept+"]" {
		t.Errorf("together with another: %q", got)
	}
}

// On a refused request little work is spent.
func TestRefusedRequestsHaveFewKeys(t *testing.T) {
	h := http.Header{"Cookie": {strings.Repeat("abcdefgh;", 200)}}
	if Of(h, "").over || !OfRefused(h, "").over ||
		OfRefused(http.Header{"Authorization": {"Bearer sk-0123456789"}}, "").over {
		t.Error("of a refused request more or fewer keys are looked for")
	}
}

// A text that is not looked through in time is not kept.
func TestLookingForKeysEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text := strings.Repeat("an answer of words, ", 100)
	if got := Value("sk-0123456789").CleanUntil(ctx, text); got != "["+NotKept+"]" {
		t.Errorf("%.40q was kept", got)
	}
}

// Keys and texts are compared in the same lower case, in which no letter changes its length.
func TestKeysWithOtherLetters(t *testing.T) {
	for _, value := range []string{"\u212a\u212aab", "\u0130\u0130abcdef", "ÄÖÜ-Schlüssel",
		"\xff\xfe\xfd\xff\xfe\xfdab"} {
		k := Of(http.Header{"X-Api-Key": {value}}, "")
		for _, around := range []string{"the key ", strings.Repeat("words ", 100)} {
			if got := k.Clean(around + value + "\\ is wrong"); strings.Contains(got, value) ||
				!strings.Contains(got, NotKept) {
				t.Errorf("%q: %q", value, got)
			}
		}
	}
}

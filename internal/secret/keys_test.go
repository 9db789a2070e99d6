package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCleanTakesTheCallsKeysOut(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + key))
	for name, value := range map[string]string{
		"Authorization": "Bearer " + key, "X-Api-Key": key, "Api-Key": key, "X-Goog-Api-Key": key,
		"Cookie":     "a=b; session=" + key + "; c=d",
		"X-My-Token": key, "Proxy-Authorization": "Basic " + basic, "X-Oriel-Token": key, "X-Amz-Security-Token": key,
		"Ocp-Apim-Subscription-Key": key, "CF-Access-Client-Secret": key,
	} {
		k := Of(http.Header{name: {value}}, "")
		escaped := ""
		for _, c := range []byte(key) {
			escaped += fmt.Sprintf(`\u%04x`, c)
		}
		twice, _ := json.Marshal(escaped)
		percent := ""
		for _, c := range []byte(key) {
			percent += fmt.Sprintf("%%%02X", c)
		}
		for _, text := range []string{
			"bad key " + key + ".", "bad key Bearer " + key, value, strings.ToUpper(key), escaped, string(twice),
			percent, url.QueryEscape(percent),
			strings.ReplaceAll(key, "-", `\u002d`), strings.ReplaceAll(key, "-", "&#45;"),
			strings.ReplaceAll(key, "-", "&#x2D;"), "…" + key[:14] + "…", "…" + key[3:] + "…",
		} {
			got := k.Clean("the key «" + text + "» is no good")
			if !strings.HasPrefix(got, "the key «") || !strings.HasSuffix(got, "» is no good") ||
				!strings.Contains(got, NotKept) {
				t.Errorf("%s: %q: %q", name, text, got)
			}
			if strings.Contains(strings.ToLower(got), strings.ToLower(key[3:15])) {
				t.Errorf("%s: %q is kept: %q", name, text, got)
			}
		}
	}
	if got := Of(nil, "a=b&key="+key+"&api-version=2024-10-21-preview").Clean(key +
		" 2024-10-21-preview"); got != "[not kept] 2024-10-21-preview" {
		t.Errorf("%s", got)
	}
	if got := Of(nil, "access%5Ftoken=a%2Fb%2Fc%2Fd%2Fe%2F").Clean("a/b/c/d/e/"); got != "[not kept]" {
		t.Errorf("%s", got)
	}
	slash := Of(http.Header{"X-Api-Key": {"abc/def/ghi/jkl"}}, "")
	if got := slash.Clean(`x abc\/def\/ghi\/jkl y`); got != "x [not kept] y" {
		t.Errorf("%s", got)
	}
}

// A key that a provider repeats in base64 or hex is not kept, wherever it begins in what is
// encoded.
func TestCleanTakesEncodedKeysOut(t *testing.T) {
	for _, secret := range []string{key, "12345678", "a?>b~~c?>d??e>>f"} {
		k := Of(http.Header{"Authorization": {"Bearer " + secret}}, "")
		for _, before := range []string{"", "x", "xy", "Bearer ", "{\"key\": \""} {
			for _, after := range []string{"", "\"}"} {
				whole := []byte(before + secret + after)
				for _, text := range []string{
					base64.StdEncoding.EncodeToString(whole), base64.URLEncoding.EncodeToString(whole),
					base64.RawURLEncoding.EncodeToString(whole),
					hex.EncodeToString(whole), strings.ToUpper(hex.EncodeToString(whole)),
					url.QueryEscape(base64.StdEncoding.EncodeToString(whole)),
				} {
					for _, around := range []string{"", strings.Repeat("some, text, ", 100)} {
						if got := k.Clean(around + text + around); !strings.Contains(got, NotKept) ||
							len(got) > 2*len(around)+len(NotKept)+2+len(text)-len(secret) {
							t.Errorf("%q: %q", text, got)
						}
					}
				}
			}
		}
	}
}

func TestCleanLeavesWordsAlone(t *testing.T) {
	k := Of(http.Header{"Authorization": {"Bearer ollama"}, "User-Agent": {"agent-of-some-length/1.0"},
		"Content-Type": {"application/json"}}, "beta=true-or-not-at-all")
	for _, text := range []string{"ollama is not loaded", "agent-of-some-length/1.0", "application/json",
		"true-or-not-at-all", "100% sure \\ & so on; %zz &x; \\u00"} {
		if got := k.Clean(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := (Keys{}).Clean(key); got != key {
		t.Errorf("%s", got)
	}
}

// A key is found wherever it stands in a long text, across the blocks that the text is
// looked at in, too.
func TestCleanFindsKeysInLongTexts(t *testing.T) {
	k := Of(http.Header{"Authorization": {"Bearer " + key}}, "")
	escaped := ""
	for _, c := range []byte(key) {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	for _, form := range []string{key, escaped} {
		for at := block - len(form); at <= block+overlap; at += overlap/2 + 7 {
			text := strings.Repeat("some,text,", (block+2*overlap)/10+1)
			text = text[:at] + form + text[at:]
			if got := k.Clean(text); strings.Contains(got, form) || !strings.Contains(got, NotKept) ||
				len(got) != len(text)-len(form)+len(NotKept)+2 {
				t.Errorf("%d bytes at %d: %d of %d bytes are left", len(form), at, len(got), len(text))
			}
		}
	}
}

// Cleaning the name of a reply, which every call has, costs little however long its key
// is.
func TestCleanOfShortTextsMakesNoIndex(t *testing.T) {
	k := Of(http.Header{"Authorization": {"Bearer " + strings.Repeat("eyJhbGciOiJSUzI1NiIs", 100)}}, "")
	for _, text := range []string{"stop", "end_turn", "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012",
		strings.Repeat("x", 256)} {
		if n := testing.AllocsPerRun(10, func() { k.Clean(text) }); n > 3 {
			t.Errorf("%d bytes: %v allocations", len(text), n)
		}
	}
}

// What is near a key is looked at closely: every key and every part of one is found in a
// short text, too.
func TestCleanFindsKeysInShortTexts(t *testing.T) {
	for _, secret := range []string{"12345678", "123456789ab", key} {
		k := Of(http.Header{"X-Api-Key": {secret}}, "")
		for i := range 20 {
			text := strings.Repeat("x", i) + strings.ToUpper(secret) + "y"
			if got := k.Clean(text); strings.Contains(strings.ToLower(got), secret) {
				t.Errorf("%s", got)
			}
		}
	}
}

// However a text repeats the key, no long part of it stays; a JSON text stays JSON.
func TestCleanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/_.-]{16,60}`).Draw(t, "secret")
		k := Of(http.Header{"Authorization": {"Bearer " + secret}}, "")
		var b strings.Builder
		for _, c := range []byte(secret) {
			switch rapid.IntRange(0, 3).Draw(t, "spelling") {
			case 0:
				fmt.Fprintf(&b, `\u%04x`, c)
			case 1:
				fmt.Fprintf(&b, "%%%02x", c)
			default:
				b.WriteByte(c)
			}
		}
		text := `{"error":"` + rapid.StringMatching(`[a-z ]{0,20}`).Draw(t,
			"before") + b.String() + rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "after") + `"}`
		got := k.Clean(text)
		if !json.Valid([]byte(got)) {
			t.Fatalf("%s of %s", got, text)
		}
		l := plainLayer(got)
		for range layers {
			for i := 0; i+part <= len(secret); i++ {
				if strings.Contains(string(l.text), secret[i:i+part]) {
					t.Fatalf("%s has %s", got, secret[i:i+part])
				}
			}
			l, _ = l.decode()
		}
	})
}

// What is remembered of one call is never taken for another's.
func TestKeysAreThoseOfTheCall(t *testing.T) {
	for range 3 {
		for _, key := range []string{"sk-ant-of-anna-123456", "sk-ant-of-bert-654321", ""} {
			h := http.Header{"Accept": {"*/*"}}
			if key != "" {
				h.Set("X-Api-Key", key)
			}
			k := Of(h, "")
			for _, other := range []string{"sk-ant-of-anna-123456", "sk-ant-of-bert-654321"} {
				if hidden := k.Clean(other) != other; hidden != (other == key) {
					t.Errorf("with %q, %q is hidden: %t", key, other, hidden)
				}
			}
		}
	}
}

func TestTheKeysOfACallAreComputedOnce(t *testing.T) {
	h := http.Header{"Authorization": {"Bearer sk-one-long-key"}, "X-Api-Key": {"sk-another-long-key"}}
	Of(h, "")
	first := latest.Load()
	for range 50 { // the order of a map varies
		if Of(h, ""); latest.Load() != first {
			t.Fatal("they were computed again")
		}
	}
}

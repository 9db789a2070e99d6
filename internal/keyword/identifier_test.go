package keyword

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentifiersAreSplitAndKeptWhole(t *testing.T) {
	tests := []struct{ name, text, counted, extra string }{
		{"camel case", "maxTokenCount", "maxtokencount", "max token count"},
		{"capitals in a row", "parseHTTPRequest", "parsehttprequest", "pars http request"},
		{"stop words and single letters are no parts", "iPhone isEnabled", "iphon isenabl", "phon enabl"},
		{"plurals of capitals have no parts", "URLs APIs", "url api", ""},
		{"digits stay with what is before", "http2Server utf8", "http2server utf8", "http2 server"},
		{"snake case", "max_token_count", "max token count", "max_token_count"},
		{"capitals in snake case", "MAX_TOKEN_COUNT", "max token count", "max_token_count"},
		{"double underscores", "mcp__files__read", "mcp fil read", "mcp__files__read"},
		{"kebab case", "content-type: x-api-key", "content typ x api key", "content-type x-api-key"},
		{"dotted", "window.Plan os.ReadFile", "window plan os readfil", "window.plan read fil os.readfile"},
		{"a path", "/internal/http2/flow_control.go", "internal http2 flow control go",
			"internal/http2/flow_control.go flow_control.go flow_control"},
		{"a path of Windows", `C:\src\main.go`, "c src main go", "src/main.go main.go"},
		{"a hidden file in a path", "a/.github/ci.yml", "github ci yml", "a/.github/ci.yml ci.yml"},
		{"underscores around a file", "pkg/__init__.py", "pkg init py", "pkg/__init__.py init__.py"},
		{"an address", "https://go.dev/doc/faq?x=1", "http go dev doc faq x 1", "go.dev/doc/faq go.dev"},
		{"a date", "2023-05-08", "2023 05 08", "2023-05-08"},
		{"a decimal number", "3.14", "3 14", "3.14"},
		{"a version", "v1.2.3", "v1 2 3", "v1.2.3"},
		{"a short and a long hash meet", "3f2a9bc 3f2a9bc1d0", "3f2a9bc 3f2a9bc1d0", "3f2a9bc"},
		{"quoted in code", "'status' 'Name'", "tatus' 'name'", "statu nam"},
		{"a possessive behind an identifier", "user_id's", "user id", "user_id"},
		{"dashes and ellipses join nothing", "one--two three...four", "one two thre four", ""},
		{"nothing at the edges", "(foo-) ./bar/ _baz_.", "foo bar baz", ""},
		{"letters beyond ASCII", "größe_max naïveName", "gross max naivenam", "grosse_max naiv nam"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			counted, extra := split(test.text)
			if diff := cmp.Diff([2][]string{strings.Fields(test.counted), strings.Fields(test.extra)},
				[2][]string{counted, extra}); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestEncodedDataIsSkipped(t *testing.T) {
	raw := make([]byte, 600)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	std, url := base64.StdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw)
	for _, text := range []string{
		std, url, std[:64], "'" + std + "'", strings.Repeat("A", 64), strings.Repeat("deadbeef", 17),
		std[:76] + "\n" + std[76:152],
	} {
		if words := new(Analyser).Words("Before " + text + " behind"); len(words) != 2 {
			t.Errorf("%.80q gave %d terms: %v", text, len(words), words[:min(9, len(words))])
		}
	}
	if words := new(Analyser).Words("token." + url + " x"); len(words) != 2 || words[0].Text != "token" {
		t.Errorf("data behind a dot gave %v", words)
	}
}

func TestLongNamesAreNotSkipped(t *testing.T) {
	for _, text := range []string{
		"src/main/java/org/springframework/beans/factory/AbstractBeanFactory/handler",
		"this-is-the-very-long-title-of-an-article-about-nothing-in-particular-at-all-2024",
		strings.Repeat("0123456789abcdef", 4), // SHA-256
		strings.Repeat("0123456789abcdef", 8), // SHA-512
	} {
		if len(text) < blobSize {
			t.Fatalf("%q is too short to test anything", text)
		}
		counted, _ := split(text)
		if diff := cmp.Diff(referenceWords(text), counted); diff != "" {
			t.Errorf("%q (-reference +ours):\n%s", text, diff)
		}
	}
}

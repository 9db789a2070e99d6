package snippets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A request that the guide shows is one of the reference, as it is sent now.
func TestRequestsOfTheGuideAreThoseOfTheReference(t *testing.T) {
	read := func(page string) string {
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	reference := read("docs/reference/requests.md")
	shown := regexp.MustCompile(`(?s)<!-- sent (\S+) -->\n\n(.*?)\n<!-- end -->`).FindAllStringSubmatch(
		read("docs/requests.md"), -1)
	if len(shown) == 0 {
		t.Fatal("docs/requests.md shows no request")
	}
	for _, m := range shown {
		_, whole, found := strings.Cut(reference, "<!-- request "+m[1]+" -->\n")
		whole, _, _ = strings.Cut(whole, "<!-- end -->")
		if !found || !strings.HasSuffix(whole, "\n"+m[2]+"\n") {
			t.Errorf("docs/requests.md shows another request %s than docs/reference/requests.md", m[1])
		}
	}
}

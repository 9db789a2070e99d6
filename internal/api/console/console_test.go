package console

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestEveryAnswerForbidsInlineScriptsAndOtherOrigins(t *testing.T) {
	for _, path := range []string{"/oriel", "/oriel/", "/oriel/ui/main.js", "/oriel/ui/oriel.css", "/oriel/ui/icon.svg",
		"/oriel/none", "/oriel/../site/index.html"} {
		w := get(t, "GET", path)
		csp := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "trusted-types 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q has no %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "data:") {
			t.Errorf("%s: the policy allows too much: %q", path, csp)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || len(w.Header()["Set-Cookie"]) > 0 {
			t.Errorf("%s: headers %v", path, w.Header())
		}
	}
}

func TestFilesHaveTheirTypesAndAreAskedForAgain(t *testing.T) {
	for path, kind := range map[string]string{"/oriel/": "text/html", "/oriel/ui/main.js": "text/javascript",
		"/oriel/ui/oriel.css": "text/css", "/oriel/ui/icon.svg": "image/svg+xml"} {
		w := get(t, "GET", path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		if again := get(t, "GET", path, "If-None-Match",
			w.Header().Get("Etag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: %d", path, again.Code)
		}
	}
	if w := get(t, "POST", "/oriel/"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// A token before the path (/k/TOKEN/oriel/) must stay with every further request.
func TestAddressesAreRelative(t *testing.T) {
	if w := get(t, "GET", "/oriel"); w.Header().Get("Location") != "oriel/" {
		t.Errorf("Location %q", w.Header().Get("Location"))
	}
	page := get(t, "GET", "/oriel/").Body.String()
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], ":") {
			t.Errorf("the page has the address %q", m[1])
		}
	}
}

// The browser holds this, too (trusted types): a mistake must not wait until somebody opens
// the page that has it.
func TestNoModuleMakesMarkupOfStrings(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style|DOMParser|createContextualFragment|srcdoc|localStorage|sessionStorage|document\.cookie|https?://`)
	err := fs.WalkDir(site, "site", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".js") {
			return err
		}
		data, err := site.ReadFile(name)
		for i, line := range strings.Split(string(data), "\n") {
			if found := bad.FindString(line); found != "" && !strings.Contains(line, "http://www.w3.org/2000/svg") {
				t.Errorf("%s:%d: %s", name, i+1, found)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

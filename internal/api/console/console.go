// Package console serves the web page at /oriel/: what calls cost, what left a window and
// why, what a model saw, and pin and undo.
//
// The page is plain JavaScript modules, one style sheet and no build step: the files under
// site are served as they are. It holds no logic of its own and knows nothing but what the
// JSON API answers.
//
// # Guarantees
//
//   - Texts of conversations reach the page as text nodes only. The content security policy
//     allows no inline script or style, no other origin, and no markup from strings (trusted
//     types), so that a mistake does not become an attack.
//   - The page asks nothing of other origins, stores nothing in the browser and sets no
//     cookie.
//   - All addresses are relative: a prefix of the base URL, such as /k/TOKEN, stays.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed site
var site embed.FS

// policy is the content security policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is a file of the page.
type file struct {
	kind, tag string
	data      []byte
}

// Handler returns the handler of /oriel/, without /oriel/api/.
func Handler() http.Handler {
	files := map[string]file{}
	err := fs.WalkDir(site, "site", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := site.ReadFile(name)
		sum := sha256.Sum256(data)
		files[strings.TrimPrefix(name, "site/")] = file{kindOf(name),
			`"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, data}
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, files) })
}

// kindOf returns the media type of a file. Tables of the machine are not asked: they may be
// wrong about JavaScript.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/html; charset=utf-8"
}

func serve(w http.ResponseWriter, r *http.Request, files map[string]file) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache") // asked again each time, answered by the tag
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	name, inside := strings.CutPrefix(r.URL.Path, "/oriel/")
	if !inside {
		// Relative, so that a prefix of the base URL stays.
		h.Set("Location", "oriel/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	if name == "" {
		name = "index.html"
	}
	f, ok := files[name]
	if !ok {
		http.Error(w, "there is nothing here: /oriel/ is the console, /oriel/api/openapi.json describes the API",
			http.StatusNotFound)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Etag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

const embedKey = "sk-vectors-77ab01"

// embedder is a server that speaks OpenAI's embeddings format. Its model knows that a
// velocipede is a bicycle.
type embedder struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex // protects what follows
	texts  []string
	status int // that it refuses with; 0: it works
}

func startEmbedder(t *testing.T) *embedder {
	e := &embedder{t: t}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	t.Setenv("ORIEL_EMBED_URL", e.URL)
	t.Setenv("ORIEL_EMBED_MODEL", "bags")
	t.Setenv("ORIEL_EMBED_KEY", embedKey)
	return e
}

func (e *embedder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var body struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Model != "bags" ||
		!strings.HasSuffix(r.URL.Path, "/v1/embeddings") || r.Header.Get("Authorization") != "Bearer "+embedKey {
		e.t.Errorf("%s %v: %+v, %v", r.URL, r.Header, body, err)
	}
	if e.status != 0 {
		w.WriteHeader(e.status)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s."}}`, embedKey)
		return
	}
	e.texts = append(e.texts, body.Input...)
	type entry struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var data []entry
	for i, text := range body.Input {
		v := make([]float32, 64)
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return r < 'a' ||
				r > 'z'
		}) {
			h := fnv.New32a()
			io.WriteString(h, strings.Replace(word, "velocipede", "bicycle", 1))
			v[h.Sum32()%64]++
		}
		v[0] += 0.01
		data = append(data, entry{"embedding", i, v})
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "bags", "data": data})
}

// seen returns the texts that were embedded since the last time.
func (e *embedder) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.texts = nil }()
	return e.texts
}

// Recall uses the server that settings name, embeds the history once, and never compares
// vectors of two models.
func TestRecallEmbedsByTheServerOfTheSettings(t *testing.T) {
	dir := t.TempDir()
	talk := filepath.Join(dir, "talk.jsonl")
	lines := `{"conversation":"house","ref":"u1","time":"2024-05-01T10:00:00Z","role":"user","text":"The heating makes a strange noise at night."}
{"conversation":"house","ref":"u2","time":"2024-05-01T10:01:00Z","role":"user","text":"My bicycle has a basket and a bell."}
{"conversation":"house","ref":"u3","time":"2024-05-01T10:02:00Z","role":"user","text":"The spare key hangs behind the fuse box."}
`
	if err := os.WriteFile(talk, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	oriel := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(append(args, "--data", filepath.Join(dir, "data")), strings.NewReader(""), &out, &errs)
		if text := out.String() + errs.String(); code != want || strings.Contains(text, embedKey) {
			t.Fatalf("exit %d, want %d: %s", code, want, text)
		}
		return out.String() + errs.String()
	}
	oriel(0, "import", talk)
	find := func() (found string, embedded string) {
		t.Helper()
		out := oriel(0, "recall", "a velocipede", "--conversation", "house", "--mode", "dense", "--top", "1", "--json")
		if !strings.Contains(out, `"mode":"dense"`) {
			t.Error(out)
		}
		return regexp.MustCompile(`"ref":"(u.)"`).FindString(out), regexp.MustCompile(`"embedded":\d+`).FindString(out)
	}
	e := startEmbedder(t)
	if found, n := find(); found != `"ref":"u2"` || n != `"embedded":3` {
		t.Errorf("found %s, %s", found, n)
	}
	if texts := e.seen(); len(texts) != 4 || !slices.Contains(texts, "a velocipede") {
		t.Errorf("asked for %q", texts)
	}
	if found, n := find(); found != `"ref":"u2"` || n != `"embedded":0` {
		t.Errorf("the second time: found %s, %s", found, n)
	}
	if texts := e.seen(); len(texts) != 1 {
		t.Errorf("the second time asked for %q", texts)
	}
	// Another server may have another model under the same name: it has vectors of its own.
	t.Setenv("ORIEL_EMBED_URL", e.URL+"/other/v1")
	if _, n := find(); n != `"embedded":3` {
		t.Errorf("by another server: %s", n)
	}
	t.Setenv("ORIEL_EMBED_URL", e.URL)
	e.mu.Lock()
	e.status = 401
	e.mu.Unlock()
	if out := oriel(1, "recall", "a velocipede", "--conversation", "house"); !strings.Contains(out, "status 401") ||
		!strings.Contains(out, "check the key") {
		t.Error(out)
	}
	if out := oriel(0, "recall", "bicycle", "--conversation", "house", "--mode", "keyword"); !strings.Contains(out,
		"basket") {
		t.Error(out)
	}
	t.Setenv("ORIEL_EMBED_URL", "http://8.8.8.8/v1")
	if out := oriel(2, "recall", "a velocipede", "--conversation", "house"); !strings.Contains(out, "embed.key") ||
		!strings.Contains(out, "unencrypted") {
		t.Error(out)
	}
}

// A proxy has the history embedded by the server that its settings name; calls go on when
// that fails, and the log says why.
func TestServeEmbedsByTheServerOfItsSettings(t *testing.T) {
	up := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "Noted.", Input: 10, Output: 2}
	}})
	defer up.Close()
	e := startEmbedder(t)
	e.status = 401
	s := startServe(t, "--upstream-openai", up.URL, "--upstream-anthropic", up.URL, "--data", t.TempDir(), "--profile",
		"thrifty")
	var list []string
	say := func() {
		t.Helper()
		list = append(list, fmt.Sprintf(`{"role":"user","content":"thing-%d %s"}`, len(list),
			strings.Repeat("lies east of the pier ", 30)))
		r, err := http.NewRequest("POST", s.openAI+"/chat/completions",
			strings.NewReader(`{"model":"gpt-4o","messages":[`+strings.Join(list, ",")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Conversation", "talk")
		r.Header.Set("X-Oriel-Budget", "2000")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s %s %v", res.Status, body, err)
		}
		list = append(list, `{"role":"assistant","content":"Noted."}`)
	}
	// until says something again and again until a condition holds: calls are written and
	// embedded behind the scenes.
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); say() {
			if time.Now().After(end) {
				t.Fatalf("never: %s: %s", what, s.errors)
			}
		}
	}
	until("the failure is in the log",
		func() bool { return strings.Contains(s.errors.String(), "recall failed in the background") })
	e.mu.Lock()
	e.status = 0
	e.mu.Unlock()
	var texts []string
	until("the first message is embedded", func() bool {
		texts = append(texts, e.seen()...)
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "thing-0 ") })
	})
	s.end(t)
	if log := s.errors.String(); strings.Contains(log, embedKey) || !strings.Contains(log, "status 401") {
		t.Errorf("the log: %s", log)
	}
}

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// SPEC A6, B7, E5: pin, undo and release act on a proxy that runs, show tells its plans,
// and a file has the events.
func TestCommandsActOnARunningProxy(t *testing.T) {
	var mu sync.Mutex
	var last []byte
	var bodies [][]byte // all that were sent
	up := httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		last = bytes.Clone(r.Data())
		bodies = append(bodies, last)
		return fakemodel.Answer{Text: "Noted.", Input: 10, Output: 2}
	}})
	defer up.Close()
	dir, events := t.TempDir(), filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(filepath.Join(dir, "learnt.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--upstream-openai", up.URL, "--upstream-anthropic", up.URL, "--data", dir, "--profile",
		"thrifty", "--events", events, "--threshold", "thrifty=3")
	words := func(n int) string { return fmt.Sprintf("thing-%d ", n) + strings.Repeat("lies east of the pier ", 30) }
	var list []string
	said := 0
	say := func() (plan string) {
		t.Helper()
		said++
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, words(said)))
		r, err := http.NewRequest("POST", s.openAI+"/chat/completions",
			strings.NewReader(`{"model":"gpt-4o","messages":[`+strings.Join(list, ",")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Conversation", "talk")
		r.Header.Set("X-Oriel-Budget", "3000")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s %s %v", res.Status, body, err)
		}
		list = append(list, `{"role":"assistant","content":"Noted."}`)
		return res.Header.Get("X-Oriel-Plan")
	}
	shows := func(n int) bool { // as a message, not as something recalled
		mu.Lock()
		defer mu.Unlock()
		return bytes.Contains(last, fmt.Appendf(nil, `"content":"thing-%d `, n))
	}
	oriel := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := run(append(args, "--data", dir), strings.NewReader(""), &out, &errs)
		return out.String() + errs.String(), code
	}
	for say() == "" {
		if said > 100 {
			t.Fatal("nothing is cut")
		}
	}
	say()
	if shows(3) {
		t.Fatal("thing 3 did not leave")
	}
	for { // calls are written behind the scenes
		if out, _ := oriel("show", "talk", "--plan", "--json"); strings.Contains(out, `"plans":[{"id":"p1"`) {
			break
		}
	}
	if out, code := oriel("pin", "talk", "5"); code != 0 || out != "pinned 5\n" {
		t.Fatal(code, out)
	}
	say()
	if !shows(3) || shows(4) {
		t.Error("the pin does not hold")
	}
	if out, code := oriel("pin", "talk", "9999"); code != 2 || !strings.Contains(out, "there are messages 1 to") {
		t.Error(code, out)
	}
	if out, code := oriel("unpin", "talk", "5"); code != 0 || out != "unpinned 5\n" {
		t.Error(code, out)
	}
	if out, code := oriel("undo", "talk", "p-none"); code != 2 ||
		!strings.Contains(out, "oriel show CONVERSATION --plan lists the plans") {
		t.Error(code, out)
	}
	if out, code := oriel("undo", "talk"); code != 0 || !strings.HasPrefix(out, "undone p1: ") {
		t.Error(code, out)
	}
	if out, code := oriel("release", "talk"); code != 0 || out != "released\n" {
		t.Error(code, out)
	}
	if out, code := oriel("show", "talk", "--plan"); code != 0 || !strings.Contains(out, "\np1 ") ||
		!strings.Contains(out, "in the digest") {
		t.Error(code, out)
	}
	say()
	s.end(t)
	http.DefaultClient.CloseIdleConnections()
	for i, body := range bodies {
		out, code := oriel("show", "talk", "--sent", fmt.Sprint(i+1))
		if code != 0 || !sameJSON(t, []byte(out), body) {
			t.Errorf("call %d sent %s, and is shown as %d %s", i+1, body, code, out)
		}
	}
	if out, code := oriel("show", "talk", "--calls", "--json"); code != 0 ||
		!strings.HasPrefix(out, `{"calls":[{"call":1,"id":"`) || !strings.Contains(out, `,"last":1,"time":"20`) ||
		strings.Count(out, `"tokens_before":`) != said || !strings.Contains(out, `"plan":"p`) ||
		!strings.Contains(out, `"usage":{"input":10,"output":2}`) {
		t.Error(code, out)
	}
	if out, code := oriel("show", "talk", "--calls"); code != 0 || strings.Count(out, "\n") != said+1 {
		t.Error(code, out)
	}
	if out, code := oriel("show", "talk", "--diff", "1", "last", "--json"); code != 0 ||
		!strings.Contains(out, `"changes":[{"op":"`) || !strings.Contains(out, `"from":{"call":1,"id":"`) {
		t.Error(code, out)
	}
	if out, code := oriel("show", "talk", "--diff", "1", "2"); code != 0 || !strings.Contains(out, "- call 1, ") ||
		!strings.Contains(out, "+ 3 ") || !strings.Contains(out, "thing-2 lies") {
		t.Error(code, out)
	}
	log := s.errors.String()
	for _, want := range []string{"learnt.json is damaged", "outside 5…100", "kind=truncation", "kind=pin"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	data, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var e struct{ Kind, Conversation string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Conversation != "talk" {
			t.Errorf("%q: %v", line, err)
		}
		kinds[e.Kind]++
	}
	if kinds["truncation"] == 0 || kinds["pin"] == 0 || kinds["call"] != said {
		t.Errorf("events %v of %d calls", kinds, said)
	}
	if learnt, err := os.ReadFile(filepath.Join(dir, "learnt.json")); err != nil || !json.Valid(learnt) {
		t.Errorf("%s, %v", learnt, err)
	}
}

// sameJSON reports whether two bodies have the same fields and values.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return cmp.Equal(x, y)
}

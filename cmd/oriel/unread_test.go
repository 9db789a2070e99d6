//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/term"
)

// A client whose calls cannot be read is named where a person looks: in the log, by oriel
// doctor, in the API that the console shows, and in oriel top.
func TestAClientThatIsNotReadIsNamedEverywhere(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
	defer up.Close()
	s := startServe(t, "--upstream-openai", up.URL+"/v1", "--upstream-anthropic", up.URL, "--data", t.TempDir(),
		"--token", "0123456789abcdef")
	defer s.end(t)
	address, _, _ := strings.Cut(s.anthropic, "/k/")
	for body, encoding := range map[string]string{"????": "x-odd", "this is not JSON": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/k/0123456789abcdef/v1/messages",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", "odd-agent/7 (linux)")
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	client, err := newTopClient(address+"/oriel/", "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	var o topOverview
	client.await(t, func(now *topOverview) bool { o = *now; return len(o.Unread) == 2 })
	await(func() bool { return strings.Count(s.errors.String(), "odd-agent/7") == 2 })
	m := newTopModel(address, 120, 24, term.Style{})
	m.overview = &o
	screen := strings.Join(m.view(), "\n")
	var doctor, errs bytes.Buffer
	t.Setenv("ORIEL_TOKEN", "0123456789abcdef")
	run([]string{"doctor", "--health", "--listen", strings.TrimPrefix(address, "http://")}, strings.NewReader(""),
		&doctor, &errs)
	for where, text := range map[string]string{"top": screen, "doctor": doctor.String() + errs.String(),
		"log": s.errors.String()} {
		for _, want := range []string{"odd-agent/7", "/v1/messages", "unreadable content encoding",
			"the body cannot be read"} {
			if !strings.Contains(text, want) && (where != "top" || want == "odd-agent/7") {
				t.Errorf("%s has no %q:\n%s", where, want, text)
			}
		}
	}
}

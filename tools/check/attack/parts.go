package attack

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
)

const (
	// mostValues is about how many values of a body Oriel reads, and mostParts
	// how many parts.
	mostValues = 2_090_000
	mostParts  = 1 << 16
)

// manyParts returns head, the given number of parts of 2 bytes, and tail.
func manyParts(head string, parts int, tail string) string {
	return head + strings.Repeat("{},", parts-1) + "{}" + tail
}

func zipped(body string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	io.WriteString(z, body)
	z.Close()
	return out.String()
}

// requestsOfParts sends requests with very many parts of 2 bytes, and with as
// many as are read.
func requestsOfParts(t *trial) error {
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		writeCompletion(w, 1, "a")
	}))
	events := filepath.Join(t.dir, "events")
	s, err := t.serve(serveOptions{upstream: up, args: []string{"--events", events}})
	if err != nil {
		return err
	}
	const tail = `]}]}`
	refused := 0
	for _, kind := range []struct {
		name         string
		calls, parts int
		zip          bool
	}{{"compressed", 12, mostValues, true}, {"under 1 MiB", 40, 346_000, false},
		{"as many as are read", 200, mostParts, false}} {
		err := s.atOnce(kind.name, kind.calls, func(i int) error {
			body := manyParts(fmt.Sprintf(`{"model":"gpt-4o","user":"%d","messages":[{"role":"user","content":[`, i),
				kind.parts, tail)
			if kind.zip {
				return s.answered(zipped(body), "Content-Encoding", "gzip")
			}
			return s.answered(body)
		})
		if err != nil {
			return err
		}
		if kind.parts > mostParts {
			refused += kind.calls
		}
		t.say("%s: %d requests of %d parts at once: at most %d MB resident", kind.name, kind.calls, kind.parts,
			s.memory("VmHWM")>>20)
	}
	return told(events, "unknown-body", "unseen", refused)
}

// told checks that there are at least least events of two kinds.
func told(events, kind, other string, least int) error {
	all, err := readEvents(events)
	if err != nil {
		return err
	}
	n := 0
	for _, e := range all {
		if e.Kind == kind || e.Kind == other {
			n++
		}
	}
	if n < least {
		return fmt.Errorf("%d events %s and %s tell of %d calls", n, kind, other, least)
	}
	return nil
}

// answersOfParts sends calls whose answers have very many parts of 2 bytes,
// and as many as are kept.
func answersOfParts(t *trial) error {
	const head, tail = `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[`,
		`],"stop_reason":"end_turn"}`
	kinds := []struct {
		name         string
		calls, parts int
		zip          bool
		body         string
	}{{"plain", 12, mostValues, false, ""}, {"compressed", 12, mostValues, true, ""},
		{"under 1 MiB", 40, 346_000, false, ""}, {"as many as are kept", 200, mostParts, false, ""}}
	for i := range kinds {
		k := &kinds[i]
		if k.body = manyParts(head, k.parts, tail); k.zip {
			k.body = zipped(k.body)
		}
	}
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for _, k := range kinds {
			if k.name == r.Header.Get("X-Want") {
				if k.zip {
					w.Header().Set("Content-Encoding", "gzip")
				}
				io.WriteString(w, k.body)
			}
		}
	}))
	events := filepath.Join(t.dir, "events")
	s, err := t.serve(serveOptions{upstream: up, args: []string{"--events", events}})
	if err != nil {
		return err
	}
	refused := 0
	for _, k := range kinds {
		err := s.atOnce(k.name, k.calls, func(i int) error {
			body := fmt.Sprintf(
				`{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"user","content":"%s %d"}]}`, k.name,
				i)
			a, err := s.post("/v1/messages", body, "X-Want", k.name)
			if err == nil && string(a.body) != k.body {
				err = fmt.Errorf("the answer has %d bytes instead of the provider's %d", len(a.body), len(k.body))
			}
			return err
		})
		if err != nil {
			return err
		}
		if k.parts > mostParts {
			refused += k.calls
		}
		t.say("%s: %d answers of %d parts at once: at most %d MB resident, %d MB now", k.name, k.calls, k.parts,
			s.memory("VmHWM")>>20, s.memory("VmRSS")>>20)
	}
	return told(events, "unkept-answer", "unkept-answer", refused)
}

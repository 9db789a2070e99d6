package attack

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// largeRequests sends 20 calls of 60 MB at once, plain, then 30 compressed.
func largeRequests(t *trial) error {
	const size = 60 << 20
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		writeCompletion(w, 1, "a")
	}))
	s, err := t.serve(serveOptions{upstream: up})
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name, encoding string
		calls          int
	}{{"plain", "", 20}, {"gzip", "gzip", 30}} {
		bodies := make([]string, kind.calls)
		for i := range bodies {
			bodies[i] = largeBody(i, size, kind.encoding != "")
		}
		err := s.atOnce(kind.name, kind.calls, func(i int) error {
			if kind.encoding != "" {
				return s.answered(bodies[i], "Content-Encoding", kind.encoding)
			}
			return s.answered(bodies[i])
		})
		if err != nil {
			return err
		}
		t.say("%d %s requests of %d MB at once: at most %d MB resident", kind.calls, kind.name, size>>20,
			s.memory("VmHWM")>>20)
	}
	return nil
}

// largeBody returns a request of n messages with about size bytes.
func largeBody(n, size int, packed bool) string {
	var out bytes.Buffer
	var w io.Writer = &out
	z := gzip.NewWriter(&out)
	if packed {
		w = z
	}
	io.WriteString(w, `{"model":"gpt-4o","messages":[`)
	text := strings.Repeat("some words of a text ", 500)
	for i := 0; i*(len(text)+60) < size; i++ {
		fmt.Fprintf(w, `{"role":"user","content":"%d of %d %s"},{"role":"assistant","content":"yes"},`, i, n, text)
	}
	io.WriteString(w, `{"role":"user","content":"go on"}]}`)
	if packed {
		z.Close()
	}
	return out.String()
}

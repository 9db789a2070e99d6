package proxy_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// A call that is sent again with another body is another request: it has another key, or
// a provider that remembers the first would answer that again. And what told of the
// client's own bytes (encoding, digests) goes with none of the bodies that replace them.
func TestABodyOfOursHasHeadersOfItsOwn(t *testing.T) {
	about := []string{"Digest", "sha-256=x", "Content-Digest", "sha-256=:x:", "Content-Md5", "x", "X-Kept", "yes"}
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		var got []http.Header
		var bodies []string
		rec := &sender{bodies: []string{"again 1", "again 2"}}
		s := startWith(t, rec, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got, bodies = append(got, r.Header.Clone()), append(bodies, string(body))
			if len(got) < 3 {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			io.WriteString(w, "fine")
		})
		if _, body := s.post("/v1/messages", "came", append([]string{key, "mine"}, about...)...); body != "fine" {
			t.Fatal(body)
		}
		if want := []string{"sent", "again 1", "again 2"}; !slices.Equal(bodies, want) {
			t.Fatalf("the provider got %q", bodies)
		}
		keys := []string{got[0].Get(key), got[1].Get(key), got[2].Get(key)}
		if keys[0] != "mine" || !strings.HasPrefix(keys[1], "oriel-") || !strings.HasPrefix(keys[2], "oriel-") ||
			keys[1] == keys[2] {
			t.Errorf("%s: %q", key, keys)
		}
		for i, h := range got {
			if h.Get("X-Kept") != "yes" {
				t.Errorf("request %d lost a header: %v", i, h)
			}
			for _, name := range []string{"Digest", "Content-Digest", "Content-Md5", "Content-Encoding"} {
				if h.Get(name) != "" {
					t.Errorf("request %d has %s of other bytes", i, name)
				}
			}
		}
	}
}

// A request whose bytes go on as they came keeps what tells of them, and a call without a
// key gets none.
func TestABodyAsItCameKeepsItsHeaders(t *testing.T) {
	s := start(t, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Digest") != "sha-256=:x:" || r.Header.Get("Idempotency-Key") != "" {
			t.Error(r.Header)
		}
	})
	s.post("/v1/messages", "came", "Content-Digest", "sha-256=:x:")
}

// A stream that is compressed cannot be looked at: it goes out as it came.
func TestACompressedStreamIsNotLookedAt(t *testing.T) {
	rec := &sender{bodies: []string{"again"}}
	n := 0
	s := startWith(t, rec, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "zstd")
		io.WriteString(w, overflow) // whatever it would say
	})
	if _, body := s.post("/v1/messages", "came"); body != overflow || n != 1 || len(rec.refused) != 0 {
		t.Errorf("%q after %d requests; refusals %q", body, n, rec.refused)
	}
}

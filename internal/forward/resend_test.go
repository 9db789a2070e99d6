package forward

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// less is a call that has other bodies.
type less struct {
	bodies  []string
	again   bool
	refused []int
}

func (l *less) Again() bool         { return l.again }
func (l *less) SetBeta(http.Header) {}

func (l *less) Refused(status int, _ []byte) []byte {
	l.refused = append(l.refused, status)
	if len(l.bodies) == 0 {
		return nil
	}
	next := l.bodies[0]
	l.bodies = l.bodies[1:]
	return []byte(next)
}

func (l *less) Go(work func() func()) { go func() { work()() }() }

// lowerKey is the name of a header as a client of HTTP/2 may write it.
var lowerKey = "idempotency-key"

// A refused body is replaced at most twice. Each body is sent as a request of its own: with
// its length, without the encoding and the digests of the client's body, and with another
// idempotency key, however that is spelt.
func TestRefusedBodiesAreReplacedTwice(t *testing.T) {
	for _, tc := range []struct {
		name   string
		call   *less
		status []int // of the answers
		sent   []string
	}{
		{"accepted", &less{again: true, bodies: []string{"b"}}, []int{200}, []string{"a"}},
		{"refused once", &less{again: true, bodies: []string{"b"}}, []int{400, 200}, []string{"a", "b"}},
		{"refused for ever", &less{again: true, bodies: []string{"b", "c", "d"}}, []int{413, 422, 400},
			[]string{"a", "b", "c"}},
		{"nothing smaller", &less{again: true}, []int{400}, []string{"a"}},
		{"nothing known", &less{bodies: []string{"b"}}, []int{400}, []string{"a"}},
		{"another failure", &less{again: true, bodies: []string{"b"}}, []int{500}, []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := http.NewRequest("POST", "http://provider/v1/messages", strings.NewReader("a"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"idempotency-key": {"mine"}, "X-Idempotency-Key": {"mine"},
				"Content-Encoding": {"gzip"}, "Digest": {"d"}, "Accept": {"x"}}
			var sent, keys []string
			res, err := send(r, tc.call, func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				if n := len(sent); n > 0 && (r.ContentLength != int64(len(body)) ||
					r.Header["Content-Encoding"] != nil || r.Header["Digest"] != nil || r.Header.Get("Accept") != "x") {
					t.Errorf("sent %d bytes with %v", r.ContentLength, r.Header)
				}
				keys = append(keys, r.Header[lowerKey][0], r.Header["X-Idempotency-Key"][0])
				sent = append(sent, string(body))
				return &http.Response{StatusCode: tc.status[len(sent)-1],
					Body: io.NopCloser(bytes.NewReader([]byte("answer")))}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			if err != nil || string(answer) != "answer" || res.StatusCode != tc.status[len(tc.status)-1] {
				t.Errorf("answered %d %q, %v", res.StatusCode, answer, err)
			}
			if !slices.Equal(sent, tc.sent) {
				t.Errorf("sent %q, want %q", sent, tc.sent)
			}
			slices.Sort(keys)
			if n := len(slices.Compact(keys)); n != 2*len(sent)-1 {
				t.Errorf("the keys of %d requests: %q", len(sent), keys)
			}
			if r.Header[lowerKey][0] != "mine" {
				t.Error("the first request was changed while it may be in use")
			}
		})
	}
}

// Package send sends a call to its provider, and sends it again with less in it if the
// provider refuses it, before any of the answer is relayed.
//
// It consumes no more of an answer than it needs, and puts back what it read: whoever
// reads the answer afterwards finds it whole.
package send

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
)

// maxAgain is how often a refused call is sent again.
const maxAgain = 2

// Call decides what is sent in place of a refused body. *call.Call is one.
type Call interface {
	// Again reports whether Refused may return another body. The answer is inspected
	// only if it does.
	Again() bool
	// Refused returns another body for a refused one, or nil.
	Refused(status int, body []byte) []byte
	// Go runs work in a goroutine, and then what it returns.
	Go(work func() (then func()))
}

// Do sends a request by next. While the provider refuses it and c has another body, Do
// sends that one. It returns the last answer.
func Do(r *http.Request, c Call, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(r)
	for again := 0; err == nil && again < maxAgain && c.Again(); again++ {
		text := refusal(res, c.Go)
		if text == nil {
			break
		}
		body := c.Refused(res.StatusCode, text)
		if body == nil {
			break
		}
		res.Body.Close()
		r = r.Clone(r.Context()) // the last one may still be in use
		ReplaceBody(r, body)
		for name := range r.Header {
			if strings.EqualFold(name, "Idempotency-Key") || strings.EqualFold(name, "X-Idempotency-Key") {
				r.Header[name] = []string{"oriel-" + rand.Text()[:16]} // it is a different request
			}
		}
		res, err = next(r)
	}
	return res, err
}

// SetBody gives a request a body, which the transport may read again if it has to.
func SetBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// ReplaceBody gives a request another body than the client's, which is not encoded.
func ReplaceBody(r *http.Request, body []byte) {
	SetBody(r, body)
	for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Md5", "Digest", "Content-Digest"} {
		delete(r.Header, name)
	}
}

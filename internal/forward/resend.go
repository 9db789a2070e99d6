package forward

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
)

// maxAgain is how often a refused call is sent again.
const maxAgain = 2

// resender decides what is sent in place of a refused body. *Exchange is one.
type resender interface {
	// Again reports whether Refused may return another body. The answer is inspected
	// only if it does.
	Again() bool
	// Refused returns another body for a refused one, or nil.
	Refused(status int, body []byte) []byte
	// SetBeta has a header name the beta feature that the body needs.
	SetBeta(h http.Header)
	// Go runs work in a goroutine, and then what it returns.
	Go(work func() (then func()))
}

// send sends a request by next. While the provider refuses it and c has another body, send
// sends that one. It returns the last answer, which can be read from its beginning.
func send(r *http.Request, c resender, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
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
		replaceBody(r, body)
		c.SetBeta(r.Header)
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

// replaceBody gives a request another body than the client's, which is not encoded.
func replaceBody(r *http.Request, body []byte) {
	SetBody(r, body)
	for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Md5", "Digest", "Content-Digest"} {
		delete(r.Header, name)
	}
}

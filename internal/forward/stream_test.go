package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const overflow = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long\"}}\n\n"

// A stream that says nothing is held back for a while, and then goes on as it comes.
func TestASilentStreamGoesOn(t *testing.T) {
	for _, head := range []string{"", "event: response.created\ndata: {}\n\n"} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			body, provider := io.Pipe()
			go func() {
				if head != "" {
					io.WriteString(provider, head)
				}
				time.Sleep(time.Minute)
				io.WriteString(provider, overflow)
				io.WriteString(provider, strings.Repeat("x", 10_000))
				provider.CloseWithError(io.ErrUnexpectedEOF)
			}()
			res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}
			if text := streamRefusal(res, HeadWait, goroutine); text != nil || time.Since(began) > 3*time.Second {
				t.Errorf("%q after %v", text, time.Since(began))
			}
			all, err := io.ReadAll(res.Body)
			if want := head + overflow + strings.Repeat("x", 10_000); string(all) != want ||
				!errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes of %d, %v", len(all), len(want), err)
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzBeginsWithError(f *testing.F) {
	for _, seed := range []string{overflow, ": x\n\n" + overflow, "data: {}\n", "event: ping\n",
		"\n\nevent: error\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		// What is sure of a beginning stays so, and whoever reads it gets all of it.
		for n := range p {
			failed, sure := beginsWithError(p[:n], false)
			if whole, _ := beginsWithError(p, false); sure && whole != failed {
				t.Fatalf("%q: %v, the whole %v", p[:n], failed, whole)
			}
		}
		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(bytes.NewReader(p))}
		streamRefusal(res, HeadWait, goroutine)
		if got, err := io.ReadAll(res.Body); err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, p) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// Where each line is an event, the first whole line says whether the stream is a refusal.
func TestLinesThatBeginWithAnError(t *testing.T) {
	for text, want := range map[string][2]bool{
		"":                                  {false, false},
		`{"error":"too`:                     {true, false},
		"{\"error\":\"too long\"}\n":        {true, true},
		"\r\n{\"error\":\"too long\"}\n":    {true, true},
		"{\"message\":{},\"error\":null}\n": {false, true},
		"{\"message\":{}}\n{\"error\":1}\n": {false, true},
	} {
		if failed, sure := beginsWithError([]byte(text), true); failed != want[0] || sure != want[1] {
			t.Errorf("%q: %v %v, want %v", text, failed, sure, want)
		}
	}
}

// goroutine implements resender.Go.
func goroutine(work func() func()) { go func() { work()() }() }

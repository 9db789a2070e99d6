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

	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/wire"
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
		"\n\nevent: error\n\n", string(eventstream.AppendException(nil, "x", "too long"))} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		// What is sure of a beginning stays so, and whoever reads it gets all of it.
		for n := range p {
			for _, framing := range []wire.Framing{wire.Events, wire.Lines, wire.Frames} {
				failed, sure := beginsWithError(p[:n], framing)
				if whole, _ := beginsWithError(p, framing); sure && (whole != nil) != (failed != nil) {
					t.Fatalf("%q: %v, the whole %v", p[:n], failed, whole)
				}
			}
		}
		for _, kind := range []string{"text/event-stream", "application/x-ndjson", eventstream.MediaType} {
			res := &http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(p))}
			streamRefusal(res, HeadWait, goroutine)
			if got, err := io.ReadAll(res.Body); err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, p) {
				t.Fatalf("%q, %v", got, err)
			}
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
		if failed, sure := beginsWithError([]byte(text), wire.Lines); (failed != nil) != want[0] || sure != want[1] {
			t.Errorf("%q: %q %v, want %v", text, failed, sure, want)
		}
	}
}

// Of frames the first decides, once it is whole: an exception, an error, or an event of the model's
// that is one. What is returned can be read as a refusal.
func TestFramesThatBeginWithAnError(t *testing.T) {
	const long = "Input is too long for requested model."
	refused := []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"` + long + `"}}`)
	for name, tc := range map[string]struct {
		frame    []byte
		overflow bool
	}{
		"exception": {eventstream.AppendException(nil, "validationException", long), true},
		"error":     {eventstream.AppendError(nil, "validationError", long), true},
		"chunk":     {eventstream.AppendChunk(nil, refused), true},
		"throttled": {eventstream.AppendException(nil, "throttlingException", "Too many requests"), false},
		"event":     {eventstream.Append(nil, "messageStart", []byte(`{"role":"assistant"}`)), false},
		"ping":      {eventstream.AppendChunk(nil, []byte(`{"type":"ping"}`)), false},
	} {
		whole := append(bytes.Clone(tc.frame), eventstream.AppendException(nil, "x", long)...)
		for n := range whole {
			text, sure := beginsWithError(whole[:n], wire.Frames)
			if sure != (n >= len(tc.frame)) {
				t.Fatalf("%s: %d of %d bytes: %v", name, n, len(tc.frame), sure)
			}
			if _, overflow := wire.ReadOverflow(http.StatusOK, text); overflow != (sure && tc.overflow) {
				t.Fatalf("%s: %d bytes: %q is no refusal", name, n, text)
			}
		}
		tc.frame[9] ^= 1
		if text, sure := beginsWithError(tc.frame, wire.Frames); text != nil || !sure {
			t.Errorf("%s, damaged: %q %v", name, text, sure)
		}
	}
}

// goroutine implements resender.Go.
func goroutine(work func() func()) { go func() { work()() }() }

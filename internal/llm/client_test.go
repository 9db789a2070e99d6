package llm_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/llm"
)

func TestRequestIsWhatServersExpect(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/things" ||
			r.Header.Get("Content-Type") != "application/json" || string(body) != `{"input":"a"}` {
			t.Errorf("%s %s %v: %s", r.Method, r.URL, r.Header, body)
		}
		sends(200, one)(w, r)
	})
	if answer, err := post(t.Context(), m); err != nil || string(answer) != one {
		t.Error(string(answer), err)
	}
}

func TestBaseURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://API.openai.com:443/v1/": "https://api.openai.com/v1/", "http://127.0.0.1:80": "http://127.0.0.1/v1",
		" http://localhost:11434/ ": "http://localhost:11434/v1",
		"http://[::1]:8080/a%2Fb":   "http://[::1]:8080/a%2Fb",
		"":                          "", "localhost:11434/v1": "", "ftp://localhost/v1": "", "http:///v1": "",
		"https://me:hunter2@example.com/v1":  "",
		"https://me:hunter2@exa mple.com/v1": "", "https://example.com/v1?a=b": "https://example.com/v1?a=b",
		"https://example.com/v1#hunter2": "",
	} {
		c, err := llm.New(llm.Options{URL: url})
		var e *llm.Error
		switch {
		case want == "" && (!errors.As(err, &e) || !errors.Is(err, llm.ErrURL) || e.Hint == "" ||
			strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%q: %v", url, err)
		case want != "" && (err != nil || c.Base().String() != want):
			t.Errorf("%q: %v, %v", url, c, err)
		}
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		spaces := []byte(strings.Repeat(" ", 64<<10))
		for {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	})
	if e := fault(t, m); !errors.Is(e, llm.ErrAnswer) || !strings.Contains(e.Error(), "more than 1048576 bytes") {
		t.Error(e)
	}
}

// The reader of an answer decides whether it is tried again.
func TestAnAnswerThatItsReaderRefuses(t *testing.T) {
	for _, again := range []bool{false, true} {
		var calls atomic.Int32
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			sends(200, `{"error":{"message":"overloaded","code":"busy"}}`)(w, r)
		}, func(o *llm.Options) { o.Retries, o.Sleep = 2, skipTime })
		refusal := errors.New("no things")
		_, err := m.Post(t.Context(), llm.Request{Path: "things", MaxAnswer: 100, Check: func([]byte) error {
			if again {
				return llm.Later(refusal)
			}
			return refusal
		}})
		var e *llm.Error
		if !errors.As(err, &e) || !errors.Is(err, llm.ErrAnswer) || !errors.Is(err, refusal) ||
			e.Message != "overloaded" || e.Code != "busy" {
			t.Error(err)
		}
		if want := map[bool]int32{false: 1, true: 3}[again]; calls.Load() != want || e.Tries != int(want) {
			t.Errorf("again %v: %d calls, %v", again, calls.Load(), e)
		}
	}
}

func skipTime(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestACancelledCallEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		cancel()
		<-r.Context().Done()
	}, func(o *llm.Options) { o.Retries = 3 })
	for range 2 { // once in flight, once before anything is sent
		if _, err := post(ctx, m); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// Neither would pass with time.
func TestTroubleWithTLSIsNotTriedAgain(t *testing.T) {
	s := httptest.NewUnstartedServer(sends(200, one))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	strange := &http.Transport{TLSClientConfig: &tls.Config{}}
	t.Cleanup(strange.CloseIdleConnections)
	m := open(t, llm.Options{URL: s.URL + "/v1", Retries: 3, Client: &http.Client{Transport: strange}})
	if e := fault(t, m); e.Tries != 1 || !strings.Contains(e.Hint, "certificate") {
		t.Error(e)
	}
	m = open(t, llm.Options{URL: s.URL, Client: s.Client()})
	if _, err := post(t.Context(), m); err != nil {
		t.Error(err)
	}
	m = serve(t, sends(200, one), func(o *llm.Options) {
		o.Retries, o.URL = 3,
			strings.Replace(o.URL, "http:", "https:", 1)
	})
	if e := fault(t, m); e.Tries != 1 || !strings.Contains(e.Hint, "http://") {
		t.Error(e)
	}
}

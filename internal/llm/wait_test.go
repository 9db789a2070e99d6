package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/llm"
)

// flaky answers like bad at first, and well after that many times.
func flaky(times int32, calls *atomic.Int32, bad http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) <= times {
			bad(w, r)
			return
		}
		sends(200, one)(w, r)
	}
}

// header answers 429 with a header.
func header(name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		w.WriteHeader(429)
	}
}

// hangUp breaks the connection, in the middle of an answer if it has begun.
func hangUp(begun bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if begun {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":[`)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	stuck := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name     string
		times    int32
		bad      http.HandlerFunc
		min, max time.Duration // that it takes
	}{
		{"408", 1, sends(408, ""), 250 * time.Millisecond, 500 * time.Millisecond},
		{"409", 1, sends(409, ""), 250 * time.Millisecond, 500 * time.Millisecond},
		{"429", 1, sends(429, ""), 250 * time.Millisecond, 500 * time.Millisecond},
		{"500", 1, sends(500, ""), 250 * time.Millisecond, 500 * time.Millisecond},
		{"502, a page", 1, sends(502, "<html>"), 250 * time.Millisecond, 500 * time.Millisecond},
		{"waits grow", 3, sends(503, ""), 1750 * time.Millisecond, 3500 * time.Millisecond},
		{"a connection that breaks", 1, hangUp(false), 250 * time.Millisecond, 500 * time.Millisecond},
		{"an answer that breaks off", 1, hangUp(true), 250 * time.Millisecond, 500 * time.Millisecond},
		{"no answer in time", 2, stuck, 60*time.Second + 750*time.Millisecond, 60*time.Second + 1500*time.Millisecond},
		{"Retry-After in seconds", 2, header("Retry-After", "7"), 14 * time.Second, 14 * time.Second},
		{"retry-after-ms", 1, header("retry-after-ms", "1234.0"), 1234 * time.Millisecond, 1234 * time.Millisecond},
		{"the longest wait", 1, header("Retry-After", "60"), time.Minute, time.Minute},
		{"Retry-After of nothing", 1, header("Retry-After", "0"), 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After that is none", 1, header("Retry-After", "soon"), 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After below 0", 1, header("Retry-After", "-5"), 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After NaN", 1, header("Retry-After", "NaN"), 250 * time.Millisecond, 500 * time.Millisecond},
		{"a date in the past", 1, header("Retry-After", "Sat, 01 Jan 2000 00:00:00 GMT"), 250 * time.Millisecond,
			500 * time.Millisecond},
		{"a date", 1, func(w http.ResponseWriter, r *http.Request) {
			header("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))(w, r)
		}, 20 * time.Second, 20 * time.Second},
		{"a date by another clock", 1, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", "Sat, 01 Jan 2033 00:00:00 GMT")
			header("Retry-After", "Sat, 01 Jan 2033 00:00:09 GMT")(w, r)
		}, 9 * time.Second, 9 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				m := bubble(t, flaky(c.times, &calls, c.bad))
				start := time.Now()
				if answer, err := post(t.Context(), m); err != nil || string(answer) != one {
					t.Fatal(string(answer), err)
				}
				if took := time.Since(start); took < c.min || took > c.max {
					t.Errorf("took %v, want %v to %v", took, c.min, c.max)
				}
				if calls.Load() != c.times+1 {
					t.Errorf("%d calls", calls.Load())
				}
			})
		})
	}
}

func TestTriesAreBounded(t *testing.T) {
	for _, c := range []struct{ retries, calls int }{{0, 1}, {1, 2}, {3, 4}, {12, 13}} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32
			m := bubble(t, flaky(1000, &calls, sends(503, `{"error":{"message":"loading model"}}`)),
				func(o *llm.Options) { o.Retries = c.retries })
			start := time.Now()
			e := fault(t, m)
			if !errors.Is(e, llm.ErrUnavailable) || e.Tries != c.calls || int(calls.Load()) != c.calls ||
				!strings.Contains(e.Error(), "loading model") {
				t.Errorf("%d retries: %d calls: %v", c.retries, calls.Load(), e)
			}
			if took := time.Since(start); took > time.Duration(c.calls)*8*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAServerThatAsksForALongWaitIsBelieved(t *testing.T) {
	for _, value := range []string{"61", "1e300"} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32
			m := bubble(t, flaky(9, &calls, header("Retry-After", value)))
			start := time.Now()
			e := fault(t, m)
			if time.Since(start) != 0 || calls.Load() != 1 || e.RetryAfter <= time.Minute ||
				!strings.Contains(e.Hint, "asks to wait") {
				t.Error(time.Since(start), calls.Load(), e)
			}
		})
	}
}

func TestATimeOutIsNotTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, func(o *llm.Options) { o.Retries, o.Timeout = 0, 5*time.Second })
		e := fault(t, m)
		if errors.Is(e, context.DeadlineExceeded) || !errors.Is(e, llm.ErrUnavailable) ||
			!strings.Contains(e.Error(), "no answer within 5s") {
			t.Error(e)
		}
	})
}

func TestAClientsTimeOutIsNotTheCallers(t *testing.T) {
	m := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(o *llm.Options) { o.Client = &http.Client{Timeout: time.Millisecond} })
	if e := fault(t, m); errors.Is(e, context.DeadlineExceeded) || !errors.Is(e, llm.ErrUnavailable) {
		t.Error(e)
	}
}

// A caller is not made to wait for a try that its time would not reach.
func TestAWaitThatOutlastsTheCallerIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, header("Retry-After", "50"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := post(ctx, m); !errors.Is(err, llm.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != 0 {
			t.Error(time.Since(start), err)
		}
	})
}

func TestACallerThatGivesUpWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, header("Retry-After", "50"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		if _, err := post(ctx, m); !errors.Is(err, llm.ErrUnavailable) || !errors.Is(err, context.Canceled) ||
			time.Since(start) != 3*time.Second {
			t.Error(time.Since(start), err)
		}
	})
}

// A server that is not there.
func TestNobodyListens(t *testing.T) {
	m := open(t, llm.Options{URL: "http://127.0.0.1:1/v1"})
	if e := fault(t, m); !errors.Is(e, llm.ErrUnavailable) || !strings.Contains(e.Error(), "is the server running") {
		t.Error(e)
	}
}

package forward

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/wire"
)

// engine keeps what it gets; at is called with the name of each method.
type engine struct {
	at func(method string)

	mu     sync.Mutex // protects what follows
	parts  []string   // of the answer
	ends   []error
	unseen []string
}

func (e *engine) BeginWait() time.Duration { return time.Minute }
func (e *engine) EndWait() time.Duration   { return 0 }

func (e *engine) Begin(context.Context, *call.Request) Call {
	e.at("Begin")
	return e
}

func (e *engine) Count(context.Context, *call.Request) []byte {
	e.at("Count")
	return []byte("counted")
}

func (e *engine) Unseen(_, _, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unseen = append(e.unseen, reason)
}

func (e *engine) Model() string              { return "m" }
func (e *engine) Body() []byte               { return nil }
func (e *engine) Again() bool                { return false }
func (e *engine) Beta() string               { return "" }
func (e *engine) Refused(int, []byte) []byte { return nil }
func (e *engine) Ready() bool                { return true }
func (e *engine) Response(int, http.Header)  { e.at("Response") }
func (e *engine) Header(h http.Header)       { h.Set("X-Oriel-Action", "mask") }

func (e *engine) Write(p []byte) {
	e.at("Write")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parts = append(e.parts, string(p))
}

func (e *engine) End(err error) {
	e.at("End")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ends = append(e.ends, err)
}

func (e *engine) written() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.parts, "|")
}

// answer is a body that comes in parts, with an error after the last.
type answer struct {
	parts []string
	err   error
}

func (a *answer) Read(p []byte) (int, error) {
	if len(a.parts) == 0 {
		return 0, a.err
	}
	n := copy(p, a.parts[0])
	if a.parts[0] = a.parts[0][n:]; a.parts[0] == "" {
		a.parts = a.parts[1:]
	}
	return n, nil
}

func (a *answer) Close() error { return nil }

// exchange begins a call whose provider answers with body.
func exchange(t *testing.T, e *engine, body io.ReadCloser, report func(*Fault)) *Exchange {
	t.Helper()
	if e.at == nil {
		e.at = func(string) {}
	}
	in, err := http.NewRequestWithContext(t.Context(), "POST", "http://provider/v1/messages", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{ID: "1", Format: wire.Anthropic, In: in, Memory: NewBudget(1 << 20).NewMemory(nil)}
	res, err := New(Options{Engine: e, Report: report}).Do(x, in.Clone(t.Context()),
		func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"X-Oriel-Plan": {"theirs"}}, Body: body}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if h := res.Header; h.Get("X-Oriel-Plan") != "" || h.Get("X-Oriel-Action") != "mask" {
		t.Errorf("the answer has %v", h)
	}
	return x
}

// The engine gets a part when the client has come back for the next one, and the last one at
// the end; what the client did not get, it does not get either.
func TestTheEngineGetsWhatTheClientHas(t *testing.T) {
	broke := errors.New("broke off")
	for _, tc := range []struct {
		name  string
		after error // the last part
		next  int   // calls of Next
		end   error
		want  string
	}{
		{"whole", io.EOF, 4, nil, "a|b|c"},
		{"its last part had no end", io.EOF, 3, nil, "a|b|c"},
		{"broken off", broke, 4, broke, "a|b|c"},
		{"the client left at the second part", io.EOF, 2, call.ErrLeft, "a"},
		{"the client left before", io.EOF, 0, call.ErrLeft, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &engine{}
				x := exchange(t, e, &answer{parts: []string{"a", "b", "c"}, err: tc.after}, nil)
				for i := range tc.next {
					p, err := x.Next()
					if want := i == 3; (err != nil) != want || err == nil && string(p) != string("abc"[i]) {
						t.Errorf("part %d: %q, %v", i, p, err)
					}
					synctest.Wait()
					if got, want := e.written(), strings.Join(strings.Split("abc"[:min(i, 3)], ""), "|"); got != want {
						t.Errorf("with %d parts at the client, the engine has %q, want %q", i+1, got, want)
					}
				}
				x.End(tc.end)
				x.End(nil) // does nothing
				synctest.Wait()
				if e.written() != tc.want || !slices.Equal(e.ends, []error{tc.end}) {
					t.Errorf("the engine got %q, and the ends %v", e.parts, e.ends)
				}
			})
		})
	}
}

// A method of the engine that hangs delays a program for its limit, once.
func TestAProgramOutlivesAStuckEngine(t *testing.T) {
	for _, method := range []string{"Begin", "Response", "Write", "End"} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			e := &engine{at: func(m string) {
				if m == method && m == "Response" {
					panic("oh") // it says that it does not wait
				} else if m == method {
					<-release
				}
			}}
			var mu sync.Mutex
			var faults []string
			tr := &transport{next: roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{},
					Body: &answer{parts: []string{"a", "b", "c"}, err: io.EOF}}, nil
			}), now: time.Now, budget: NewBudget(1 << 20), forwarder: New(Options{Engine: e, Report: func(f *Fault) {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, f.Error())
			}})}
			began := time.Now()
			r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://provider/v1/messages",
				strings.NewReader("{}"))
			res, err := tr.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(res.Body); string(text) != "abc" || err != nil {
				t.Errorf("%s: %q, %v", method, text, err)
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			if took := time.Since(began); took > time.Minute || len(faults) > 1 {
				t.Errorf("%s: after %v: %q", method, took, faults)
			}
			mu.Unlock()
			close(release)
			synctest.Wait()
			if method != "Begin" && method != "End" && (len(e.ends) != 1 || !errors.Is(e.ends[0], ErrEngine)) {
				t.Errorf("%s: ended with %v", method, e.ends)
			}
			if held := tr.budget.Held(); held != 0 {
				t.Errorf("%s: %d bytes are held", method, held)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A program may close a reply while it reads it; the engine is told once that it left, with
// what the program had.
func TestAReplyMayBeClosedWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{}
		body, provider := io.Pipe()
		x := exchange(t, e, body, nil)
		reply := replyBody{x}
		var all sync.WaitGroup
		all.Go(func() {
			text, err := io.ReadAll(reply)
			if string(text) != "begun" || err == nil {
				t.Errorf("%q, %v", text, err)
			}
		})
		io.WriteString(provider, "begun")
		synctest.Wait() // it waits for more
		if err := reply.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
		if e.written() != "begun" || len(e.ends) != 1 || !errors.Is(e.ends[0], call.ErrLeft) {
			t.Errorf("%q, %v", e.parts, e.ends)
		}
		if _, err := reply.Read(make([]byte, 1)); err == nil {
			t.Error("read after the end")
		}
	})
}

// Bodies beyond the memory are sent, and nothing else is done with them.
func TestBodiesOfProgramsBeyondTheMemoryPassUnseen(t *testing.T) {
	e := &engine{at: func(method string) { t.Error(method) }}
	var sent string
	tr := &transport{now: time.Now, budget: NewBudget(100_000), forwarder: New(Options{Engine: e, BodyLimit: 150_000}),
		next: roundTripper(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			sent = string(b)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, err
		})}
	for _, size := range []int{120_000, 200_000} {
		for _, length := range []bool{true, false} {
			text := strings.Repeat("x", size)
			var body io.Reader = strings.NewReader(text)
			if !length {
				body = io.MultiReader(body)
			}
			r, err := http.NewRequest("POST", "http://provider/v1/messages", body)
			if err != nil {
				t.Fatal(err)
			}
			res, err := tr.RoundTrip(r)
			if err != nil || sent != text || res.Header.Get("X-Oriel-Action") != "bypass" {
				t.Errorf("%d bytes: %d sent, %v, %v", size, len(sent), res, err)
			}
		}
	}
	want := []string{PassedMemory, PassedMemory, PassedSize, PassedMemory}
	if !slices.Equal(e.unseen, want) || tr.budget.Held() != 0 {
		t.Errorf("unseen: %q, want %q; %d bytes are held", e.unseen, want, tr.budget.Held())
	}
}

package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
)

// nothing is an engine, and its calls, that does nothing.
type nothing struct{}

func (nothing) Begin(context.Context, *call.Request) proxy.Call { return nothing{} }
func (nothing) BeginWait() time.Duration                        { return time.Minute }

func (nothing) EndWait() time.Duration                      { return 0 }
func (nothing) Count(context.Context, *call.Request) []byte { return nil }
func (nothing) Unseen(string, string, string)               {}
func (nothing) Body() []byte                                { return nil }
func (nothing) Model() string                               { return "model-1" }
func (nothing) Again() bool                                 { return false }
func (nothing) Beta() string                                { return "" }
func (nothing) Refused(int, []byte) []byte                  { return nil }
func (nothing) Ready() bool                                 { return false }
func (nothing) Response(int, http.Header)                   {}
func (nothing) Header(http.Header)                          {}
func (nothing) Write([]byte)                                {}
func (nothing) End(error)                                   {}

// keeper keeps all that it is told.
type keeper struct {
	nothing
	mu    sync.Mutex
	calls []*call.Request
	notes []*note
	ended chan *note // gets each note at its end, if it is there
}

type note struct {
	nothing
	k      *keeper
	status int
	body   []byte
	ends   int
	err    error
}

func (k *keeper) Begin(_ context.Context, c *call.Request) proxy.Call {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := &note{k: k}
	k.calls, k.notes = append(k.calls, c), append(k.notes, n)
	return n
}

func (n *note) Response(status int, h http.Header) { n.status = status }
func (n *note) Header(h http.Header) {
	h.Set("X-Oriel-Conversation", "conv-1")
	h.Set("X-Oriel-Action", "none")
	h.Set("X-Evil", "1")
}
func (n *note) Write(p []byte) { n.body = append(n.body, p...); clear(p[len(p):]) }
func (n *note) End(err error) {
	n.ends++
	n.err = err
	if n.k.ended != nil {
		n.k.ended <- n
	}
}

func TestEngineGetsCalls(t *testing.T) {
	k := &keeper{ended: make(chan *note, 1)}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	answer := strings.Repeat("data: 0123456789\n\n", 20_000)
	s := startWith(t, k, proxy.Options{Now: func() time.Time { return began }},
		func(w http.ResponseWriter, r *http.Request) {
			for p := range strings.SplitAfterSeq(answer, "\n\n") {
				io.WriteString(w, p)
			}
		})
	res, body := s.post("/p/deep/v1/messages?beta=true", `{"model":"m"}`, "X-Oriel-Conversation", "mine")
	n := <-k.ended
	if body != answer || string(n.body) != answer || n.status != 200 || n.ends != 1 || n.err != nil {
		t.Errorf("%d bytes, recorded %d, status %d, %d ends, %v", len(body), len(n.body), n.status, n.ends, n.err)
	}
	c := k.calls[0]
	if c.Tenant != "local" || c.Profile != "deep" || c.Format.String() != "anthropic" || c.Path != "/v1/messages" ||
		string(c.Body) != `{"model":"m"}` ||
		c.Header.Get("X-Oriel-Conversation") != "mine" || !c.Began.Equal(began) || c.ID == "" {
		t.Errorf("%+v", c)
	}
	if res.Header.Get("X-Oriel-Conversation") != "conv-1" || res.Header.Get("X-Evil") != "" {
		t.Error(res.Header)
	}
	s.post("/v1/embeddings", "{}")
	if len(k.calls) != 1 {
		t.Error("embeddings are no call")
	}
	if log := s.log.String(); !strings.Contains(log, "msg=call") ||
		!strings.Contains(log, "path=/v1/messages status=200") || !strings.Contains(log, " model=model-1 ") ||
		!strings.Contains(log, "conversation=conv-1") || strings.Contains(log, "beta") {
		t.Error(log)
	}
}

// fault is an engine that does something bad in one method.
type fault struct {
	nothing
	in    string
	do    func()
	ready bool          // see Ready
	wait  time.Duration // see BeginWait
	ended chan error
}

func (f *fault) BeginWait() time.Duration { return f.wait }

func (f *fault) EndWait() time.Duration { return 0 }

func (f *fault) at(method string) {
	if f.in == method {
		f.do()
	}
}

func (f *fault) Begin(context.Context, *call.Request) proxy.Call { f.at("Begin"); return f }
func (f *fault) Ready() bool                                     { f.at("Ready"); return f.ready }
func (f *fault) Response(int, http.Header)                       { f.at("Response") }
func (f *fault) Header(h http.Header)                            { f.at("Header"); h.Set("X-Oriel-Action", "mask") }
func (f *fault) Write([]byte)                                    { f.at("Write") }
func (f *fault) End(err error)                                   { f.ended <- err; f.at("End") }

var methods = []string{"Begin", "Ready", "Response", "Header", "Write", "End"}

// Whatever the engine does, the client gets its answer, and the engine the end of the call.
func TestCallsSurviveTheEngine(t *testing.T) {
	answer := strings.Repeat("x", 200_000)
	for _, method := range methods {
		for _, kind := range []string{"panics", "panics while ready", "blocks", "is slow"} {
			if method == "Ready" && kind == "blocks" {
				continue // it never does
			}
			run := func(t *testing.T) {
				release := make(chan struct{})
				f := &fault{in: method, wait: 5 * time.Millisecond, ended: make(chan error, 1)}
				o := proxy.Options{ReplyTimeout: 5 * time.Millisecond}
				switch kind {
				case "panics", "panics while ready":
					f.ready = kind != "panics"
					f.do = func() { panic("engine " + canary[:2]) }
				case "blocks":
					f.do = func() { <-release }
				case "is slow":
					o.ReplyTimeout, f.wait = time.Minute, time.Minute
					f.do = func() {
						for range 1000 {
							runtime.Gosched()
						}
					}
				}
				s := startOn(t, f, o, func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, "%s", b)
					io.WriteString(w, answer)
				}, newNetwork())
				res, body := s.post("/v1/responses", `{"a":1}`)
				if body != `{"a":1}`+answer {
					t.Fatalf("%d bytes", len(body))
				}
				early := method == "Begin" || method == "Ready" || method == "Response" || method == "Header"
				want := "mask"
				if kind != "is slow" && early {
					want = "error"
				}
				if got := res.Header.Get("X-Oriel-Action"); got != want {
					t.Errorf("action %s, want %s", got, want)
				}
				close(release)
				panics := strings.HasPrefix(kind, "panics")
				if method == "Begin" && panics {
					return // there is no call
				}
				err := <-f.ended
				if fails := panics || kind == "blocks"; fails && method != "End" && !errors.Is(err, proxy.ErrEngine) ||
					!fails && err != nil {
					t.Errorf("ended with %v", err)
				}
				s.finish()
				c := s.server.Counters()
				if panics && c.EnginePanics != 1 || kind == "blocks" && method != "End" && c.EngineSlow != 1 ||
					c.Answered != 1 {
					t.Errorf("%+v", c)
				}
			}
			t.Run(method+" "+kind, func(t *testing.T) { synctest.Test(t, run) })
		}
	}
}

// counting is an engine that counts in a fault's Begin.
type counting struct{ *fault }

func (c counting) Count(context.Context, *call.Request) []byte { c.at("Begin"); return nil }

// The body of an abandoned call is in memory until the engine returns, and counts.
func TestMemoryIsBoundedWhereTheEngineIsStuck(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		release := make(chan struct{})
		f := &fault{in: "Begin", do: func() { <-release }, wait: time.Millisecond, ended: make(chan error, 5)}
		s := startWith(t, counting{f}, proxy.Options{BufferLimit: 250_000},
			func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
		body := strings.Repeat("x", 100_000)
		for i := range 5 {
			res, _ := s.post(path, body)
			if res.StatusCode != 200 {
				t.Error(path, i, res.Status)
			}
		}
		c := s.server.Counters()
		if c.EngineSlow != 2 || path == "/v1/messages" && c.PassedMemory != 3 || c.BufferedBytes < 200_000 ||
			c.BufferedBytes > 250_000 {
			t.Errorf("%s: %+v", path, c)
		}
		close(release)
		s.finish()
		if c := s.server.Counters(); c.BufferedBytes != 0 {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

// Abandoned calls are bounded in number: at the limit further calls continue without the
// engine, which is asked again once some of them have ended.
func TestAbandonedCallsAreBounded(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		release := make(chan struct{})
		var asked atomic.Int64
		f := &fault{in: "Begin", do: func() { asked.Add(1); <-release }, wait: time.Millisecond,
			ended: make(chan error, 100)}
		s := startWith(t, counting{f}, proxy.Options{},
			func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		for range proxy.MaxBehind + 20 {
			if res, body := s.post(path, "{}"); res.StatusCode != 200 || body != "{}" {
				t.Fatal(path, res.Status, body)
			}
		}
		if n := asked.Load(); n != proxy.MaxBehind {
			t.Errorf("%s: the engine was asked %d times, want %d", path, n, proxy.MaxBehind)
		}
		close(release)
		for asked.Load() == proxy.MaxBehind { // as soon as one of them has ended
			s.post(path, "{}")
		}
		s.finish()
	}
}

func TestCallEndsWithWhatHappened(t *testing.T) {
	k := &keeper{ended: make(chan *note, 1)}
	dead := startWith(t, k, proxy.Options{OpenAI: "http://127.0.0.1:1"}, nil)
	res, _ := dead.post("/v1/responses", "{}")
	if n := <-k.ended; !errors.Is(n.err, proxy.ErrUpstream) || n.status != 0 {
		t.Error(n.err, n.status)
	}
	if h := res.Header; h.Get("X-Oriel-Conversation") != "conv-1" || h.Get("X-Oriel-Action") != "error" {
		t.Error(h)
	}
}

// checker finds calls that did not get their answer.
type checker struct {
	nothing
	t     *testing.T
	slow  bool // every third call is abandoned
	mu    sync.Mutex
	n     int
	whole atomic.Int64
}

type check struct {
	nothing
	c     *checker
	block bool
	want  string
	got   []byte
}

// answerTo is some answer, another one for each request.
func answerTo(body string) string {
	return strings.Repeat(body+"\n", 1+len(body)*300)
}

func (c *checker) Begin(_ context.Context, call *call.Request) proxy.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return &check{c: c, block: c.slow && c.n%3 == 0, want: answerTo(string(call.Body))}
}

func (k *check) Response(int, http.Header) {}
func (k *check) Header(http.Header)        {}
func (k *check) Write(p []byte) {
	before := string(p)
	if k.block {
		<-time.After(20 * time.Millisecond) // longer than the limit
	} else {
		runtime.Gosched()
	}
	if string(p) != before {
		k.c.t.Error("the bytes changed while the engine had them")
	}
	k.got = append(k.got, p...)
}

func (k *check) End(err error) {
	if err == nil {
		k.c.whole.Add(1)
		if string(k.got) != k.want {
			k.c.t.Errorf("recorded %d bytes, want %d", len(k.got), len(k.want))
		}
	} else if !strings.HasPrefix(k.want, string(k.got)) {
		k.c.t.Error("recorded another's bytes")
	}
}

// Many calls at once have each their own answer, and so has the engine, also where calls
// are left behind in the middle.
func TestManyCallsAtOnce(t *testing.T) {
	for _, slow := range []bool{false, true} {
		c := &checker{t: t, slow: slow}
		o := proxy.Options{}
		if slow {
			o.ReplyTimeout = 5 * time.Millisecond
		}
		s := startWith(t, c, o, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, answerTo(string(body)))
		})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 12 {
					body := strings.Repeat(fmt.Sprint(i), j+1)
					res, err := s.client.Do(s.request("POST", "/v1/messages", body))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil || string(got) != answerTo(body) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				}
			})
		}
		all.Wait()
		s.finish()
		if n := c.whole.Load(); !slow && n != 96 {
			t.Errorf("%d whole answers", n)
		}
		if n := s.server.Counters(); n.Answered != 96 || n.BufferedBytes != 0 {
			t.Errorf("%+v", n)
		}
	}
}

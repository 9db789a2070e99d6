package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy"
)

// watcher is an engine that keeps the unseen calls.
type watcher struct {
	keeper
	mu     sync.Mutex
	unseen []string
}

func (w *watcher) Unseen(_, _, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unseen = append(w.unseen, reason)
}

// A length that a client only announces reserves nothing: connections that send a byte
// of a megabyte each leave the memory to others.
func TestAnnouncedLengthReservesNothing(t *testing.T) {
	const connections = 100
	k := &keeper{}
	s := startWith(t, k, proxy.Options{BufferLimit: connections * 40 << 10},
		func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	for range connections {
		s.raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n{")
	}
	for s.server.Counters().Calls < connections { // they have all come
		time.Sleep(time.Millisecond)
	}
	res, _ := s.post("/v1/messages", strings.Repeat("x", 1<<20))
	if got := res.Header.Get("X-Oriel-Action"); got != "none" {
		t.Errorf("the call of another client: %s with %d bytes held", got, s.server.Counters().BufferedBytes)
	}
}

// A call that no memory is left for goes through unseen, and that is told: to the
// engine, in the counters, and by the health.
func TestWantOfMemoryIsTold(t *testing.T) {
	w := &watcher{}
	s := startWith(t, w, proxy.Options{BufferLimit: 50_000},
		func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	if _, body := s.do(s.request("GET", "/oriel/healthz", "")); !strings.Contains(body, `"status":"ok"`) {
		t.Error(body)
	}
	res, _ := s.post("/v1/messages", strings.Repeat("x", 60_000))
	if got := res.Header.Get("X-Oriel-Action"); got != "bypass" {
		t.Error(got)
	}
	s.post("/v1/messages", "{}", "X-Oriel-Bypass", "1") // which nobody need be told
	if c := s.server.Counters(); c.PassedMemory != 1 || len(w.unseen) != 1 || w.unseen[0] != "no memory for it" {
		t.Errorf("%+v, told: %q", c, w.unseen)
	}
	if _, body := s.do(s.request("GET", "/oriel/healthz", "")); !strings.Contains(body, `"status":"degraded"`) ||
		!strings.Contains(body, `"memory":"short"`) {
		t.Error(body)
	}
}

// A body of many small parts takes the memory of what is made of them, whatever its size.
func TestSmallPartsTakeMemory(t *testing.T) {
	w := &watcher{}
	s := startWith(t, w, proxy.Options{BufferLimit: 4 << 20},
		func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	s.post("/v1/messages", strings.Repeat("{},", 10_000))
	if len(w.unseen) != 0 {
		t.Errorf("10,000 parts: %q", w.unseen)
	}
	s.post("/v1/messages", strings.Repeat("{},", 20_000))
	if len(w.unseen) != 1 || w.unseen[0] != "no memory for it" {
		t.Errorf("20,000 parts: %q", w.unseen)
	}
}

// slowBody is a body whose parts come at their times, until its deadline.
type slowBody struct {
	deadlines
	changed chan struct{} // gets a token when the deadline is set
	pause   time.Duration
	parts   []string
}

func (b *slowBody) SetReadDeadline(t time.Time) error {
	b.deadlines.SetReadDeadline(t)
	select {
	case b.changed <- struct{}{}:
	default:
	}
	return nil
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		b.pause = 1 << 60
	}
	for next := time.After(b.pause); ; {
		var late <-chan time.Time
		if at := b.get(); !at.IsZero() {
			late = time.After(time.Until(at))
		}
		select {
		case <-late:
			return 0, os.ErrDeadlineExceeded
		case <-b.changed:
		case <-next:
			n := copy(p, b.parts[0])
			if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
				b.parts = b.parts[1:]
			}
			return n, nil
		}
	}
}

func newSlowBody(pause time.Duration, parts ...string) *slowBody {
	return &slowBody{deadlines: deadlines{ResponseRecorder: httptest.NewRecorder()}, changed: make(chan struct{}, 1),
		pause: pause, parts: parts}
}

// serve sends the body as a call and returns how long it took to be refused.
func (b *slowBody) serve(t *testing.T, s *proxy.Server) time.Duration {
	began := time.Now()
	r := httptest.NewRequest("POST", "http://localhost/v1/messages", b)
	r.ContentLength = 1 << 20
	s.ServeHTTP(b, r)
	if b.Code != http.StatusRequestTimeout {
		t.Errorf("status %d", b.Code)
	}
	return time.Since(began)
}

// A body that is held in memory has to come at a least rate: a byte each 50 seconds,
// which never misses the limit between two parts, is not enough.
func TestBodyOfACallHasALeastRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := proxy.NewWith(&keeper{}, proxy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if took := newSlowBody(50*time.Second, strings.Split(strings.Repeat("x", 100), "")...).serve(t,
			s); took > 61*time.Second {
			t.Errorf("a byte each 50 s was read for %v", took)
		}
		// 80 kB in the first seconds are worth ten more.
		if took := newSlowBody(time.Second, strings.Repeat("x", 80<<10)).serve(t, s); took < 60*time.Second ||
			took > 71*time.Second {
			t.Errorf("80 kB and no more were waited for %v", took)
		}
	})
}

// While memory is short, bodies that are slow to come lose their places, those that have
// just begun do not.
func TestSlowBodiesMakeRoomWhereMemoryIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		s, err := proxy.NewWith(k, proxy.Options{BufferLimit: 160 << 10, BodyTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var took [2]time.Duration
		var wg sync.WaitGroup
		wg.Go(func() { took[0] = newSlowBody(0, strings.Repeat("x", 60<<10)).serve(t, s) })
		time.Sleep(11 * time.Second)
		wg.Go(func() { took[1] = newSlowBody(0, strings.Repeat("x", 60<<10)).serve(t, s) })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if took[0] != 11*time.Second || took[1] != 0 {
			t.Errorf("the first was let go after %v, the second after %v", took[0], took[1])
		}
		// More than half is needed again.
		wg.Go(func() { newSlowBody(0, strings.Repeat("x", 60<<10)).serve(t, s) })
		wg.Wait()
		if took[1] < 30*time.Second {
			t.Error(took)
		}
		if c := s.Counters(); c.BufferedBytes != 0 || c.PassedMemory != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// Large calls leave the last eighth of the memory to small ones.
func TestLargeCallsLeaveMemoryToSmallOnes(t *testing.T) {
	m := proxy.MemoriesForTest(80<<20, "a", "a", "a")
	if !m[0].Take(70<<20) || m[1].Take(2<<20) || !m[1].Take(1<<20) || m[1].Take(1) {
		t.Error("a large call took of the last eighth, or a small one could not")
	}
	m[0].LetGo()
	if !m[1].Take(60 << 20) {
		t.Error("what the last holder let go of is not free")
	}
}

// Of several tenants none holds more than half of the memory.
func TestTenantHasAShareOfTheMemory(t *testing.T) {
	m := proxy.MemoriesForTest(80<<20, "a", "a", "b")
	if !m[0].Take(30<<20) || m[1].Take(11<<20) || !m[1].Take(10<<20) || !m[2].Take(30<<20) {
		t.Error("a tenant held more than half, or another nothing")
	}
	m[0].Give(20 << 20)
	if !m[1].Take(1 << 20) {
		t.Error("what a tenant gave back is not its own again")
	}
}

// Who holds memory keeps it after the call.
func TestHeldMemoryStaysTaken(t *testing.T) {
	m := proxy.MemoriesForTest(1<<20, "a", "a")
	m[0].Take(1 << 20)
	m[0].Hold()
	m[0].LetGo()
	if m[1].Take(1) {
		t.Error("it was given back while somebody held it")
	}
	m[0].LetGo()
	if !m[1].Take(1 << 20) {
		t.Error("it was not given back")
	}
	(*forward.Memory)(nil).Hold()
	if !(*forward.Memory)(nil).Take(1 << 60) {
		t.Error("no memory has a limit")
	}
}

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// sentEvent is what a stream sent.
type sentEvent struct {
	id, kind, data string
}

// listen opens a stream of a tenant. next waits for its next event.
func (w *world) listen(tenant, query string, header ...string) (next func() sentEvent) {
	w.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.handler.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), asTenant{}, tenant)))
	}))
	w.t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+api.Prefix+"events"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 ||
		!strings.HasPrefix(kind, "text/event-stream") {
		w.t.Fatalf("%d %s", resp.StatusCode, kind)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (e sentEvent) {
		w.t.Helper()
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				if e.kind != "" {
					return e
				}
			}
		}
		w.t.Fatalf("the stream ended: %v", lines.Err())
		return e
	}
}

// SPEC B7
func TestEventsAreStreamed(t *testing.T) {
	w := newWorld(t, nil)
	ann, ben := w.listen("ann", ""), w.listen("ben", "")
	for _, next := range []func() sentEvent{ann, ben} {
		if e := next(); e.kind != "hello" || !strings.Contains(e.data, `"version":"v9"`) {
			t.Fatalf("the first event is %+v", e)
		}
	}
	w.talk("ann", "settle", 13, nil)
	w.talk("ben", "other", 1, nil)
	var first sentEvent
	kinds := map[string]int{}
	for kinds["call"] < 13 {
		e := ann()
		var data oriel.Event
		if err := json.Unmarshal([]byte(e.data), &data); err != nil || data.Kind != e.kind ||
			data.Conversation != "settle" {
			t.Fatalf("ann got %+v: %v", e, err)
		}
		if first.id == "" {
			first = e
		}
		kinds[e.kind]++
	}
	if kinds["truncation"] == 0 {
		t.Errorf("no cut among %v", kinds)
	}
	if e := ben(); e.kind != "call" || !strings.Contains(e.data, `"conversation":"other"`) {
		t.Errorf("ben got %+v", e)
	}
	// Who comes back gets what was missed, and the changes of people come at once.
	again := w.listen("ann", "?conversation=settle", "Last-Event-ID", first.id)
	again()
	if e := again(); e.id <= first.id && len(e.id) <= len(first.id) {
		t.Errorf("after %s comes %+v", first.id, e)
	}
	w.tenant = "ann"
	w.want(200, "POST", "conversations/settle/pins", `{"id":1}`, nil)
	for e := again(); e.kind != "pin"; e = again() {
	}
}

// Publishing never waits for a stream: one that is behind loses events, and is sent their number.
func TestSlowStreamsLoseEventsAndAreTold(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 1000 {
		w.hub.Publish(oriel.Event{Kind: oriel.EventCall, Call: fmt.Sprint(i)})
	}
	next := w.listen(timeline.Local, "?after=0")
	if e := next(); e.kind != "hello" {
		t.Fatal(e)
	}
	e := next()
	var lost struct{ Dropped int }
	if err := json.Unmarshal([]byte(e.data), &lost); err != nil || e.kind != "dropped" || lost.Dropped == 0 {
		t.Fatalf("%+v %v", e, err)
	}
	for i := lost.Dropped; i < 1000; i++ {
		var data oriel.Event
		if e := next(); json.Unmarshal([]byte(e.data), &data) != nil || data.Call != fmt.Sprint(i) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	if got := w.hub.Dropped(); got != int64(lost.Dropped) {
		t.Errorf("%d are counted, %d were lost", got, lost.Dropped)
	}
}

// A stream tells a tenant nothing of others: not how many events they have, which are lost,
// nor files and addresses of the server, which the causes of failures name.
func TestAStreamTellsNothingOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	others := func() {
		for range 150 {
			w.hub.PublishTo("ann", oriel.Event{Kind: oriel.EventCall})
		}
	}
	others()
	all := w.listen("ben", "?after=0")
	if e := all(); e.data != `{"version":"v9","last":0}` {
		t.Errorf("the first event is %+v", e)
	}
	others()
	const cause, own = "write /srv/history: no space", "the body is too large"
	for _, kind := range []string{oriel.EventOpen, oriel.EventCondensation} {
		w.hub.PublishTo("ben", oriel.Event{Kind: kind, Reason: "store", Error: cause})
	}
	w.hub.PublishTo("ben", oriel.Event{Kind: oriel.EventUnseen, Reason: "store", Error: own})
	for i, want := range []string{"the server's log has the cause", "the server's log has the cause", own} {
		e := all()
		var data oriel.Event
		if err := json.Unmarshal([]byte(e.data), &data); err != nil || e.id != fmt.Sprint(i+1) || data.Error != want ||
			data.Reason != "store" {
			t.Errorf("event %d is %+v: %v", i+1, e, err)
		}
	}
	others()
	others() // no event of ben is left in the ring
	late := w.listen("ben", "?after=1")
	if e := late(); e.data != `{"version":"v9","last":3}` {
		t.Errorf("the first event is %+v", e)
	}
	if e := late(); e.kind != "dropped" || e.data != `{"dropped":2}` {
		t.Errorf("of two lost events it tells %+v", e)
	}
	w.hub.PublishTo("ben", oriel.Event{Kind: oriel.EventCall})
	for _, next := range []func() sentEvent{all, late} {
		if e := next(); e.kind != "call" || e.id != "4" {
			t.Errorf("the next event is %+v", e)
		}
	}
	w.hub.Publish(oriel.Event{Kind: oriel.EventOpen, Error: cause})
	operator := w.listen(timeline.Local, "?after=0")
	operator()
	if e := operator(); !strings.Contains(e.data, cause) {
		t.Errorf("who runs the server is not told the cause: %+v", e)
	}
}

// An event costs the same whoever listens: it is copied into the ring and nothing else.
func TestPublishingAllocatesNothing(t *testing.T) {
	hub := api.NewHub()
	e := oriel.Event{Kind: oriel.EventCall, Conversation: "settle"}
	if n := testing.AllocsPerRun(1000, func() { hub.Publish(e) }); n > 0 {
		t.Errorf("an event allocates %v times", n)
	}
}

// Streams that somebody leaves open keep nobody out: beyond what a tenant may have its oldest
// one ends, and beyond what all may have the oldest of the tenant that has the most.
func TestOldStreamsMakeRoomForNewOnes(t *testing.T) {
	w := newWorld(t, nil)
	open := func(tenant string) (done chan struct{}) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), asTenant{}, tenant))
		t.Cleanup(cancel)
		out := &flushed{ResponseRecorder: httptest.NewRecorder(), begun: make(chan int, 2)}
		done = make(chan struct{})
		go func() {
			defer close(done)
			w.handler.ServeHTTP(out, httptest.NewRequestWithContext(ctx, "GET", api.Prefix+"events", nil))
		}()
		t.Cleanup(func() { cancel(); <-done })
		if code := <-out.begun; code != http.StatusOK {
			t.Fatalf("a stream of %s: %d", tenant, code)
		}
		return done
	}
	running := func(all []chan struct{}) (n int) {
		for _, done := range all {
			select {
			case <-done:
			default:
				n++
			}
		}
		return n
	}
	streams := map[string][]chan struct{}{"ben": {open("ben")}}
	for range 64 {
		streams["ann"] = append(streams["ann"], open("ann"))
	}
	streams["ann"] = append(streams["ann"], open("ann"))
	<-streams["ann"][0]
	for n := range 447 { // of 512
		tenant := fmt.Sprint("tenant", n%10)
		streams[tenant] = append(streams[tenant], open(tenant))
	}
	if n := running(streams["ann"]); n != 64 {
		t.Errorf("%d streams of ann run", n)
	}
	streams["ben"] = append(streams["ben"], open("ben"))
	<-streams["ann"][1]
	if a, b := running(streams["ann"]), running(streams["ben"]); a != 63 || b != 2 {
		t.Errorf("%d streams of ann and %d of ben run", a, b)
	}
}

// flushed is a response that tells its status.
type flushed struct {
	*httptest.ResponseRecorder
	begun chan int
}

func (f *flushed) WriteHeader(status int) {
	f.ResponseRecorder.WriteHeader(status)
	f.begun <- status
}

// flushedText is a response of which only what was flushed can be read.
type flushedText struct {
	header http.Header

	mu               sync.Mutex // protects what follows
	written, flushed []byte
}

func (w *flushedText) Header() http.Header { return w.header }
func (w *flushedText) WriteHeader(int)     {}

func (w *flushedText) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = append(w.written, b...)
	return len(b), nil
}

func (w *flushedText) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushed = slices.Clone(w.written)
}

func (w *flushedText) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.flushed)
}

// A quiet stream says something every 15 seconds, so that nothing between takes it for dead.
func TestAQuietStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := api.New(api.Options{Hub: api.NewHub(), Store: memory.New()})
		ctx, cancel := context.WithCancel(t.Context())
		w := &flushedText{header: http.Header{}}
		go h.ServeHTTP(w, httptest.NewRequest("GET", api.Prefix+"events", nil).WithContext(ctx))
		synctest.Wait()
		if text := w.text(); !strings.Contains(text, "event: hello") {
			t.Errorf("it begins with %q", text)
		}
		for i := range 3 {
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if n := strings.Count(w.text(), ": \n\n"); n != i+1 {
				t.Errorf("%d comments after %d s", n, 15*(i+1))
			}
		}
		cancel()
		synctest.Wait()
	})
}

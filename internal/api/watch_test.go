package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/wire"
)

// A page follows the history, whichever process writes it.
func TestAStreamFollowsTheHistoryOfOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	open := func() timeline.Store {
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	served, other := open(), open()
	w := newWorld(t, served)
	next := w.listen(timeline.Local, "")
	if e := next(); e.kind != "hello" {
		t.Fatal(e)
	}
	// The stream may not have looked for the first time yet, so it is written to until it tells.
	ctx, told := context.WithCancel(t.Context())
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for ctx.Err() == nil {
			_, err := other.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "beside", Now: time.Now(),
				Put: []timeline.Record{{Kind: "beside", Key: time.Now().String(), Data: []byte(`{}`)}}})
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	e := next()
	told()
	<-wrote
	if e.kind != "history" || e.id != "" {
		t.Errorf("of a call beside it tells %+v", e)
	}
}

// elsewhere is a history that another process has changed as often as changed says. It counts
// the lists of its conversations.
type elsewhere struct {
	timeline.Store
	changed, listed atomic.Int64
}

func (s *elsewhere) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	s.listed.Add(1)
	return s.Store.Conversations(ctx, tenant)
}

func (s *elsewhere) Changed(context.Context) (int64, error) { return s.changed.Load(), nil }

func TestAStreamTellsNothingOfTheHistoryOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &elsewhere{Store: memory.New()}
		h := api.New(api.Options{Hub: api.NewHub(), Store: store,
			Tenant: func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) }})
		ctx, cancel := context.WithCancel(t.Context())
		listen := func(tenant, query string) *flushedText {
			w := &flushedText{header: http.Header{}}
			r := httptest.NewRequest("GET", api.Prefix+"events"+query, nil)
			go h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, asTenant{}, tenant)))
			return w
		}
		ann, ben, settle, another := listen("ann", ""), listen("ben", ""), listen("ann", "?conversation=settle"),
			listen("ann", "?conversation=another")
		synctest.Wait()
		if _, err := store.Apply(ctx, "ann", timeline.Change{Conversation: "settle", Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		store.changed.Add(1)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, c := range []struct {
			name string
			w    *flushedText
			want int
		}{{"ann", ann, 1}, {"ben", ben, 0}, {"the conversation", settle, 1}, {"another conversation", another, 0}} {
			if n := strings.Count(c.w.text(), "event: history"); n != c.want {
				t.Errorf("%s is told of %d changes, want %d", c.name, n, c.want)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// Many streams list the conversations as often as one, also if all that is known of each look
// is that something may have changed.
func TestStreamsShareTheirLooksAtTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &elsewhere{Store: memory.New()}
		h := api.New(api.Options{Hub: api.NewHub(), Store: store})
		ctx, cancel := context.WithCancel(t.Context())
		for range 50 {
			r := httptest.NewRequest("GET", api.Prefix+"events", nil)
			go h.ServeHTTP(&flushedText{header: http.Header{}}, r.WithContext(ctx))
		}
		for range 10 {
			synctest.Wait()
			store.changed.Add(1)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := store.listed.Load(); n < 10 || n > 22 {
			t.Errorf("%d lists in 10 seconds", n)
		}
		cancel()
		synctest.Wait()
	})
}

func TestRunningCallsAreShown(t *testing.T) {
	w := newWorld(t, nil)
	next := w.listen(timeline.Local, "")
	next() // hello
	other := w.listen("ann", "")
	other()
	running := call.Of(w.engine).Begin(t.Context(), &call.Request{ID: "one", Tenant: timeline.Local, Format: wire.Chat,
		Body: []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"Which port?"}]}`)})
	type list struct {
		Running []struct {
			ID, Conversation, Model string
			TokensAfter             int `json:"tokens_after"`
		}
	}
	var o list
	w.get("overview", &o)
	if len(o.Running) != 1 || o.Running[0].ID != "one" || o.Running[0].Model != "gpt-4o" ||
		o.Running[0].Conversation == "" || o.Running[0].TokensAfter == 0 {
		t.Errorf("the overview shows %+v", o.Running)
	}
	for _, want := range []int{1, 0} {
		e := next()
		for e.kind == "history" || e.kind == "call" {
			e = next()
		}
		var told list
		if err := json.Unmarshal([]byte(e.data), &told); err != nil || e.kind != "running" ||
			len(told.Running) != want {
			t.Fatalf("%+v: %v", e, err)
		}
		if want == 1 {
			running.End(nil)
		}
	}
	w.hub.PublishTo("ann", oriel.Event{Kind: oriel.EventCall})
	if e := other(); e.kind != "call" {
		t.Errorf("another tenant is told %+v", e)
	}
}

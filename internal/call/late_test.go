package call_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// caller sends calls of one conversation to engines, without a network.
type caller struct {
	t     *testing.T
	n     int
	list  []json.RawMessage
	sent  []byte
	plan  string
	took  time.Duration // of Begin
	named bool
	name  string // of the conversation if it is named; empty means talk
	asks  string // what is said next; empty means words that no other message has
}

// say has the engine decide what is sent, and ends the call with a reply; the record is
// written before or after.
func (c *caller) say(r *call.Engine, profile string) (action string) {
	c.t.Helper()
	c.n++
	c.list = append(c.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, cmp.Or(c.asks, words(c.n)))))
	list, err := json.Marshal(c.list)
	must(err)
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, list)
	h := http.Header{"X-Oriel-Budget": {"3000"}}
	if profile == "off" {
		h.Del("X-Oriel-Budget")
	}
	if c.named {
		h.Set("X-Oriel-Conversation", cmp.Or(c.name, "talk"))
	}
	began := time.Now()
	rec := r.Begin(ctx, &call.Request{ID: fmt.Sprintf("call-%03d", c.n), Tenant: timeline.Local, Profile: profile,
		Format: wire.Chat, Path: "/v1/chat/completions", Header: h, Body: body, Began: began})
	c.took = time.Since(began)
	if c.sent = rec.Body(); c.sent == nil {
		c.sent = body
	}
	rec.Response(200, http.Header{"Content-Type": {"application/json"}})
	out := http.Header{}
	rec.Header(out)
	c.plan = out.Get("X-Oriel-Plan")
	rec.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
	rec.End(nil)
	c.list = append(c.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	return out.Get("X-Oriel-Action")
}

// untilCut says more until a plan holds, and once more.
func (c *caller) untilCut(r *call.Engine) {
	c.t.Helper()
	for c.plan == "" {
		if c.say(r, "thrifty"); c.n > 200 {
			c.t.Fatal("nothing is ever cut")
		}
	}
	c.say(r, "thrifty")
}

// away is a store that does not answer until a time, of the clock of the test.
type away struct {
	timeline.Store
	until atomic.Pointer[time.Time]
	lists bool // lists alone do not come
}

func (s *away) leave(d time.Duration) {
	until := time.Now().Add(d)
	s.until.Store(&until)
}

func (s *away) wait(ctx context.Context) error {
	until := s.until.Load()
	if until == nil {
		return nil
	}
	select {
	case <-time.After(time.Until(*until)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *away) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.Conversations(ctx, tenant)
}

func (s *away) Changed(ctx context.Context) (int64, error) {
	if !s.lists {
		if err := s.wait(ctx); err != nil {
			return 0, err
		}
	}
	return s.Store.Changed(ctx)
}

// restart is an engine that knows nothing but what a store has.
func restart(store timeline.Store) *call.Engine {
	return call.NewForTest(call.TestOptions{Parts: call.Parts{Store: store}, Options: call.Options{Profile: "thrifty"}})
}

// calls counts the calls of all conversations that are stored, and the conversations.
func calls(t *testing.T, store timeline.Store) (calls, conversations int) {
	t.Helper()
	all, err := store.Conversations(ctx, timeline.Local)
	must(err)
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		must(err)
		calls += len(records)
	}
	return calls, len(all)
}

// The plan has no deadline that a slow store could miss: the first call after a restart
// finds its plan, and is recorded, however slow a store is that answers. DESIGN rule 1.
func TestTheFirstCallAfterARestartFindsItsPlan(t *testing.T) {
	for _, named := range []bool{true, false} {
		for _, slow := range []time.Duration{0, 500 * time.Millisecond, 8 * time.Second} {
			t.Run(fmt.Sprintf("named=%v/%v", named, slow), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &away{Store: memory.New()}
					c := &caller{t: t, named: named}
					r := restart(store)
					c.untilCut(r)
					must(r.Close(ctx))
					plan, before := c.plan, string(c.sent)
					store.leave(slow)
					r = restart(store)
					if action := c.say(r, "thrifty"); c.plan != plan || action == "error" {
						t.Errorf("plan %q after %v, was %q; action %s", c.plan, c.took, plan, action)
					}
					if end := strings.LastIndex(before, "}]"); !strings.HasPrefix(string(c.sent), before[:end]) {
						t.Error("the prefix is lost")
					}
					must(r.Close(ctx))
					if n, k := calls(t, store); n != c.n || k != 1 {
						t.Errorf("%d calls of %d are recorded, in %d conversations", n, c.n, k)
					}
				})
			})
		}
	}
}

// A call whose conversation is found after the call has gone on is recorded then, under
// every profile; and no call waits for ever.
func TestWhatIsFoundLateIsRecordedLate(t *testing.T) {
	for _, profile := range []string{"off", "full", "thrifty"} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/named=%v", profile, named), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &away{Store: memory.New()}
					c := &caller{t: t, named: named}
					r := restart(store)
					c.untilCut(r)
					must(r.Close(ctx))
					store.leave(25 * time.Second)
					r = restart(store)
					c.say(r, profile)
					if c.took > call.DefaultStoreWait+time.Second {
						t.Errorf("the call waited %v", c.took)
					}
					if tokens := tokensOf(c.sent); tokens > 3000 && profile != "off" {
						t.Errorf("%d tokens were sent", tokens)
					}
					must(r.Close(ctx))
					if n, k := calls(t, store); n != c.n || k != 1 {
						t.Errorf("%d calls of %d are recorded, in %d conversations", n, c.n, k)
					}
				})
			})
		}
	}
}

// While a store does not answer, only the first call waits for it; what is written when
// it does is everything.
func TestAStoreThatIsGoneHoldsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &away{Store: memory.New(), lists: true}
		r := restart(store)
		store.leave(time.Hour)
		var waited time.Duration
		for i := range 5 {
			c := &caller{t: t, n: i * 10, named: true, list: []json.RawMessage{
				json.RawMessage(fmt.Sprintf(`{"role":"user","content":"opener %d"}`, i)),
				json.RawMessage(`{"role":"assistant","content":"yes"}`),
			}}
			c.say(r, "thrifty")
			waited += c.took
		}
		if waited < call.DefaultStoreWait || waited > call.DefaultStoreWait+time.Second {
			t.Errorf("five calls waited %v", waited)
		}
		must(r.Close(ctx))
		if n, k := calls(t, store.Store); n != 5 || k != 5 {
			t.Errorf("%d calls are recorded in %d conversations", n, k)
		}
	})
}

// A call whose conversation is found late does not move the head back behind calls that
// another process has answered and stored since.
func TestACallThatIsFoundLateLeavesTheHeadWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New()
		slow := &away{Store: shared, lists: true}
		c := &caller{t: t, named: true}
		first, other := restart(slow), restart(shared)
		c.say(other, "thrifty")
		synctest.Wait()
		slow.leave(25 * time.Second)
		c.say(first, "thrifty")
		took := c.took
		for range 3 {
			time.Sleep(time.Millisecond)
			c.say(other, "thrifty")
		}
		synctest.Wait()
		before, err := shared.Conversation(ctx, timeline.Local, "talk")
		must(err)
		must(first.Close(ctx))
		must(other.Close(ctx))
		after, err := shared.Conversation(ctx, timeline.Local, "talk")
		must(err)
		if after.Revision == before.Revision || after.Head != before.Head {
			t.Errorf("the head was %v at revision %d, is %v at %d", before.Head, before.Revision, after.Head,
				after.Revision)
		}
		records, err := shared.Records(ctx, timeline.Local, "talk", "call", "call-002")
		must(err)
		if len(records) != 1 ||
			!strings.Contains(string(records[0].Data), fmt.Sprintf(`"ms":%d,`, took.Milliseconds())) {
			t.Errorf("the late call is stored as %v", records)
		}
	})
}

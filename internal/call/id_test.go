package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// server is one of several engines that share a folder.
type server struct {
	*call.Engine
	name string
	n    int
}

// begin begins a call of the talk, and returns the id that its header tells and a function
// that ends the call.
func (s *server) begin(list []json.RawMessage) (key, told string, end func()) {
	s.n++
	key = fmt.Sprintf("%s%03d", s.name, s.n)
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list))
	h := http.Header{"X-Oriel-Budget": {"3000"}, "X-Oriel-Conversation": {"talk"}}
	c := s.Begin(ctx, &call.Request{ID: key, Tenant: timeline.Local, Profile: "thrifty", Format: wire.Chat,
		Path: "/v1/chat/completions", Header: h, Body: body})
	c.Response(200, http.Header{"Content-Type": {"application/json"}})
	out := http.Header{}
	c.Header(out)
	return key, out.Get("X-Oriel-Plan"), func() {
		c.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
		c.End(nil)
	}
}

// branched is the talk up to n messages, and then as one of its branches has it.
func branched(n int, branch string) []json.RawMessage {
	var list []json.RawMessage
	for i := range n {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(i))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	for i := range 20 {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, branch+words(i))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	return append(list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, "and now, "+branch)))
}

// SPEC E5: an id that a server tells is that plan's for ever, though another server on the
// same folder makes a plan of the conversation at the same time.
func TestTwoServersNeverTellOneIDForTwoPlans(t *testing.T) {
	dir := t.TempDir()
	servers := []*server{{restart(openStore(t, dir)), "A", 0}, {restart(openStore(t, dir)), "B", 0}}
	defer func() {
		for _, s := range servers {
			must(s.Close(ctx))
		}
	}()
	first := branched(2, "")
	_, _, end := servers[0].begin(append(first[:4:4], first[len(first)-1])) // both know the talk
	end()
	settle(t, servers[0], 1)
	_, _, end = servers[1].begin(append(first[:4:4], first[len(first)-1]))
	end()
	settle(t, servers[1], 1)
	told := map[string]string{} // ids by calls
	for round := range 3 {
		var mu sync.Mutex
		var ends []func()
		var begun sync.WaitGroup
		for _, s := range servers {
			begun.Go(func() {
				key, id, end := s.begin(branched(2, fmt.Sprint(s.name, round, " ")))
				mu.Lock()
				defer mu.Unlock()
				told[key] = id
				ends = append(ends, end)
			})
		}
		begun.Wait()
		for _, end := range ends {
			end()
		}
		for _, s := range servers {
			settle(t, s, int64(s.n))
		}
	}
	store := openStore(t, dir)
	defer store.Close()
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	must(err)
	for key, id := range told {
		i := slices.IndexFunc(plans, func(p plan.Stored) bool { return p.ID == id })
		if i < 0 || !strings.HasPrefix(id, "p-"+key) {
			t.Errorf("call %s told plan %q, stored are %v", key, id, names(plans))
		}
	}
	if left := decisions(t, store); len(left) > 0 {
		t.Errorf("decisions %q are left", left)
	}
}

func names(plans []plan.Stored) (out []string) {
	for _, p := range plans {
		out = append(out, p.Name()+" "+p.ID)
	}
	return out
}

// settle waits until a server has written n calls.
func settle(t *testing.T, s *server, n int64) {
	t.Helper()
	(&bench{t: t, engine: s.Engine}).settle(int(n))
}

// SPEC E5: neither do two servers that begin a conversation of the same name at the same
// time, each with a plan.
func TestTwoServersThatBeginAConversationTellNoIDForTwoPlans(t *testing.T) {
	dir := t.TempDir()
	told := map[string]string{} // by calls
	var ends []func()
	for _, name := range []string{"A", "B"} {
		c := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: openStore(t, dir), Shared: true}})
		defer func() { must(c.Close(ctx)) }()
		key, id, end := (&server{c, name, 0}).begin(branched(2, name))
		told[key] = id
		ends = append(ends, func() {
			end()
			settle(t, &server{c, name, 0}, 1)
		})
	}
	for _, end := range ends {
		end()
	}
	store := openStore(t, dir)
	defer store.Close()
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	must(err)
	for key, id := range told {
		if i := slices.IndexFunc(plans, func(p plan.Stored) bool { return p.ID == id }); i < 0 ||
			!strings.HasPrefix(id, "p-"+key) {
			t.Errorf("call %s told plan %q, stored are %v", key, id, names(plans))
		}
	}
}

// counting is a store that counts changes.
type counting struct {
	timeline.Store
	changes atomic.Int64
}

func (s *counting) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	s.changes.Add(1)
	return s.Store.Apply(ctx, tenant, c)
}

// Nothing is written to a store of one server before a request is sent, and its client is told
// the id by which the plan is stored and listed.
func TestNothingIsWrittenBeforeARequestIsSent(t *testing.T) {
	store := &counting{Store: memory.New()}
	s := &server{restart(store), "A", 0}
	defer func() { must(s.Close(ctx)) }()
	list := branched(2, "")
	_, _, end := s.begin(append(list[:4:4], list[len(list)-1]))
	end()
	settle(t, s, 1)
	before := store.changes.Load()
	_, told, end := s.begin(list)
	if n := store.changes.Load() - before; told != "p-A002-0" || n != 0 {
		t.Errorf("plan %q, and %d changes", told, n)
	}
	end()
	settle(t, s, 2)
	if n := store.changes.Load() - before; n > 2 { // what is new of the history, then the reply with the records
		t.Errorf("a call with a plan makes %d changes", n)
	}
	if p, ok := planOf(t, store, told); !ok || p.Name() != "p1" {
		t.Errorf("it is stored as %+v", p)
	}
	list = append(list, json.RawMessage(`{"role":"assistant","content":"Noted."}`),
		json.RawMessage(`{"role":"user","content":"go on"}`))
	_, again, end := s.begin(list)
	end()
	settle(t, s, 3)
	if again != told {
		t.Errorf("plan %q is told as %q by the next call", told, again)
	}
}

// Plans whose keys have a number, as earlier programs wrote them, keep it: they are listed,
// shown and undone by it and by their ids, and later plans are numbered after them.
func TestPlansOfEarlierProgramsKeepTheirNumbers(t *testing.T) {
	store := memory.New()
	s := &server{restart(store), "A", 0}
	defer func() { must(s.Close(ctx)) }()
	list := branched(2, "")
	_, _, end := s.begin(append(list[:4:4], list[len(list)-1]))
	end()
	settle(t, s, 1)
	_, told, end := s.begin(list)
	end()
	settle(t, s, 2)

	change := timeline.Change{Conversation: "talk", Stay: true, Now: time.Now(),
		Drop: []timeline.Key{{Kind: timeline.KindPlan, Key: told}}}
	old := "p3" + strings.TrimPrefix(told, "p")
	for _, kind := range []string{timeline.KindPlan, "call"} {
		records, err := store.Records(ctx, timeline.Local, "talk", kind, "")
		must(err)
		for _, r := range records {
			if r.Kind == timeline.KindPlan {
				r.Key = old
			}
			r.Data = bytes.ReplaceAll(r.Data, fmt.Appendf(nil, `"plan":%q`, told), fmt.Appendf(nil, `"plan":%q`, old))
			change.Put = append(change.Put, r)
		}
	}
	_, err := store.Apply(ctx, timeline.Local, change)
	must(err)

	records, err := store.Records(ctx, timeline.Local, "talk", "call", "A002")
	must(err)
	if c, _, err := call.ReadSent(ctx, store, timeline.Local, "talk", &records[0], call.SentOptions{}); err != nil ||
		c.Plan != told {
		t.Errorf("the call was sent by %+v, %v", c, err)
	}
	stored, err := store.Conversation(ctx, timeline.Local, "talk")
	must(err)
	for _, id := range []string{"p3", told} {
		if u, err := s.Recorded(timeline.Local, stored).WouldUndo(ctx, id); err != nil &&
			!errors.Is(err, oriel.ErrCannotFit) || u.Plan != "p3" || len(u.Back) == 0 {
			t.Errorf("an undo of %s does %+v, %v", id, u, err)
		}
	}
	_, again, end := s.begin(list)
	end()
	settle(t, s, 3)
	if again != told {
		t.Errorf("the next call is sent by %s, not by %s", again, told)
	}
	_, branch, end := s.begin(branched(2, "elsewhere "))
	end()
	settle(t, s, 4)
	if p, ok := planOf(t, store, branch); !ok || p.Name() != "p4" {
		t.Errorf("a new plan is %+v", p)
	}
}

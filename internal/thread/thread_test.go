package thread

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

func TestHints(t *testing.T) {
	const id = "0b5c1c8e-1111-2222-3333-444455556666"
	for name, c := range map[string]struct {
		header string
		body   wire.Hints
		want   Hints
	}{
		"nothing": {},
		"named by its header": {"mine", wire.Hints{CacheKey: "k", User: "ann"},
			Hints{Session: "mine", User: "ann", Group: "k"}},
		"Claude Code": {"", wire.Hints{UserID: `{"device_id":"d","session_id":"` + id + `"}`},
			Hints{Session: id}},
		"earlier Claude Code": {"", wire.Hints{UserID: "user_abc_account__session_" + id}, Hints{Session: id}},
		"a user of Anthropic": {"", wire.Hints{UserID: "ann"}, Hints{Session: "", User: "ann"}},
		"Codex":               {"", wire.Hints{CacheKey: id}, Hints{Session: id}},
		"a key of many users": {"", wire.Hints{CacheKey: "support-bot-v3", User: "ann"},
			Hints{User: "ann", Group: "support-bot-v3"}},
		"OpenAI conversation": {"", wire.Hints{Conversation: "conv_1", CacheKey: "k"},
			Hints{Session: "conv_1", Group: "k"}},
		"no name to type":      {"two words", wire.Hints{Conversation: strings.Repeat("x", 201)}, Hints{}},
		"not the JSON we know": {"", wire.Hints{UserID: `{"session":1`}, Hints{User: `{"session":1`}},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set(HeaderConversation, c.header)
		}
		if got := HintsOf(h, c.body); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for header, value := range map[string]string{"X-Session-Id": "ses_1", "x-session-affinity": "ses_2",
		"Agent-Session-Id": "20261118_3", "session_id": id} {
		h := http.Header{}
		h.Set(header, value)
		if got, want := HintsOf(h, wire.Hints{CacheKey: "ses_0"}),
			(Hints{Session: value, Group: "ses_0"}); got != want {
			t.Errorf("%s: %+v, want %+v", header, got, want)
		}
		if got := HintsOf(h, wire.Hints{CacheKey: strings.ToUpper(id)}); got.Session != strings.ToUpper(id) {
			t.Errorf("%s: %+v, but the body has a session", header, got)
		}
	}
	ann, bob, session := Hints{User: "x"}, Hints{User: "y"}, Hints{Session: "x"}
	if ann.space() == bob.space() || ann.space() == session.space() || ann.space() == (space{}) {
		t.Error("two namespaces are one")
	}
}

func TestLanes(t *testing.T) {
	lane := func(texts ...string) PromptSketch {
		var parts []chat.Part
		for _, text := range texts {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: chat.Quote(text)})
		}
		return SketchOf(parts)
	}
	agent := "You are a coding agent. " +
		strings.Repeat("Read files before you change them, run the tests afterwards, and say what you did. ",
			3) + prompt("main", time.Time{})
	title := "Write a title of at most seven words for the conversation that follows. " + prompt("title", time.Time{})
	for name, c := range map[string]struct {
		a, b PromptSketch
		want bool
	}{
		"the same":           {lane(agent), lane(agent), false},
		"a nonce and a date": {lane("cch=1", agent), lane("cch=2 it is Monday", agent), false},
		"more rules": {lane(agent),
			lane(agent, "Never touch the folder vendor, and ask before you delete anything at all."), false},
		"another agent":               {lane(agent), lane(title), true},
		"none at all":                 {lane(), lane(), false},
		"none, and a long one":        {lane(), lane(agent), true},
		"too short to tell":           {lane("You are helpful."), lane("Be brief."), false},
		"none, and one that is short": {lane(), lane("Be brief."), false},
	} {
		if got := c.a.Differs(&c.b); got != c.want || c.b.Differs(&c.a) != got {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is remembered is bounded, and what was forgotten is read again.
func TestTheBookIsBounded(t *testing.T) {
	s := newPlay(t)
	s.book = NewIndex(s.store, Options{Messages: 200})
	for k := range 40 {
		name := fmt.Sprintf("session-%d", k)
		s.do(fmt.Sprintf("call A session=%s : u%d", name, k))
		s.do(fmt.Sprintf("reply A a%d", k))
		s.do(fmt.Sprintf("call B session=%s : u%d a%d u2", name, k, k))
		s.do("reply B a2")
		if s.book.size.Load() > 200 {
			t.Fatalf("%d messages are remembered", s.book.size.Load())
		}
	}
	if n := len(s.book.tenants[timeline.Local].conversations); n == 40 || n == 0 {
		t.Errorf("%d conversations are remembered", n)
	}
	for k := range 40 {
		if got, want := s.do(fmt.Sprintf("call C session=session-%d : u%d a%d u2 a2 u3", k, k, k)),
			"continued, 4 of 5 known"; !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		s.do("fail C")
	}
}

func TestARequestWithoutMessages(t *testing.T) {
	if _, err := NewIndex(memory.New(), Options{}).Find(ctx, &Request{Tenant: timeline.Local}); err == nil {
		t.Error("no error")
	}
}

// slow answers only when it is let.
type slow struct {
	timeline.Store
	let chan struct{}
}

func (s *slow) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	<-s.let
	return s.Store.Conversations(ctx, tenant)
}

// A call does not wait for a slow store beyond its time, and the next one has what was
// read meanwhile.
func TestWhatTakesLongerComesToStay(t *testing.T) {
	s := newPlay(t)
	s.do("call A session=s : u1")
	s.do("reply A a1")
	store := &slow{s.store, make(chan struct{})}
	s.book = NewIndex(store, Options{})
	r := &Request{Tenant: timeline.Local, Hints: Hints{Session: "s"}, Messages: s.messages([]string{"u1", "a1", "u2"}),
		Now: s.now}
	brief, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.book.Find(brief, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(store.let)
	s.book.Wait()
	if th, err := s.book.Find(brief, r); err != nil || th.Conversation != "s" || th.Kind != Continued {
		t.Errorf("%+v, %v", th, err)
	}
}

// lists counts the lists that a store is asked for.
type lists struct {
	timeline.Store
	n int
}

func (s *lists) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	s.n++
	return s.Store.Conversations(ctx, tenant)
}

// The first request of a conversation has no reply that a history could know it by: no
// store is asked for it.
func TestAFirstRequestAsksNoStore(t *testing.T) {
	s := newPlay(t)
	for messages, asks := range map[string]bool{"u1": false, "u1 u2": false, "u1 a1 u2": true} {
		book := NewIndex(struct{ timeline.Store }{}, Options{}) // panics when it is asked
		_, err := book.Find(ctx, &Request{Tenant: timeline.Local, Messages: s.messages(strings.Fields(messages)),
			Now: s.now})
		if asked := err != nil; asked != asks {
			t.Errorf("%s: %v", messages, err)
		}
	}
}

// Conversations that were forgotten come back without a list of all for each of them.
func TestWhatIsForgottenComesBackByOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlay(t)
		store := &lists{Store: s.store}
		s.book = NewIndex(store,
			Options{Messages: 1000, Suffix: func() string { s.names++; return fmt.Sprint(s.names) }})
		for k := range 200 {
			s.do(fmt.Sprintf("call A : u%d", k))
			s.do(fmt.Sprintf("reply A a%d", k))
		}
		for k := range 100 {
			if got := s.do(fmt.Sprintf("call B : u%d a%d u", k, k)); !strings.Contains(got, "continued, 2 of 3 known") {
				t.Fatal(got)
			}
			s.do("reply B a")
		}
		if store.n != 1 {
			t.Errorf("%d lists were read", store.n)
		}
	})
}

// A request that goes on from a reply waits for the call that got it to end.
func TestThePreviousReplyIsWaitedFor(t *testing.T) {
	s := newPlay(t)
	s.do("call A : u1")
	out := make(chan string)
	go func() {
		th, err := s.book.Find(ctx, &Request{Tenant: timeline.Local, Previous: "r1",
			Messages: s.messages([]string{"u2"}), Now: s.now})
		out <- fmt.Sprint(th.Kind, " behind ", len(th.Before), " ", err)
	}()
	a := s.calls["A"]
	s.book.Done(a.Thread, s.messages([]string{"a1"}), "r1")
	if got, want := <-out, "continued behind 2 <nil>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Replies count by their bytes, and what waits to be written is not forgotten.
func TestRepliesCountAndPendingCallsStay(t *testing.T) {
	b := NewIndex(memory.New(), Options{Messages: 1000})
	long, err := wire.ReadMessage(wire.Anthropic, []byte(`{"role":"assistant","content":"`+strings.Repeat("x", 20_000)+
		`"}`))
	if err != nil {
		t.Fatal(err)
	}
	var all []*Thread
	find := func(k int) *Thread {
		m, err := wire.ReadMessage(wire.Anthropic, fmt.Appendf(nil, `{"role":"user","content":"question %d"}`, k))
		if err != nil {
			t.Fatal(err)
		}
		th, err := b.Find(ctx, &Request{Tenant: timeline.Local, Hints: Hints{Session: fmt.Sprint(k)},
			Messages: []chat.Message{m}, Now: time.Unix(int64(k), 0)})
		if err != nil {
			t.Fatal(err)
		}
		return th
	}
	for k := range 50 {
		th := find(k)
		b.Done(th, []chat.Message{long}, "")
		all = append(all, th)
	}
	if n := len(b.tenants[timeline.Local].conversations); n != 50 {
		t.Errorf("%d conversations are remembered of 50 that are not written", n)
	}
	for _, th := range all {
		b.Stored(th, true)
	}
	find(50)
	if b.size.Load() > 1000 {
		t.Errorf("%d steps are remembered", b.size.Load())
	}
}

// A reply of many small parts counts by what they take, and not by its bytes alone.
func TestPartsOfRepliesCount(t *testing.T) {
	b := NewIndex(memory.New(), Options{})
	reply, err := wire.ReadMessage(wire.Anthropic, []byte(`{"role":"assistant","content":[`+strings.Repeat("{},", 999)+
		`{"type":"tool_result","content":[{},{}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	question, err := wire.ReadMessage(wire.Anthropic, []byte(`{"role":"user","content":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	th, err := b.Find(ctx, &Request{Tenant: timeline.Local, Messages: []chat.Message{question}, Now: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	before := b.size.Load()
	b.Done(th, []chat.Message{reply}, "")
	if got, want := (b.size.Load()-before)*stepBytes, int64(1002*wire.PartBytes); got < want {
		t.Errorf("counted as %d bytes, the parts take %d", got, want)
	}
}

// Messages that are all the same cost no more than others.
func TestEqualMessagesAreNotComparedForEver(t *testing.T) {
	var words []string
	for range 3000 {
		words = append(words, "u1", "a1")
	}
	s := newPlay(t)
	s.do("call A session=s : u0 " + strings.Join(words, " "))
	s.do("reply A a2")
	for range 3 {
		if got := s.do("call B session=s : u9 u9 u9 u9 u9 u9 " + strings.Join(words, " ")); !strings.Contains(got,
			"s~") {
			t.Error(got)
		}
		s.do("fail B")
	}
}

// Reading the plans of other processes may be abandoned and go on while the call ends on a
// branch of its own, because another call has continued from it in other words. The race
// detector must find nothing.
func TestRefreshMayOutliveItsCall(t *testing.T) {
	none := func(context.Context, timeline.Notes, func(string) bool) ([]plan.Stored, error) {
		return nil, nil
	}
	for range 50 {
		s := newPlay(t)
		s.book = NewIndex(s.store, Options{Wait: time.Nanosecond, Plans: none})
		s.do("call A session=s : u1")
		s.do("call B session=s : u1 a1 u2")
		a := s.calls["A"].Thread
		ended := make(chan error)
		go func() { ended <- s.book.Refresh(ctx, s.store, a) }()
		branch := a.branch
		s.do("reply A a2")
		if a.branch == branch {
			t.Fatal("the reply is not on a branch of its own")
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		s.do("fail B")
	}
}

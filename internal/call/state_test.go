package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// remote is a distant store. It calls meanwhile when it has read a conversation and has not
// yet answered.
type remote struct {
	timeline.Store
	reads     atomic.Int64
	meanwhile func(read int64)
}

var _ timeline.Distant = (*remote)(nil)

func (*remote) Follow(context.Context, string, []timeline.Hash) ([]timeline.Place, []timeline.Conversation, error) {
	return nil, nil, errors.ErrUnsupported
}

func (*remote) Family(context.Context, string, string) ([]timeline.Conversation, error) {
	return nil, errors.ErrUnsupported
}

func (*remote) Holding(context.Context, string, timeline.Place, timeline.Key) ([]string, error) {
	return nil, errors.ErrUnsupported
}

func (s *remote) Gather(ctx context.Context, tenant, name string, _ timeline.Wanted) (*timeline.Gathered, error) {
	c, err := s.Conversation(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	g := &timeline.Gathered{Conversation: c}
	if g.Heads, err = s.Heads(ctx, tenant, name); err != nil {
		return nil, err
	}
	for _, kind := range timeline.GatheredKinds {
		r, err := s.Records(ctx, tenant, name, kind, "")
		if err != nil {
			return nil, err
		}
		g.Records = append(g.Records, r...)
	}
	s.meanwhile(s.reads.Add(1))
	return g, nil
}

// A message that is pinned through an engine while that reads the conversation for a call is
// in view from the next call on: if it is pinned while the engine looks for the conversation
// (read 1), or while it reads again because of another pin (read 2).
func TestAPinCountsThatMeetsARead(t *testing.T) {
	for _, read := range []int64{1, 2} {
		pinWhileReading(t, read)
	}
}

func pinWhileReading(t *testing.T, read int64) {
	store := &remote{Store: memory.New()}
	waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}
	open := func(s timeline.Store) *oriel.Engine {
		e, err := oriel.Open(call.With(ctx, call.Inside{Waits: waits}),
			oriel.Config{Store: s, Shared: true, NoEmbed: true})
		must(err)
		t.Cleanup(func() { must(e.Close()) })
		return e
	}
	random := rand.New(rand.NewPCG(1, 1))
	talk := &member{name: "named", profile: "thrifty", budget: "3000", model: "gpt-4o", factor: 1}
	calls := 0
	say := func(e *oriel.Engine) (sent []byte) {
		talk.list = append(talk.list,
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`,
				fmt.Sprint("Question ", calls, ": ", randomWords(random, 300)))))
		all, _ := talk.call(call.Of(e), fmt.Sprint("call", calls))
		must(e.Wait(ctx))
		talk.list = append(talk.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		calls++
		return all[len(all)-1]
	}
	before := open(store.Store)
	for range 15 {
		say(before)
	}
	if bytes.Contains(say(before), []byte("Question 3:")) {
		t.Fatal("question 3 is in view without a pin")
	}
	e := open(store)
	pin := func(id int64) {
		c, err := e.Conversation(ctx, "named")
		must(err)
		must(c.Pin(ctx, id))
	}
	store.meanwhile = func(n int64) {
		switch {
		case n == read:
			pin(7)
		case n < read:
			pin(1)
		}
	}
	say(e)
	if n := store.reads.Load(); n < read {
		t.Fatalf("the conversation was read %d times", n)
	}
	if !bytes.Contains(say(e), []byte("Question 3:")) {
		t.Errorf("question 3 was pinned during read %d of the conversation, and is not in view", read)
	}
}

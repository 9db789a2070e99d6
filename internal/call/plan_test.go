package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

// stored reports whether a plan of the talk can be found by a person.
func (b *bench) stored(plan string) bool {
	b.t.Helper()
	_, ok := planOf(b.t, b.store, plan)
	return ok
}

// planOf reads a plan of the talk by its id.
func planOf(t testing.TB, store timeline.Store, id string) (plan.Stored, bool) {
	t.Helper()
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(plans, func(p plan.Stored) bool { return p.Is(id) })
	if i < 0 {
		return plan.Stored{}, false
	}
	return plans[i], true
}

// A plan that is in use is stored, though the call that made it was not, or somebody has
// deleted it.
func TestAPlanIsStoredWithTheNextCall(t *testing.T) {
	// fill is a talk that the next call cuts.
	fill := func(k *talker) {
		for k.said < 12 {
			k.said++
			k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(k.said))),
				json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		}
	}
	t.Run("refused", func(t *testing.T) {
		var bad atomic.Bool
		b := start(t, memory.New(), func(r *fakemodel.Request) fakemodel.Answer {
			if bad.Load() {
				return fakemodel.Answer{Status: http.StatusUnauthorized, Error: "no key"}
			}
			return replying(r)
		}, thrifty)
		k := newTalker(b, "X-Oriel-Budget", "2000")
		k.say()
		fill(k)
		bad.Store(true)
		list := append(k.list[:len(k.list):len(k.list)], json.RawMessage(`{"role":"user","content":"and now?"}`))
		res, _ := k.send("/v1/chat/completions", fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list)),
			k.header...)
		k.calls++
		k.settle(k.calls)
		told := res.Header.Get("X-Oriel-Plan")
		if res.StatusCode != http.StatusUnauthorized || told == "" || b.stored(told) {
			t.Fatalf("%s, %v", res.Status, res.Header)
		}
		bad.Store(false)
		k.list = list
		if res := k.again(); res.Header.Get("X-Oriel-Plan") != told || !b.stored(told) {
			t.Errorf("plan %s is not stored: %v", told, res.Header)
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		store := &faulty{Store: memory.New()}
		k := newTalker(start(t, store, replying, thrifty), "X-Oriel-Budget", "2000")
		k.say()
		fill(k)
		full := func(_ context.Context, op string) error {
			if op == "apply" {
				return sqlite.ErrFull
			}
			return nil
		}
		store.fail.Store(&full)
		told := k.say().Header.Get("X-Oriel-Plan")
		store.fail.Store(nil)
		if told == "" {
			t.Fatal("nothing was cut")
		}
		res := k.say()
		if res.Header.Get("X-Oriel-Plan") != told || !k.stored(told) {
			t.Errorf("plan %s is not stored: %v", told, res.Header)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		k := newTalker(start(t, memory.New(), replying, thrifty), "X-Oriel-Budget", "2000")
		k.say()
		fill(k)
		told := k.say().Header.Get("X-Oriel-Plan")
		if told == "" || !k.stored(told) {
			t.Fatal(told)
		}
		if _, err := k.store.Delete(ctx, timeline.Local, "talk", nil); err != nil {
			t.Fatal(err)
		}
		if res := k.say(); res.Header.Get("X-Oriel-Plan") != told || !k.stored(told) {
			t.Errorf("plan %s is not stored: %v", told, res.Header)
		}
	})
}

// SPEC E3: two servers on one folder show a conversation by the same plan, turn by turn.
func TestTwoServersUseOnePlan(t *testing.T) {
	dir := t.TempDir()
	one := newTalker(start(t, openStore(t, dir), replying, thrifty), "X-Oriel-Budget", "3000")
	two := newTalker(start(t, openStore(t, dir), replying, thrifty), "X-Oriel-Budget", "3000")
	plan, cuts := "", 0
	for n := range 30 {
		k := one
		if n%2 == 1 {
			k = two
		}
		k.list, k.said = one.list, one.said
		if two.said > k.said {
			k.list, k.said = two.list, two.said
		}
		now := k.say().Header.Get("X-Oriel-Plan")
		if now != plan {
			cuts++
		}
		plan = now
	}
	made := len(one.told(oriel.EventCut)) + len(two.told(oriel.EventCut))
	if cuts == 0 || cuts != made {
		t.Errorf("%d times another plan, of which %d were made", cuts, made)
	}
	if a, b := len(one.told(oriel.EventOpen)), len(two.told(oriel.EventOpen)); a+b > 0 {
		t.Errorf("%d and %d failures", a, b)
	}
}

// Who counts after a restart is told of the view, too.
func TestCountsAfterARestart(t *testing.T) {
	limits := new(token.Limits)
	learnt(limits, "claude-sonnet-4-5", 200_000, 3000)
	answer := func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) }
	body := history("claude-sonnet-4-5", 20, "go on", "")
	for _, header := range [][]string{nil, {"X-Oriel-Conversation", "c"}} {
		store := memory.New()
		on := func(o *call.TestOptions) { o.Store = store }
		u := before(t, limits, answer, on)
		u.send("/v1/messages", body, header...)
		u.settle(1)
		sent := u.got[0]
		for _, who := range [][]string{header, nil} {
			again := before(t, limits, answer, on)
			if again.send("/v1/messages/count_tokens", body, who...); tail(again.got[0]) != tail(sent) ||
				len(sent) >= len(body) {
				t.Errorf("%v, %v: counted %d bytes, sent %d of %d", header, who, len(again.got[0]), len(sent),
					len(body))
			}
		}
	}
}

package call_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/token"
)

// Profile, models, thresholds and what else may change hold from the next call on.
func TestChangesHoldForTheNextCall(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying)
	k := newTalker(b)
	for range 40 {
		k.say()
	}
	if !k.shows(3) {
		t.Fatal("with the profile off something left")
	}
	small, err := token.Builtin().Merge([]byte(`{"models":[{"id":"gpt-4o","window":14000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	b.engine.Change(call.Options{Profile: "thrifty", Models: small, LowMark: .3})
	if k.say(); k.shows(3) {
		t.Error("the profile and the window of the model did not change")
	}
	if e := k.told(oriel.EventCut); len(e) != 1 || e[0].TokensAfter > (14000-1400-8192)/3 {
		t.Errorf("the low mark did not change: %+v", e)
	}
	b.engine.Change(call.Options{Profile: "off"})
	if k.say(); !k.shows(3) {
		t.Error("the profile is not off again")
	}
}

// Another condenser takes the place of the first, whose summaries are given up; the same
// one goes on.
func TestTheCondenserMayChange(t *testing.T) {
	asked, given := make(chan string, 10), make(chan struct{}, 1)
	ask := func(name string, wait bool) *call.CondenseOptions {
		return &call.CondenseOptions{Condenser: condense.Func(func(ctx context.Context,
			_ condense.Input) (condense.Output, error) {
			asked <- name
			if wait {
				<-ctx.Done()
				given <- struct{}{}
				return condense.Output{}, ctx.Err()
			}
			return condense.Output{Text: "They spoke of harbours and piers."}, nil
		})}
	}
	first := ask("first", true)
	b := start(t, openStore(t, t.TempDir()), replying, func(o *call.TestOptions) {
		o.Profile, o.Condense = "full",
			first
	})
	k := newTalker(b, "X-Oriel-Budget", "3000")
	k.untilCut()
	if name := <-asked; name != "first" {
		t.Fatal(name)
	}
	b.engine.Change(call.Options{Profile: "thrifty", Condense: first})
	select {
	case <-given:
		t.Fatal("a summary was given up for nothing")
	default:
	}
	b.engine.Change(call.Options{Profile: "full", Condense: ask("second", false)})
	<-given
	k.untilCut()
	if name := <-asked; name != "second" {
		t.Fatal(name)
	}
}

func TestPlainCacheMayChange(t *testing.T) {
	b := start(t, openStore(t, t.TempDir()), replying)
	const body = `{"model":"claude-sonnet-4-5","max_tokens":10,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.0.abc; cch=a1b2c;"}],"messages":[{"role":"user","content":"hi"}]}`
	zeros := func() bool {
		b.send("/v1/messages", []byte(body), "X-Oriel-Conversation", "talk")
		b.mu.Lock()
		defer b.mu.Unlock()
		return bytes.Contains(b.bodies[len(b.bodies)-1], []byte("cch=00000;"))
	}
	if zeros() {
		t.Error("it is off")
	}
	b.engine.Change(call.Options{Profile: "full", PlainCache: true})
	if !zeros() {
		t.Error("it is on")
	}
}

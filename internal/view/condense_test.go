package view

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/wire"
)

func spanOf(t *testing.T, texts ...string) []chat.Message {
	t.Helper()
	var out []chat.Message
	for _, text := range texts {
		m, err := wire.ReadMessage(wire.Chat, []byte(`{"role":"user","content":"`+text+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// SPEC B3: a summary after which nothing worth saying left stays as it is.
func TestASummaryIsNotExtendedBySmallTalk(t *testing.T) {
	const summary = "The harbour is being rebuilt. Never touch the east pier."
	out, err := extend(t.Context(), condense.Input{Messages: spanOf(t, "Ok, thanks!", "Bye!"), Previous: summary,
		Max: 1000, Count: func(s string) int { return len(s) }})
	if err != nil || out.Text != summary || out.Kind != condense.KindSummary {
		t.Errorf("%+v, %v", out, err)
	}
}

// SPEC B3: what a model wrote stays as it is; what left since is added, within the limit.
func TestASummaryIsExtended(t *testing.T) {
	const summary = "The harbour is being rebuilt. Never touch the east pier."
	span := spanOf(t, strings.Repeat("Paint the boats blue by Friday, please, and tell the crew about it. ", 20))
	out, err := condense.Run(t.Context(), condense.Func(extend),
		condense.Input{Messages: span, Previous: "[Oriel summary of 9 earlier messages]\n" + summary, Max: 300})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.Text, summary+sinceThen) ||
		!strings.HasPrefix(out.Text, "[Oriel summary of 10 earlier messages]") ||
		!strings.Contains(out.Text, "blue by Friday") {
		t.Errorf("%q", out.Text)
	}
	long := strings.Repeat("A summary that leaves no room for anything. ", 25)
	out, err = condense.Run(t.Context(), condense.Func(extend),
		condense.Input{Messages: span, Previous: long, Max: 300})
	if err != nil || strings.Contains(out.Text, sinceThen) || len(out.Text) > 3*300 {
		t.Errorf("%d bytes, %v: %q", len(out.Text), err, out.Text)
	}
}

// Of one conversation one summary is written at a time, and of what waits the latest;
// the end does not wait for what hangs.
func TestSummariesTakeTurns(t *testing.T) {
	c := NewCondensing(CondenseOptions{Condenser: condense.Func(func(ctx context.Context,
		_ condense.Input) (condense.Output, error) {
		<-ctx.Done()
		return condense.Output{}, ctx.Err()
	}), Wait: time.Hour})
	var running, most, second atomic.Int32
	begun, next, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	job := func(do func()) func() {
		return func() {
			most.Store(max(most.Load(), running.Add(1)))
			do()
			running.Add(-1)
		}
	}
	c.run("a", job(func() { close(begun); <-next }))
	<-begun
	c.run("a", job(func() { second.Add(1) })) // another comes before its turn
	c.run("a", job(func() { close(done) }))
	c.run("b", func() { close(next) })
	<-done
	if most.Load() != 1 || second.Load() != 0 {
		t.Errorf("%d at a time, %d that nobody needed", most.Load(), second.Load())
	}
	hangs := make(chan struct{})
	c.run("c", func() { close(hangs); <-c.ctx.Done() })
	<-hangs
	c.Close()
	c.run("d", func() { t.Error("it is closed") })
}

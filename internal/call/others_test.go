package call_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
)

// restless is a store that others change all the time.
type restless struct {
	timeline.Store
	changes atomic.Int64
}

func (r *restless) Changed(context.Context) (int64, error) { return r.changes.Add(1), nil }

// second opens a further engine on a store.
func second(t *testing.T, store timeline.Store, o call.TestOptions) *call.Engine {
	t.Helper()
	o.Store, o.Shared = &restless{Store: store}, true
	o.Waits = call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}
	e := call.NewForTest(o)
	t.Cleanup(func() { must(e.Close(ctx)) })
	return e
}

// takenPlan returns two calls that are being sent by one plan: first, by the engine that has
// made it, and taken, by other.
func takenPlan(t *testing.T) (store timeline.Store, other *call.Engine, first, taken begun) {
	shared, engines := share(t, 1)
	other = second(t, shared, call.TestOptions{})
	first = ask(engines[0], "first", talk(18, "A question.", 500))
	taken = ask(other, "taken", talk(18, "Another question.", 500))
	if first.plan == "" || taken.plan != first.plan {
		t.Fatalf("the plans are %q and %q", first.plan, taken.plan)
	}
	return shared, other, first, taken
}

// A call that is sent by a plan of another engine is stored with the plan whose id its
// client was told, though the call that made it is never stored.
func TestAPlanOfACallThatIsNotStoredStaysForOthers(t *testing.T) {
	store, other, first, taken := takenPlan(t)
	first.end(http.StatusUnauthorized)
	await(t, "the end of the call", func() bool { return len(decisions(t, store)) == 0 })
	small := ask(other, "small", talk(18, "A small one.", 1))
	small.end(http.StatusUnauthorized)
	if small.plan != first.plan {
		t.Errorf("the plans are %q and %q", first.plan, small.plan)
	}
	taken.end(http.StatusOK)
	must(other.Wait(ctx))
	keys, err := store.RecordKeys(ctx, timeline.Local, "talk", timeline.KindPlan)
	must(err)
	if len(keys) != 1 {
		t.Fatalf("the plans are stored as %q", keys)
	}
	if keys[0] != taken.plan {
		t.Errorf("the client was told %q, and the plan is stored as %q", taken.plan, keys[0])
	}
}

// A summary that one engine writes in the background is used by others that know its plan.
func TestASummaryIsUsedElsewhere(t *testing.T) {
	store, _ := share(t, 1)
	release := make(chan struct{})
	write := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		<-release
		return condense.Output{Text: summaryText}, nil
	})
	options := call.TestOptions{Options: call.Options{Condense: &call.CondenseOptions{Condenser: write,
		Wait: time.Minute, Max: 300}}}
	one, two := second(t, store, options), second(t, store, call.TestOptions{})
	first := ask(one, "first", talk(18, "A question.", 500))
	first.end(http.StatusOK)
	early := ask(two, "early", talk(18, "A question.", 500))
	early.end(http.StatusOK)
	close(release)
	await(t, "the summary", func() bool {
		keys, err := store.RecordKeys(ctx, timeline.Local, "talk", "summary")
		must(err)
		return len(keys) > 0
	})
	late := ask(two, "late", talk(18, "Another question.", 2500))
	if late.plan == "" || late.plan == first.plan || !bytes.Contains(late.sent, []byte(summaryText)) {
		t.Errorf("plans %q, %q and %q; the last one sends\n%s", first.plan, early.plan, late.plan, late.sent)
	}
	late.end(http.StatusOK)
}

// makeNewer makes a plan one of a newer version.
func makeNewer(t *testing.T, store timeline.Store, r timeline.Record) {
	t.Helper()
	was := r.Data
	r.Data = bytes.Replace(was, []byte(`"view":{"v":1,`), []byte(`"view":{"v":2,`), 1)
	if bytes.Equal(r.Data, was) {
		t.Fatalf("the plan is %s", was)
	}
	_, err := store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "talk", Stay: true,
		Put: []timeline.Record{r}, Now: time.Now()})
	must(err)
}

// A plan that a newer version has decided on is passed over, and an event reports it.
func TestAPlanOfANewerVersionIsPassedOver(t *testing.T) {
	store, engines := share(t, 1)
	first := ask(engines[0], "first", talk(18, "A question.", 500))
	records, err := store.Records(ctx, timeline.Local, "talk", timeline.KindDecision, "")
	must(err)
	makeNewer(t, store, records[0])
	var mu sync.Mutex
	var told []string
	other := second(t, store, call.TestOptions{Parts: call.Parts{Events: func(e oriel.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e.Error)
	}}})
	begun := ask(other, "call", talk(18, "Another question.", 500))
	begun.end(http.StatusOK)
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(told, "\n"); begun.plan == "" || begun.plan == first.plan ||
		!strings.Contains(all, "a newer version of Oriel has made the plan") || strings.Contains(all, "damaged") {
		t.Errorf("the plans are %q and %q; events: %s", first.plan, begun.plan, all)
	}
	first.end(http.StatusUnauthorized)
}

// Engines agree on their plans also if a newer version has stored one that they cannot read,
// whether they read the conversation before or after that.
func TestEnginesAgreeBesideAStoredPlanOfANewerVersion(t *testing.T) {
	store, engines := share(t, 1)
	first := ask(engines[0], "first", talk(18, "A question.", 500))
	first.end(http.StatusOK)
	must(engines[0].Wait(ctx))
	early := []*call.Engine{second(t, store, call.TestOptions{}), second(t, store, call.TestOptions{})}
	late := []*call.Engine{second(t, store, call.TestOptions{}), second(t, store, call.TestOptions{})}
	for i, e := range early {
		a := ask(e, fmt.Sprint("early", i), talk(18, "", 0)[:3]) // fits
		a.end(http.StatusOK)
		must(e.Wait(ctx))
	}
	records, err := store.Records(ctx, timeline.Local, "talk", timeline.KindPlan, "")
	must(err)
	if len(records) != 1 {
		t.Fatalf("%d plans", len(records))
	}
	makeNewer(t, store, records[0])
	var calls []begun
	for i, e := range append(late, early...) {
		calls = append(calls, ask(e, fmt.Sprint("call", i), talk(18, fmt.Sprint("Question of ", i), 500)))
	}
	for i := range calls {
		if a, b := &calls[0], &calls[i]; a.plan == "" || a.plan != b.plan || !bytes.Equal(a.before(t), b.before(t)) {
			t.Errorf("call 0 is sent by plan %q, and call %d by plan %q", a.plan, i, b.plan)
		}
	}
	for i := range calls {
		calls[i].end(http.StatusOK)
	}
}

// numbered is a store that others change when number does. It counts how often pins are read.
type numbered struct {
	timeline.Store
	number, pins atomic.Int64
}

func (s *numbered) Changed(context.Context) (int64, error) { return s.number.Load(), nil }

func (s *numbered) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if kind == timeline.KindPin {
		s.pins.Add(1)
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// An engine that cannot read a stored plan follows what else others have changed, and reads it
// no more often than without that plan.
func TestAStoredPlanOfANewerVersionHidesNothingElse(t *testing.T) {
	store, engines := share(t, 1)
	counted := &numbered{Store: store}
	waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}
	other := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: counted, Shared: true, Waits: waits}})
	t.Cleanup(func() { must(other.Close(ctx)) })
	fits := ask(other, "fits", talk(18, "", 0)[:3])
	fits.end(http.StatusOK)

	first := ask(engines[0], "first", talk(18, "A question.", 500))
	first.end(http.StatusOK)
	must(engines[0].Wait(ctx))
	records, err := store.Records(ctx, timeline.Local, "talk", timeline.KindPlan, "")
	must(err)
	makeNewer(t, store, records[0])
	third := second(t, store, call.TestOptions{})
	next := ask(third, "next", talk(18, "A question.", 500))
	counted.number.Add(1)
	taken := ask(other, "taken", talk(18, "Another question.", 500))
	if next.plan == first.plan || taken.plan != next.plan {
		t.Fatalf("the plans are %q, %q and %q", first.plan, next.plan, taken.plan)
	}
	taken.end(http.StatusUnauthorized)
	next.end(http.StatusUnauthorized)
	must(third.Wait(ctx))
	counted.number.Add(1)
	small := ask(other, "small", talk(18, "A small one.", 1))
	small.end(http.StatusUnauthorized)
	before := counted.pins.Load()
	again := ask(other, "again", talk(18, "A small one.", 1))
	again.end(http.StatusUnauthorized)
	if n := counted.pins.Load() - before; n > 0 {
		t.Errorf("nothing has changed, and the pins were read %d times", n)
	}
}

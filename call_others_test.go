package oriel_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/timeline"
)

// restless is a store that others change all the time.
type restless struct {
	timeline.Store
	changes atomic.Int64
}

func (r *restless) Changed(context.Context) (int64, error) { return r.changes.Add(1), nil }

// second opens a further engine on a store.
func second(t *testing.T, store timeline.Store, o oriel.CallsOptions) *oriel.Calls {
	t.Helper()
	o.Store, o.Shared = &restless{Store: store}, true
	o.Waits = oriel.Waits{Store: time.Minute, Number: time.Minute, Brief: time.Minute, Shared: time.Minute}
	e := oriel.NewCalls(o)
	t.Cleanup(func() { must(e.Close(ctx)) })
	return e
}

// A plan that an engine has taken from another one is no longer used when that one has
// withdrawn it.
func TestAWithdrawnPlanIsNotUsedElsewhere(t *testing.T) {
	store, engines := share(t, 1)
	other := second(t, store, oriel.CallsOptions{})
	first := ask(engines[0], "first", talk(18, "A question.", 500))
	taken := ask(other, "taken", talk(18, "Another question.", 500))
	if first.plan == "" || taken.plan != first.plan {
		t.Fatalf("the plans are %q and %q", first.plan, taken.plan)
	}
	taken.end(http.StatusUnauthorized)
	first.end(http.StatusUnauthorized)
	notes := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}
	await(t, "the withdrawal", func() bool {
		left, err := notes.Reserved(ctx, nil)
		must(err)
		return len(left) == 0
	})
	small := ask(other, "small", talk(18, "A small one.", 1))
	if small.plan != "" {
		t.Errorf("a request that fits is sent by plan %q", small.plan)
	}
	small.end(http.StatusOK)
}

// A summary that one engine writes in the background is used by others that know its plan.
func TestASummaryIsUsedElsewhere(t *testing.T) {
	store, _ := share(t, 1)
	release := make(chan struct{})
	write := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		<-release
		return condense.Output{Text: summaryText}, nil
	})
	options := oriel.CallsOptions{CallOptions: oriel.CallOptions{Condense: &oriel.CondenseOptions{Condenser: write, Wait: time.Minute, Max: 300}}}
	one, two := second(t, store, options), second(t, store, oriel.CallsOptions{})
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

// A plan that a newer version has proposed is passed over, and an event reports it.
func TestAPlanOfANewerVersionIsPassedOver(t *testing.T) {
	store, engines := share(t, 1)
	first := ask(engines[0], "first", talk(18, "A question.", 500))
	records, err := store.Records(ctx, timeline.Local, "talk", timeline.KindNumber, "")
	must(err)
	newer := records[0]
	newer.Data = bytes.Replace(newer.Data, []byte(`"view":{"v":1,`), []byte(`"view":{"v":2,`), 1)
	if bytes.Equal(newer.Data, records[0].Data) {
		t.Fatalf("the plan is %s", newer.Data)
	}
	_, err = store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "talk", Stay: true, Put: []timeline.Record{newer}, Now: time.Now()})
	must(err)
	var mu sync.Mutex
	var told []string
	other := second(t, store, oriel.CallsOptions{CallParts: oriel.CallParts{Events: func(e oriel.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, e.Error)
	}}})
	call := ask(other, "call", talk(18, "Another question.", 500))
	call.end(http.StatusOK)
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(told, "\n"); call.plan == "" || call.plan == first.plan || !strings.Contains(all, "a newer version of Oriel has made the plan") || strings.Contains(all, "damaged") {
		t.Errorf("the plans are %q and %q; events: %s", first.plan, call.plan, all)
	}
	first.end(http.StatusUnauthorized)
}

package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// decisions returns the keys of the decisions that a store has of "talk".
func decisions(t *testing.T, store timeline.Store) []string {
	t.Helper()
	keys, err := store.RecordKeys(ctx, timeline.Local, "talk", timeline.KindDecision)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		t.Fatal(err)
	}
	return keys
}

// decides reports whether a change writes a decision.
func decides(c *timeline.Change) bool {
	return slices.ContainsFunc(c.Put, func(r timeline.Record) bool { return r.Kind == timeline.KindDecision })
}

// meeting is a store through which all engines wait for one another before they first
// decide.
type meeting struct {
	timeline.Store
	all  *sync.WaitGroup
	once sync.Once
}

func (m *meeting) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if decides(&c) {
		m.once.Do(func() {
			m.all.Done()
			m.all.Wait()
		})
	}
	return m.Store.Apply(ctx, tenant, c)
}

// begun is a call of the conversation "talk" that has begun.
type begun struct {
	*call.Call
	sent []byte
	plan string
	// recalled reports that something was recalled.
	recalled bool
}

func ask(e *call.Engine, id string, list []json.RawMessage) begun {
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list))
	h := http.Header{"X-Oriel-Budget": {"3000"}, "X-Oriel-Conversation": {"talk"}}
	c := e.Begin(ctx, &call.Request{ID: id, Tenant: timeline.Local, Profile: "thrifty", Format: wire.Chat,
		Path: "/v1/chat/completions", Header: h, Body: body})
	told := http.Header{}
	c.Header(told)
	a := begun{Call: c, sent: c.Body(), plan: told.Get("X-Oriel-Plan"),
		recalled: strings.Contains(told.Get("X-Oriel-Action"), "recall")}
	if a.sent == nil {
		a.sent = body
	}
	return a
}

func (a *begun) end(status int) {
	a.Response(status, http.Header{"Content-Type": {"application/json"}})
	a.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
	a.End(nil)
}

// before returns what is sent before the newest message.
func (a *begun) before(t *testing.T) []byte {
	t.Helper()
	read, err := wire.Read(a.sent, wire.Chat, wire.Limits{})
	must(err)
	return a.sent[:bytes.LastIndex(a.sent, read.Messages[len(read.Messages)-1].Raw)]
}

// talk is a conversation of n turns, and a further question of so many words.
func talk(n int, question string, words int) []json.RawMessage {
	random := rand.New(rand.NewPCG(1, 1))
	var list []json.RawMessage
	for i := range n {
		list = append(list,
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Question %d: %s"}`, i, randomWords(random, 140))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	return append(list,
		json.RawMessage(fmt.Sprintf(`{"role":"user","content":"%s %s"}`, question, randomWords(random, words))))
}

// share opens engines on one store that wait for one another before they reserve a plan. The
// first one has stored a conversation that needs no plan yet.
func share(t *testing.T, n int) (store *memory.Store, engines []*call.Engine) {
	t.Helper()
	store = memory.New()
	var all sync.WaitGroup
	all.Add(n)
	for range n {
		waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}
		e := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: &deaf{Store: &meeting{Store: store, all: &all}},
			Shared: true, Waits: waits}})
		t.Cleanup(func() { must(e.Close(ctx)) })
		engines = append(engines, e)
	}
	for i := range 18 {
		a := ask(engines[0], fmt.Sprint("first", i), talk(18, "", 0)[:2*i+1])
		a.end(http.StatusOK)
	}
	return store, engines
}

// SPEC E6: engines that are asked in the same moment and must all cut the same history make one plan:
// the history is sent in the same bytes, whatever follows it.
func TestEnginesAskedInTheSameMomentUseOnePlan(t *testing.T) {
	store, engines := share(t, 3)
	calls := make([]begun, len(engines))
	var group sync.WaitGroup
	for i, e := range engines {
		group.Go(func() {
			calls[i] = ask(e, fmt.Sprint("call", i),
				talk(18, fmt.Sprint("Question of ", i), 500+250*i))
		})
	}
	group.Wait()
	for i := range calls[1:] {
		if a, b := &calls[0], &calls[i+1]; a.plan == "" || a.plan != b.plan || !bytes.Equal(a.before(t), b.before(t)) {
			t.Errorf("engine 0 sends by plan %q\n%.2000s\nand engine %d by plan %q\n%.2000s", a.plan, a.before(t), i+1,
				b.plan, b.before(t))
		}
	}
	for i := range calls {
		calls[i].end(http.StatusOK)
	}
	notes := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}
	if plans, err := plan.List(ctx, notes, nil); err != nil || len(plans) != 1 || plans[0].ID != calls[0].plan {
		t.Errorf("stored plans %v, %v instead of %s", names(plans), err, calls[0].plan)
	}
	if left := decisions(t, store); len(left) > 0 {
		t.Errorf("decisions %q are left", left)
	}
}

// A plan that is sent to a provider is used by all engines from then on, though the call that
// made it has not ended, or its engine has died.
func TestAPlanIsUsedElsewhereBeforeItsCallEnds(t *testing.T) {
	store, engines := share(t, 1)
	first := ask(engines[0], "first", talk(18, "A question.", 500))
	other := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: &deaf{Store: store}, Shared: true,
		Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}}})
	defer func() { must(other.Close(ctx)) }()
	second := ask(other, "second", talk(18, "Another question.", 1000))
	small := ask(other, "small", talk(18, "A small one.", 1))
	if first.plan == "" || second.plan != first.plan || small.plan != first.plan ||
		!bytes.Equal(first.before(t), second.before(t)) || !bytes.Equal(first.before(t), small.before(t)) {
		t.Errorf("plans %q, %q and %q; sent are\n%s\n%s\n%s", first.plan, second.plan, small.plan, first.before(t),
			second.before(t), small.before(t))
	}
	second.end(http.StatusOK)
	small.end(http.StatusOK)
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	if err != nil || len(plans) != 1 || plans[0].ID != first.plan {
		t.Errorf("stored plans %v, %v instead of %s", names(plans), err, first.plan)
	}
	first.end(http.StatusOK)
}

// A call whose key was refused leaves nothing in the store, its plan included.
func TestACallWithoutAKeyLeavesNoPlan(t *testing.T) {
	store, engines := share(t, 1)
	begun := ask(engines[0], "call", talk(18, "A question.", 500))
	if decided := decisions(t, store); !slices.Equal(decided, []string{begun.plan}) {
		t.Errorf("decided are %q instead of %q", decided, begun.plan)
	}
	begun.end(http.StatusUnauthorized)
	must(engines[0].Close(ctx))
	if left := decisions(t, store); len(left) > 0 {
		t.Errorf("decisions %q are left", left)
	}
}

// hung is a store that does not answer when something is decided.
type hung struct{ timeline.Store }

func (h *hung) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if decides(&c) {
		<-ctx.Done()
		return timeline.Applied{}, ctx.Err()
	}
	return h.Store.Apply(ctx, tenant, c)
}

// While the store does not answer, an engine uses its own plan.
func TestAPlanIsMadeWhileTheStoreHangs(t *testing.T) {
	store, _ := share(t, 1)
	e := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: &deaf{Store: &hung{store}}, Shared: true,
		Waits: call.Waits{Store: time.Minute, Agree: 20 * time.Millisecond, Brief: time.Minute, Shared: time.Minute}}})
	defer func() { must(e.Close(ctx)) }()
	begun := ask(e, "call", talk(18, "A question.", 500))
	if begun.plan != "p-call-0" {
		t.Errorf("the plan is %q", begun.plan)
	}
	begun.end(http.StatusOK)
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	if err != nil || len(plans) != 1 || plans[0].ID != begun.plan {
		t.Errorf("stored plans %v, %v instead of %s", names(plans), err, begun.plan)
	}
}

// SPEC E6: what is recalled for a request is decided once, also if that is nothing: an engine that gets
// the same request while another one has it sends the same bytes, however much it finds.
func TestEnginesThatFindDifferentThingsSendTheSameBytes(t *testing.T) {
	for _, finding := range []bool{true, false} {
		store := memory.New()
		open := func(wait time.Duration) *call.Engine {
			library := recall.NewLibrary(store, recall.LibraryOptions{})
			e := call.NewForTest(call.TestOptions{Options: call.Options{RecallWait: wait},
				Parts: call.Parts{Store: &deaf{Store: store}, Recall: library, Shared: true,
					Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute,
						Shared: time.Minute}}})
			t.Cleanup(func() {
				must(e.Close(ctx))
				library.Close()
			})
			return e
		}
		first, second := open(time.Minute), open(1) // the second never waits for what it looks for
		if !finding {
			first, second = second, first
		}
		list := talk(20, "What was the number of the zebra badge?", 0)
		list[2] = json.RawMessage(`{"role":"user","content":"The number of the zebra badge is 4711."}`)
		for i := range 20 {
			a := ask(first, fmt.Sprint("early", i), list[:2*i+1])
			a.end(http.StatusOK)
		}
		a := ask(first, "first", list)
		b := ask(second, "second", list)
		if a.plan == "" || a.plan != b.plan || !bytes.Equal(a.sent, b.sent) || a.recalled != finding {
			t.Errorf("one that finds something first: %v. It sends by plan %q\n%s\nthe other by plan %q\n%s", finding,
				a.plan, a.sent, b.plan, b.sent)
		}
		a.end(http.StatusOK)
		b.end(http.StatusOK)
		await(t, "the calls", func() bool { return len(decisions(t, store)) == 0 })
	}
}

// A call that finds a plan of its own process when it is about to share one of its own uses
// that plan, and shares none.
func TestACallBeatenInItsOwnProcessSharesNoPlan(t *testing.T) {
	store, _ := share(t, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	var asked atomic.Int64
	slow := condense.Func(func(ctx context.Context, in condense.Input) (condense.Output, error) {
		if asked.Add(1) == 1 {
			close(entered)
			<-release
		}
		return condense.Output{Text: summaryText}, nil
	})
	e := call.NewForTest(call.TestOptions{
		Options: call.Options{Condense: &call.CondenseOptions{Condenser: slow, Inline: true, Wait: time.Minute,
			Max: 300}},
		Parts: call.Parts{Store: &deaf{Store: store}, Shared: true,
			Waits: call.Waits{Store: time.Minute, Brief: time.Minute, Shared: time.Minute}},
	})
	defer func() { must(e.Close(ctx)) }()
	var first begun
	done := make(chan struct{})
	go func() {
		defer close(done)
		first = ask(e, "first", talk(18, "A question.", 500))
	}()
	<-entered
	second := ask(e, "second", talk(18, "Another question.", 1000))
	close(release)
	<-done
	if first.plan == "" || first.plan != second.plan {
		t.Errorf("the calls are sent by plans %q and %q", first.plan, second.plan)
	}
	if shared := decisions(t, store); !slices.Equal(shared, []string{second.plan}) {
		t.Errorf("shared are %q instead of %q", shared, second.plan)
	}
	first.end(http.StatusOK)
	second.end(http.StatusOK)
	if left := decisions(t, store); len(left) > 0 {
		t.Errorf("decisions %q are left", left)
	}
}

// A call waits for a store that does not answer when it shares and numbers its plans no
// longer than the table of waits says, however many plans it makes.
func TestACallWaitsOnceForTheNumbersOfItsPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := share(t, 1)
		e := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: &deaf{Store: &hung{store}}, Shared: true}})
		defer func() { must(e.Close(ctx)) }()
		began := time.Now()
		begun := ask(e, "call", talk(18, "A question.", 500))
		if took := time.Since(began); begun.plan == "" || took > time.Second {
			t.Errorf("plan %q after %v", begun.plan, took)
		}
		begun.end(http.StatusOK)
	})
}

// unsure is a store whose answer is lost when a process decides.
type unsure struct{ timeline.Store }

func (u *unsure) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	done, err := u.Store.Apply(ctx, tenant, c)
	if decides(&c) {
		err = io.ErrUnexpectedEOF
	}
	return done, err
}

// A decision that nothing is recalled leaves with its call, also if it is not known whether the
// store has it.
func TestADecisionWhoseAnswerWasLostIsDropped(t *testing.T) {
	store := memory.New()
	library := recall.NewLibrary(store, recall.LibraryOptions{})
	defer library.Close()
	e := call.NewForTest(call.TestOptions{Options: call.Options{RecallWait: 1},
		Parts: call.Parts{Store: &deaf{Store: &unsure{store}}, Recall: library, Shared: true,
			Waits: call.Waits{Store: time.Minute, Brief: time.Minute, Shared: time.Minute}}})
	defer func() { must(e.Close(ctx)) }()
	list := talk(20, "What was the number of the zebra badge?", 0)
	noted := func() int { return len(decisions(t, store)) }
	most := 0
	for i := range 21 {
		a := ask(e, fmt.Sprint("call", i), list[:2*i+1])
		most = max(most, noted())
		a.end(http.StatusOK)
	}
	if left := noted(); most == 0 || left > 0 {
		t.Errorf("%d decisions at most, and %d are left", most, left)
	}
}

// Proposals and notes of earlier programs, which had other kinds, are ignored: a call is planned,
// sent and stored as without them.
func TestProposalsOfEarlierProgramsAreIgnored(t *testing.T) {
	store, engines := share(t, 1)
	content := []byte("what a proposal sends in place of a message")
	_, err := store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "talk", Stay: true, Now: time.Now(),
		Contents: [][]byte{content}, Put: []timeline.Record{
			{Kind: "number", Key: "p-old-0", Data: []byte(`{"view":{"v":1,"covers":2},"path":"00"}`),
				Contents: []timeline.Hash{timeline.HashOf(content)}},
			{Kind: "number", Key: "p4"},
			{Kind: "quiet", Key: "a request"},
		}})
	must(err)
	begun := ask(engines[0], "call", talk(18, "A question.", 500))
	begun.end(http.StatusOK)
	must(engines[0].Wait(ctx))
	notes := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}
	plans, err := plan.List(ctx, notes, nil)
	if err != nil || begun.plan == "" || len(plans) != 1 || plans[0].ID != begun.plan || plans[0].Name() != "p1" {
		t.Errorf("stored plans %v, %v instead of %q", names(plans), err, begun.plan)
	}
	must(store.Verify(ctx, func(p timeline.Problem) { t.Errorf("verify: %+v", p) }))
}

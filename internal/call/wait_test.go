package call_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// hang stops whoever comes by, whatever becomes of their context, while it is on.
type hang struct {
	on      atomic.Bool
	release chan struct{}
	held    atomic.Int64 // how many came by
}

func (h *hang) here() {
	if h.on.Load() {
		h.held.Add(1)
		<-h.release
	}
}

// hangingStore is a store that ignores contexts and hangs in every method that calls use.
type hangingStore struct {
	timeline.Store
	*hang
}

func (s hangingStore) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	s.here()
	return s.Store.Conversation(ctx, tenant, name)
}

func (s hangingStore) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	s.here()
	return s.Store.Conversations(ctx, tenant)
}

func (s hangingStore) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	s.here()
	return s.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

func (s hangingStore) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	s.here()
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

func (s hangingStore) Changed(ctx context.Context) (int64, error) {
	s.here()
	return s.Store.Changed(ctx)
}

func (s hangingStore) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	s.here()
	return s.Store.Apply(ctx, tenant, c)
}

// hangingModel is an embedder that ignores contexts and hangs.
type hangingModel struct{ *hang }

func (m hangingModel) Name() string { return "hanging" }

func (m hangingModel) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.here()
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, 32)
		out[i][len(texts[i])%32] = 1
	}
	return out, nil
}

// waitCase is one thing that hangs.
type waitCase struct {
	store     timeline.Store // of the calls
	library   *recall.Library
	condenser condense.Condenser
	known     bool // the conversation is in memory
}

// DESIGN rule 1: recall, embedding, condensing and the store have a deadline, the plan has
// none. Whatever hangs, even where it ignores its context, a call waits no longer than
// Waits says, and what it sends is made by a plan and fits.
func TestNothingThatHangsHoldsACallOrItsPlan(t *testing.T) {
	for _, tc := range []struct {
		name  string
		at    time.Duration // the longest that the first call waits: see Waits
		later time.Duration // and the next
		make  func(h *hang) waitCase
	}{
		{"store", 10 * time.Second, 50 * time.Millisecond, func(h *hang) waitCase {
			return waitCase{store: hangingStore{memory.New(), h}, known: true}
		}},
		{"store after a restart", 10 * time.Second, 50 * time.Millisecond, func(h *hang) waitCase {
			return waitCase{store: hangingStore{memory.New(), h}}
		}},
		{"recall", 100 * time.Millisecond, 100 * time.Millisecond, func(h *hang) waitCase {
			store := memory.New()
			return waitCase{store: store, library: recall.NewLibrary(hangingStore{store, h}, recall.LibraryOptions{}),
				known: true}
		}},
		{"embedder", 100 * time.Millisecond, 100 * time.Millisecond, func(h *hang) waitCase {
			store := memory.New()
			return waitCase{store: store, library: recall.NewLibrary(store,
				recall.LibraryOptions{Model: hangingModel{h}}), known: true}
		}},
		{"condenser", 20 * time.Second, 20 * time.Second, func(h *hang) waitCase {
			return waitCase{store: memory.New(), known: true,
				condenser: condense.Func(func(ctx context.Context, in condense.Input) (condense.Output, error) {
					h.here()
					return condense.Digest{}.Condense(ctx, in)
				})}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hang{release: make(chan struct{})}
				parts := tc.make(h)
				open := func() *call.Engine {
					o := call.TestOptions{Parts: call.Parts{Store: parts.store, Recall: parts.library},
						Options: call.Options{Profile: "thrifty"}}
					if parts.condenser != nil {
						o.Condense = &call.CondenseOptions{Condenser: parts.condenser, Inline: true}
					}
					return call.NewForTest(o)
				}
				c := &caller{t: t, named: true}
				r := open()
				c.untilCut(r)
				if parts.library != nil { // its words and vectors are there
					must(parts.library.Wait(ctx))
					c.say(r, "thrifty")
				}
				synctest.Wait()
				before, plan := c.sent, c.plan
				if !parts.known {
					must(r.Close(ctx))
					r = open()
				}
				h.on.Store(true)
				if tc.name == "embedder" {
					c.asks = "What was thing-2-said, and which pier does harbour 2 lie east of?"
				}
				for i, most := range []time.Duration{tc.at, tc.later} {
					began := time.Now()
					if parts.condenser == nil {
						c.say(r, "thrifty")
					} else {
						for was := c.plan; c.plan == was; { // until the next cut
							c.say(r, "thrifty")
						}
					}
					if worst := r.WorstWait(); c.took > worst {
						t.Errorf("call %d: Begin took %v, more than the worst case %v", i, c.took, worst)
					}
					if c.took > most || time.Since(began) > most+50*time.Millisecond {
						t.Errorf("call %d: Begin took %v, the call %v, of at most %v", i, c.took, time.Since(began),
							most)
					}
					if n := tokensOf(c.sent); n > 3000 {
						t.Errorf("call %d: %d tokens were sent", i, n)
					}
					if parts.known && c.plan == "" || !strings.Contains(string(c.sent), "Oriel") {
						t.Errorf("call %d: no plan was used", i)
					}
				}
				if h.held.Load() == 0 {
					t.Error("nothing hung")
				}
				switch {
				case tc.name == "embedder" && bytes.LastIndex(c.sent, []byte(prompt.Recalled)) < bytes.LastIndex(c.sent,
					[]byte(`"role":"user"`)):
					t.Errorf("nothing was found by its words: %s", c.sent)
				case tc.name == "store":
					if end := bytes.LastIndex(before, []byte(`}]`)); c.plan != plan ||
						!bytes.HasPrefix(c.sent, before[:end]) {
						t.Errorf("plan %s, was %s", c.plan, plan)
					}
				}
				h.on.Store(false)
				close(h.release)
				must(r.Close(ctx))
				if parts.library != nil {
					must(parts.library.Close())
				}
				if n, k := calls(t, parts.store); n != c.n || k != 1 {
					t.Errorf("%d calls of %d are recorded, in %d conversations", n, c.n, k)
				}
			})
		})
	}
}

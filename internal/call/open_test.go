package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// faulty is a store that fails when it is told to.
type faulty struct {
	timeline.Store
	fail atomic.Pointer[func(ctx context.Context, op string) error]
}

func (s *faulty) at(ctx context.Context, op string) error {
	if f := s.fail.Load(); f != nil {
		return (*f)(ctx, op)
	}
	return nil
}

func (s *faulty) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := s.at(ctx, "apply"); err != nil {
		return timeline.Applied{}, err
	}
	return s.Store.Apply(ctx, tenant, c)
}

func (s *faulty) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	if err := s.at(ctx, "find"); err != nil {
		return timeline.Conversation{}, err
	}
	return s.Store.Conversation(ctx, tenant, name)
}

func (s *faulty) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	if err := s.at(ctx, "find"); err != nil {
		return nil, err
	}
	return s.Store.Conversations(ctx, tenant)
}

func (s *faulty) Changed(ctx context.Context) (int64, error) {
	if err := s.at(ctx, "changed"); err != nil {
		return 0, err
	}
	return s.Store.Changed(ctx)
}

func (s *faulty) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if err := s.at(ctx, "records"); err != nil {
		return nil, err
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// The faults of a store: whatever it does, a history that is larger than the window goes
// out within it. DESIGN: the last plan, else a stateless fit.
func TestLargeHistoriesGoOnWithoutTheStore(t *testing.T) {
	always := func(err error) func(context.Context, string) error {
		return func(context.Context, string) error { return err }
	}
	faults := map[string]func(context.Context, string) error{
		"locked":  always(sqlite.ErrBusy),
		"damaged": always(timeline.ErrDamaged),
		"full": func(_ context.Context, op string) error {
			if op == "apply" {
				return sqlite.ErrFull
			}
			return nil
		},
		"panic": func(_ context.Context, op string) error {
			panic("the disk is on fire")
		},
	}
	const budget = 2000
	for name, fault := range faults {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/known=%v", name, known), func(t *testing.T) {
				store := &faulty{Store: memory.New()}
				k := newTalker(start(t, store, replying, thrifty), "X-Oriel-Budget", fmt.Sprint(budget))
				plan := k.untilCut()
				for range 3 {
					plan = k.say().Header.Get("X-Oriel-Plan")
				}
				before := k.last
				store.fail.Store(&fault)
				defer store.fail.Store(nil)
				if !known { // of another session, that is only in the store
					k.header[1] = "another"
				}
				k.calls-- // settle counts what is written or failed
				r := k.say()
				if n := tokensOf(k.last); n > budget {
					t.Errorf("%d tokens were sent", n)
				}
				if !known && name == "full" {
					return // nothing had to be read
				}
				end := bytes.LastIndex(before, []byte(`}]`))
				if name != "panic" || !known {
					if !bytes.HasPrefix(k.last, before[:end]) {
						t.Errorf("the last plan was in memory, and another view was sent: %s", r.Header)
					}
				}
				if known && name != "panic" && r.Header.Get("X-Oriel-Plan") != plan {
					t.Errorf("header %v", r.Header)
				}
				if e := k.await(oriel.EventOpen, 1); e[0].Error == "" {
					t.Errorf("told %+v", e)
				}
			})
		}
	}
}

// The same for a store that does not answer: the call waits for it no longer than it may.
func TestLargeHistoriesGoOnWhileTheStoreDoesNotAnswer(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known=%v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{Store: memory.New()}
				var mu sync.Mutex
				var opened []oriel.Event
				r := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: store, Events: func(e oriel.Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.Kind == oriel.EventOpen {
						opened = append(opened, e)
					}
				}}, Options: call.Options{Profile: "thrifty"}})
				c := &caller{t: t, named: true}
				c.untilCut(r)
				synctest.Wait()
				plan, before := c.plan, string(c.sent)
				enough := make(chan struct{})
				fault := func(ctx context.Context, op string) error {
					if op == "apply" {
						return sqlite.ErrBusy
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-enough:
						return sqlite.ErrBusy
					}
				}
				store.fail.Store(&fault)
				if !known { // of another session, that is only in the store
					c.name = "another"
				}
				c.say(r, "thrifty")
				if n := tokensOf(c.sent); n > 3000 || c.took > call.DefaultStoreWait+time.Second {
					t.Errorf("%d tokens were sent after %v", n, c.took)
				}
				if end := strings.LastIndex(before, "}]"); !strings.HasPrefix(string(c.sent), before[:end]) {
					t.Error("the last plan was in memory, and another view was sent")
				}
				if known && c.plan != plan {
					t.Errorf("plan %q, was %q", c.plan, plan)
				}
				close(enough)
				store.fail.Store(nil)
				must(r.Close(ctx))
				if len(opened) == 0 || opened[0].Error == "" {
					t.Errorf("reported %+v", opened)
				}
			})
		})
	}
}

func tokensOf(body []byte) int {
	b, err := wire.Read(body, wire.Chat, wire.Limits{})
	must(err)
	return token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{}).Request(&b.Request).Total
}

// A history that nothing is known of is fitted on its own.
func TestAnUnknownHistoryIsFittedWithoutTheStore(t *testing.T) {
	store := &faulty{Store: memory.New()}
	fault := func(context.Context, string) error { return sqlite.ErrBusy }
	store.fail.Store(&fault)
	k := newTalker(start(t, store, replying, thrifty), "X-Oriel-Budget", "3000")
	for k.said < 40 {
		k.said++
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(k.said))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	r := k.say()
	if n := tokensOf(k.last); n > 3000 || !k.shows(k.said) || r.Header.Get("X-Oriel-Action") != "error" {
		t.Errorf("%d tokens, %v", n, r.Header)
	}
}

// A panic in recall costs what is recalled, and nothing else.
func TestRecallThatPanics(t *testing.T) {
	store := memory.New()
	library := recall.NewLibrary(store, recall.LibraryOptions{Count: func(string) int { panic("no numbers") }})
	defer library.Close()
	k := newTalker(start(t, store, replying, thrifty, func(o *call.TestOptions) { o.Recall = library }),
		"X-Oriel-Budget", "3000")
	k.untilCut()
	for range 2 {
		if r := k.say(); r.Header.Get("X-Oriel-Plan") == "" || r.Header.Get("X-Oriel-Action") == "error" ||
			tokensOf(k.last) > 3000 {
			t.Errorf("%d tokens, %v", tokensOf(k.last), r.Header)
		}
	}
	if e := k.told(oriel.EventOpen); len(e) == 0 || !strings.Contains(e[0].Error, "no numbers") {
		t.Errorf("told %+v", e)
	}
}

// A history that recall cannot read costs what is recalled; an event reports why.
func TestRecallThatFailsIsReported(t *testing.T) {
	store := memory.New()
	broken := &faulty{Store: store}
	library := recall.NewLibrary(broken, recall.LibraryOptions{})
	defer library.Close()
	k := newTalker(start(t, store, replying, thrifty, func(o *call.TestOptions) { o.Recall = library }),
		"X-Oriel-Budget", "3000")
	k.untilCut()
	fault := func(context.Context, string) error { return errors.New("disk on fire") }
	broken.fail.Store(&fault)
	if r := k.say(); r.Header.Get("X-Oriel-Action") == "error" || tokensOf(k.last) > 3000 {
		t.Errorf("%d tokens, %v", tokensOf(k.last), r.Header)
	}
	if e := k.told(oriel.EventOpen); len(e) == 0 || !strings.Contains(e[0].Error, "recall: ") ||
		!strings.Contains(e[0].Error, "disk on fire") {
		t.Errorf("told %+v", e)
	}
}

// What is small goes as it came.
func TestASmallHistoryGoesAsItCameWithoutTheStore(t *testing.T) {
	store := &faulty{Store: memory.New()}
	fault := func(context.Context, string) error { panic("no store") }
	store.fail.Store(&fault)
	k := newTalker(start(t, store, replying, thrifty))
	k.say()
	if want := fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":%q}]}`,
		words(1)); string(k.last) != want {
		t.Errorf("sent %s", k.last)
	}
}

// Limits and calibration survive a restart; a damaged file is left out of account.
func TestLearntSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learnt.json")
	l, err := token.OpenLearnt(path)
	if err != nil {
		t.Fatal(err)
	}
	refusing := func(r *fakemodel.Request) fakemodel.Answer {
		if n := tokensOf(r.Data()); n > 2000 {
			return fakemodel.Answer{Status: http.StatusBadRequest,
				Error: fmt.Sprintf("This model's maximum context length is 2000 tokens. However, your messages resulted in %d tokens. (context_length_exceeded)", n)}
		}
		return replying(r)
	}
	with := func(l *token.Learnt) func(*call.TestOptions) {
		return func(o *call.TestOptions) {
			o.Profile, o.Limits, o.Calibration, o.Learnt = "full", l.Limits, l.Calibration, l.Save
		}
	}
	for i := range 2 { // the second confirms it
		k := newTalker(start(t, openStore(t, t.TempDir()), refusing, with(l)), "X-Oriel-Conversation",
			fmt.Sprint("talk-", i))
		for range 15 {
			k.say()
		}
		if e := k.told(oriel.EventOverflow); len(e) != 1 || e[0].TokensAfter == 0 ||
			e[0].TokensBefore < e[0].TokensAfter {
			t.Fatalf("%+v", e)
		}
	}
	l.Calibration.Observe("gpt-4o", 1000, 1100)
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	again, err := token.OpenLearnt(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Calibration.Scale("gpt-4o"), l.Calibration.Scale("gpt-4o"); got != want {
		t.Errorf("calibration %v, was %v", got, want)
	}
	k := newTalker(start(t, openStore(t, t.TempDir()), refusing, with(again)))
	for range 15 {
		k.say()
	}
	if e := k.told(oriel.EventOverflow); len(e) != 0 {
		t.Errorf("the limit was forgotten: %+v", e)
	}
	for _, bad := range []string{"", "{", `{"v":3}`, `{"v":2,"limits":[1]}`,
		`{"v":1,"limits":{"tokens":{"gpt-4o 128000":{"tokens":8100}}}}`, `[]`} {
		must(os.WriteFile(path, []byte(bad), 0o600))
		l, err := token.OpenLearnt(path)
		if err == nil || l == nil || l.Limits == nil || l.Calibration == nil {
			t.Errorf("%q: %v, %v", bad, l, err)
		}
		if err := l.Save(); err != nil {
			t.Error(err)
		}
		if _, err := token.OpenLearnt(path); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

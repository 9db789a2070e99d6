package recall

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// flaky is a model whose calls fail as long as fail returns an error.
type flaky struct {
	counting
	fail func() error // nil: it works
}

func (f *flaky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return nil, err
		}
	}
	return f.counting.Embed(ctx, texts)
}

// reports collects what a library reports.
type reports struct {
	mu   sync.Mutex
	errs []string
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err.Error())
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errs
}

// A model that panics or fails is reported, and asked again with the next question.
func TestAModelThatFailsIsReportedAndAskedAgain(t *testing.T) {
	for name, fail := range map[string]func() error{
		"panic": func() error { panic("no such tensor") },
		"error": func() error { return errors.New("no such tensor") },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			defer store.Close()
			say(t, store, "c", holidayTexts[:4]...)
			model, told := &flaky{counting: counting{name: "a"}, fail: fail}, &reports{}
			l := library(t, store, LibraryOptions{Model: model, Report: told.add})
			w := Where{Tenant: timeline.Local, Conversation: "c"}
			for range 2 {
				l.Prepare(w)
				if err := l.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "no such tensor") {
					t.Errorf("Wait: %v", err)
				}
			}
			if got := told.all(); len(got) != 1 || !strings.Contains(got[0], "no such tensor") {
				t.Fatalf("reported %q, want the failure once", got)
			} else if name == "panic" && !strings.Contains(got[0], "library_failure_test.go:") {
				t.Errorf("%q does not say where", got)
			}
			model.fail = nil
			prepared(t, l, "c")
			if n := l.Stats(); n.Embedded != n.Passages || n.Passages == 0 {
				t.Errorf("%+v", n)
			}
			model.fail = fail // when it embeds a question: words answer it
			if r, err := l.Recall(t.Context(), w, "the cello", RecallOptions{Floor: -1}); err != nil ||
				r.Mode != Keyword || best(r) != "4" {
				t.Errorf("%+v, %v", r, err)
			}
			if got := told.all(); len(got) != 2 {
				t.Errorf("reported %q, want the new failure, too", got)
			}
		})
	}
}

// panicky is a store that panics where it is asked for messages.
type panicky struct {
	timeline.Store
	panics bool
}

func (s *panicky) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	if s.panics && !hashes { // where the texts are read
		panic("a torn page")
	}
	return s.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

// A panic while a conversation is indexed fails those who wait for it, and no one else.
func TestAPanicWhileIndexingIsReportedAndTriedAgain(t *testing.T) {
	store := &panicky{Store: memory.New(), panics: true}
	defer store.Close()
	say(t, store.Store, "c", holidayTexts[:4]...)
	told := &reports{}
	l := library(t, store, LibraryOptions{Report: told.add})
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	for range 3 { // more than there are workers
		if _, err := l.Recall(t.Context(), w, "cello", RecallOptions{}); err == nil ||
			!strings.Contains(err.Error(), "a torn page") {
			t.Errorf("Recall: %v", err)
		}
	}
	if got := told.all(); len(got) != 1 || !strings.Contains(got[0], "a torn page") {
		t.Errorf("reported %q", got)
	}
	store.panics = false
	if r, err := l.Recall(t.Context(), w, "cello", RecallOptions{Floor: -1}); err != nil || best(r) != "4" {
		t.Errorf("%+v, %v", r, err)
	}
}

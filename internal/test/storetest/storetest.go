/*
Package storetest holds every timeline.Store to the same answers.

Run has a case for each rule that timeline.Store states, a test that makes generated
changes to a store and to timeline/memory, the model, and compares all that they
answer, one with many writers and readers at once, and the same for a timeline.Log over
the store. After each case the store must find itself in order (Verify). A store that
passes may be put in another's place.

Not tested here, because it is each store's own: durability, several processes,
damage, what things take on disk.
*/
package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oriel-context/oriel/timeline"
)

// Run tests a store. open returns a new empty one on each call; Run closes it.
func Run(t *testing.T, open func(t *testing.T) timeline.Store) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"messages", messageCases},
		{"conversations", conversationCases},
		{"records", recordCases},
		{"decisions", decisionCases},
		{"refusals", refusalCases},
		{"derived", derivedCases},
		{"deletion", deletionCases},
		{"branches", branchCases},
		{"tokens", tokenCases},
	} {
		for _, c := range group.cases {
			t.Run(group.name+"/"+c.name, func(t *testing.T) {
				s := open(t)
				defer s.Close()
				f := &fixture{T: t, Store: s}
				c.run(f)
				f.verify()
			})
		}
	}
	t.Run("agrees with the model", func(t *testing.T) { Agree(t, open) })
	t.Run("many at once", func(t *testing.T) { testParallel(t, open) })
	t.Run("log", func(t *testing.T) { testLog(t, open) })
	t.Run("log of many at once", func(t *testing.T) { testLogParallel(t, open) })
}

// testCase is one rule; its name says what must hold.
type testCase struct {
	name string
	run  func(f *fixture)
}

// fixture is a store under test with helpers for the test cases. Its tenant is
// timeline.Local unless a method takes another.
type fixture struct {
	*testing.T
	timeline.Store
}

var ctx = context.Background()

// noon is the time of changes for which the time does not matter.
var noon = time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)

// said returns a message whose identity depends on text alone.
func said(text string) timeline.Message { return form(text, `{"text":"`+text+`"}`) }

// form returns a message with the identity of text and other bytes.
func form(text, raw string) timeline.Message {
	return timeline.Message{Identity: timeline.HashOf([]byte(text)), Raw: []byte(raw), Format: "item", Role: "user"}
}

func saidAll(texts ...string) []timeline.Message {
	all := make([]timeline.Message, len(texts))
	for i, text := range texts {
		all[i] = said(text)
	}
	return all
}

// numbered returns the texts prefix1, prefix2, … up to n.
func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return all
}

func (f *fixture) apply(c timeline.Change) timeline.Applied {
	f.Helper()
	return f.applyAs(timeline.Local, c)
}

func (f *fixture) applyAs(tenant string, c timeline.Change) timeline.Applied {
	f.Helper()
	if c.Now.IsZero() {
		c.Now = noon
	}
	a, err := f.Apply(ctx, tenant, c)
	if err != nil {
		f.Fatalf("apply to %q: %v", c.Conversation, err)
	}
	return a
}

// say appends texts to a conversation at a place.
func (f *fixture) say(conversation string, at timeline.Place, texts ...string) timeline.Applied {
	f.Helper()
	return f.apply(timeline.Change{Conversation: conversation, At: at, Messages: saidAll(texts...)})
}

func (f *fixture) conversation(name string) timeline.Conversation {
	f.Helper()
	c, err := f.Conversation(ctx, timeline.Local, name)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

func (f *fixture) stats() timeline.Stats {
	f.Helper()
	st, err := f.Stats(ctx, timeline.Local)
	if err != nil {
		f.Fatal(err)
	}
	st.Stored, st.Disk = 0, 0
	return st
}

// entries returns copies of a range of a history.
func entries(s timeline.Store, tenant string, to timeline.Place, first, last int64,
	hashes bool) ([]timeline.Entry, error) {
	var all []timeline.Entry
	err := s.Messages(ctx, tenant, to, first, last, hashes, func(e *timeline.Entry) error {
		kept := *e
		kept.Raw = slices.Clone(e.Raw)
		kept.Variants = slices.Clone(e.Variants)
		all = append(all, kept)
		return nil
	})
	return all, err
}

func (f *fixture) entries(to timeline.Place) []timeline.Entry {
	f.Helper()
	all, err := entries(f.Store, timeline.Local, to, 1, math.MaxInt64, false)
	if err != nil {
		f.Fatal(err)
	}
	return all
}

// raws returns the bytes of the messages up to a place.
func (f *fixture) raws(to timeline.Place) []string {
	f.Helper()
	var all []string
	for _, e := range f.entries(to) {
		all = append(all, string(e.Raw))
	}
	return all
}

// reads fails unless the history up to a place consists of texts, byte for
// byte.
func (f *fixture) reads(to timeline.Place, texts ...string) {
	f.Helper()
	var want []string
	for _, m := range saidAll(texts...) {
		want = append(want, string(m.Raw))
	}
	f.equal("history", f.raws(to), want)
}

func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// verify fails with every problem that the store finds.
func (f *fixture) verify() {
	f.Helper()
	if err := f.Verify(ctx, func(p timeline.Problem) { f.Errorf("verify: %+v", p) }); err != nil {
		f.Errorf("verify: %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// turns is how many messages each of those who share a conversation adds.
const turns = 60

// childShare adds to the conversation "shared" until its turns are over.
func childShare(dir, who string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(share(s, who), s.Close())
}

// share appends to a conversation that others append to as well, each time under the
// head that it saw, at the revision that it saw.
func share(s timeline.Store, who string) error {
	for i := 0; i < turns; {
		c, err := s.Conversation(ctx, timeline.Local, "shared")
		if err != nil {
			return err
		}
		_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "shared", At: c.Head, Expect: &c.Revision,
			Messages: texts(fmt.Sprintf("%s-%d", who, i)), Now: time.Now()})
		if errors.Is(err, timeline.ErrChanged) {
			continue
		}
		if err != nil {
			return err
		}
		i++
	}
	return nil
}

func TestProcessesAndStoresShareAConversation(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	add(t, a, "shared", "begin")
	var group sync.WaitGroup
	for _, s := range []timeline.Store{a, b} {
		group.Go(func() {
			if err := share(s, fmt.Sprintf("%p", s)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, who := range []string{"x", "y"} {
		group.Go(func() {
			if out, err := command("share", dir, who).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	c, err := a.Conversation(ctx, timeline.Local, "shared")
	if err != nil || c.Head.Depth != 1+4*turns || c.Revision != 1+4*turns {
		t.Fatalf("%+v, %v", c, err)
	}
	said := strings.Fields(history(t, b, "shared"))
	seen := map[string]int{}
	for _, s := range said[1:] {
		who, n, _ := strings.Cut(s, "-")
		if n != fmt.Sprint(seen[who]) {
			t.Fatalf("%s comes after %d of its kind", s, seen[who])
		}
		seen[who]++
	}
	verify(t, a)
}

// Neither may answer from what it remembers when the other has written.
func TestStoresSeeEachOthersChangesAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	now := time.Now()
	add(t, a, "c", "one", "two")
	add(t, b, "c", "three")
	add(t, a, "c", "four")
	if got := history(t, b, "c"); got != "one two three four" {
		t.Errorf("history %q", got)
	}
	// b remembers the tip of the trunk; a has gone on from there.
	head := add(t, b, "c", "five").Head
	add(t, a, "c", "six")
	other, err := b.Apply(ctx, timeline.Local,
		timeline.Change{Conversation: "d", At: head, Messages: texts("six", "seven"), Now: now})
	if err != nil || other.New.Messages != 1 || other.Head.Trunk != head.Trunk {
		t.Errorf("%+v, %v", other, err)
	}
	if _, err := a.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true, Now: now,
		Put: []timeline.Record{{Kind: "pin", Key: "1", Data: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Records(ctx, timeline.Local, "c", "pin", ""); err != nil || len(r) != 1 {
		t.Errorf("%v, %v", r, err)
	}
	verify(t, a)
}

func TestDeletionByAnotherProcessEmptiesWarmCaches(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 20 {
		add(t, s, "gone", fmt.Sprint("text ", i))
	}
	before, err := s.Changed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command("delete", dir, "gone").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after, err := s.Changed(ctx); err != nil || after == before {
		t.Errorf("changed %d, %v", after, err)
	}
	if _, err := s.Conversation(ctx, timeline.Local, "gone"); !errors.Is(err, timeline.ErrNoConversation) {
		t.Error(err)
	}
	// The numbers of its contents are free again; nothing may be found by them.
	add(t, s, "other", "strange 1", "strange 2")
	a := add(t, s, "gone", "text 1", "text 2", "strange 1")
	if a.Revision != 1 || a.New.Contents != 2 || a.New.Messages != 3 {
		t.Errorf("%+v", a)
	}
	if got := history(t, s, "gone"); got != "text 1 text 2 strange 1" {
		t.Errorf("history %q", got)
	}
	verify(t, s)
}

func TestChangedTellsOfOthersOnly(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	add(t, a, "c", "one")
	changed := func() int64 {
		n, err := a.Changed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := changed()
	add(t, a, "c", "two")
	if n := changed(); n != first {
		t.Error("an own change was reported")
	}
	add(t, b, "c", "three")
	second := changed()
	if second == first {
		t.Error("the change of another store was not reported")
	}
	if n := changed(); n != second {
		t.Error("a change was reported twice")
	}
	// One that is noticed by writing is reported all the same.
	add(t, b, "d", "one")
	add(t, a, "c", "four")
	if n := changed(); n == second {
		t.Error("the change of another store was not reported after a change of one's own")
	}
}

func TestTenantsKnowNothingOfEachOther(t *testing.T) {
	s := open(t, t.TempDir())
	head := add(t, s, "c", "one", "two").Head
	secret := timeline.HashOf([]byte("two"))
	const other = "other"
	apply := func(c timeline.Change) error {
		c.Conversation, c.Now = "c", time.Now()
		_, err := s.Apply(ctx, other, c)
		return err
	}
	for range 2 { // before the tenant has written anything, and after
		if _, err := s.Conversation(ctx, other, "c"); !errors.Is(err, timeline.ErrNoConversation) {
			t.Error(err)
		}
		if _, err := s.Content(ctx, other, secret); !errors.Is(err, timeline.ErrNoContent) {
			t.Error(err)
		}
		if _, _, err := s.Under(ctx, other, timeline.Place{Trunk: head.Trunk, Depth: 1}, secret); !errors.Is(err,
			timeline.ErrNoPlace) {
			t.Error(err)
		}
		if err := s.Messages(ctx, other, head, 1, 2, false, func(*timeline.Entry) error { return nil }); !errors.Is(err,
			timeline.ErrNoPlace) {
			t.Error(err)
		}
		if err := apply(timeline.Change{At: head, Messages: texts("three")}); !errors.Is(err, timeline.ErrNoPlace) {
			t.Error(err)
		}
		if err := apply(timeline.Change{Stay: true,
			Put: []timeline.Record{{Kind: "k", Key: "k", Contents: []timeline.Hash{secret}}}}); !errors.Is(err,
			timeline.ErrNoContent) {
			t.Error(err)
		}
		if _, err := s.Delete(ctx, other, "c", nil); !errors.Is(err, timeline.ErrNoConversation) {
			t.Error(err)
		}
		a, err := s.Apply(ctx, other, timeline.Change{Conversation: "mine", Messages: texts("one"), Now: time.Now()})
		if err != nil || a.Head.Trunk == head.Trunk {
			t.Errorf("%+v, %v", a, err)
		}
	}
	st, err := s.Stats(ctx, other)
	if err != nil || st.Messages != 1 || st.Contents != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	verify(t, s)
}

// Whoever asks whether something has changed does not wait for another process that writes,
// and is told that it may have.
func TestChangedDoesNotWaitForAnotherWriter(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	add(t, a, "c", "begin")
	before, err := b.Changed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	locked, release := make(chan struct{}), make(chan struct{})
	first := true
	a.SetFail(func(point string) {
		if first {
			first = false
			close(locked)
			<-release
		}
	})
	var group sync.WaitGroup
	group.Go(func() { add(t, a, "c", "slow") })
	<-locked
	group.Go(func() { add(t, b, "d", "waits") })
	for start := time.Now(); ; { // it may look itself before b waits
		n, err := b.Changed(ctx)
		if err != nil {
			t.Error(err)
		}
		if n != before || err != nil {
			break
		}
		if time.Since(start) > time.Minute {
			t.Error("it was not told in a minute")
			break
		}
	}
	close(release)
	group.Wait()
}

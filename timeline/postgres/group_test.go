package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// A change to a conversation that this store changed last takes one round trip.
func TestTheNextChangeTakesOneRoundTrip(t *testing.T) {
	url, trips := pgtest.CountTrips(t, pgtest.URL(t))
	s := open(t, url)
	at := timeline.Place{}
	for i := range 12 {
		trips.Take()
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: at, Now: time.Now(),
			Messages: texts(fmt.Sprint("question ", i), fmt.Sprint("answer ", i)), Contents: [][]byte{[]byte("prompt")},
			Put: []timeline.Record{{Kind: "call", Key: fmt.Sprint(i), At: timeline.AtHead(),
				Contents: []timeline.Hash{timeline.HashOf([]byte("prompt"))}}, {Kind: "size", Key: "window"}}})
		if err != nil {
			t.Fatal(err)
		}
		at = a.Head
		var made []string
		for _, trip := range trips.Take() {
			if !strings.HasPrefix(trip, "prepare ") && trip != "-- ping" && (strings.Contains(trip, "message") ||
				!strings.Contains(trip, "pg_notify")) {
				made = append(made, trip)
			}
		}
		if i > 2 && len(made) != 1 { // the first ones find the tenant and its partition
			t.Errorf("change %d took %d round trips:\n%s", i, len(made), strings.Join(made, "\n"))
		}
	}
	inOrder(t, s)
}

// inOrder fails the test if Verify finds a fault.
func inOrder(t *testing.T, s timeline.Store) {
	t.Helper()
	if err := s.Verify(ctx, func(p timeline.Problem) { t.Errorf("verify: %+v", p) }); err != nil {
		t.Error(err)
	}
}

// Two stores that change the same conversations in turn and at once lose nothing and agree,
// though each remembers states that the other has changed since.
func TestStoresThatRememberOldStatesAgree(t *testing.T) {
	url := pgtest.URL(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	const conversations, changes = 5, 40
	var group sync.WaitGroup
	for n, s := range stores {
		for c := range conversations {
			group.Go(func() {
				name := fmt.Sprint("c", c)
				for i := 0; i < changes; {
					now, err := s.Conversation(ctx, timeline.Local, name)
					if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
						t.Error(err)
						return
					}
					key := fmt.Sprint(n, " ", i)
					_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Expect: &now.Revision,
						At: now.Head, Now: time.Now(), Messages: texts(fmt.Sprint(name, " ", key), "Noted."),
						Put: []timeline.Record{{Kind: "call", Key: key, At: timeline.AtHead()}}})
					switch {
					case err == nil:
						i++
					case !errors.Is(err, timeline.ErrChanged):
						t.Error(err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for c := range conversations {
		name := fmt.Sprint("c", c)
		for _, s := range stores {
			now, err := s.Conversation(ctx, timeline.Local, name)
			calls, err2 := s.RecordKeys(ctx, timeline.Local, name, "call")
			if err := errors.Join(err, err2); err != nil || now.Revision != 2*changes || len(calls) != 2*changes ||
				now.Head.Depth != 4*changes {
				t.Errorf("%s is at revision %d with head %v and %d calls: %v", name, now.Revision, now.Head, len(calls),
					err)
			}
		}
	}
	inOrder(t, stores[0])
}

// A change of a group that another store has overtaken does not keep the others from being
// written, and is told what has changed.
func TestAChangeThatWasOvertakenFailsAlone(t *testing.T) {
	url := pgtest.URL(t)
	one, two := open(t, url), open(t, url)
	heads := map[string]timeline.Applied{}
	say := func(s *postgres.Store, name, text string, expect *int64) error {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: heads[name].Head, Expect: expect,
			Now: time.Now(), Messages: texts(text)})
		if err == nil {
			heads[name] = a
		}
		return err
	}
	for i := range 9 {
		if err := say(one, fmt.Sprint("c", i), "first", nil); err != nil {
			t.Fatal(err)
		}
	}
	was := heads["c4"]
	if err := say(two, "c4", "of another", nil); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 9 {
		name := fmt.Sprint("c", i)
		before := heads[name]
		if i == 4 {
			before = was
		}
		group.Go(func() {
			a, err := one.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: before.Head,
				Expect: &before.Revision, Now: time.Now(), Messages: texts("second")})
			if i == 4 && !errors.Is(err, timeline.ErrChanged) || i != 4 && (err != nil || a.Head.Depth != 2) {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		})
	}
	group.Wait()
	inOrder(t, one)
}

// A change whose caller gives up before it is sent is not written.
func TestAChangeThatNobodyWaitsForIsNotSent(t *testing.T) {
	s := open(t, pgtest.With(pgtest.URL(t), "pool_max_conns", "1"))
	first, err := s.Apply(ctx, timeline.Local,
		timeline.Change{Conversation: "c", Now: time.Now(), Messages: texts("one")})
	if err != nil {
		t.Fatal(err)
	}
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.SetFail(func(point string) {
		if point == "before commit" {
			once.Do(func() {
				close(held)
				<-release
			})
		}
	})
	done := make(chan error)
	go func() { // has the only connection
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "other", Now: time.Now(),
			Messages: texts("1")})
		done <- err
	}()
	<-held
	leaving, leave := context.WithCancel(ctx)
	go leave()
	_, err = s.Apply(leaving, timeline.Local, timeline.Change{Conversation: "c", At: first.Head, Now: time.Now(),
		Messages: texts("two")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if now, err := s.Conversation(ctx, timeline.Local, "c"); err != nil || now.Head != first.Head {
		t.Errorf("the head is %v, %v", now.Head, err)
	}
}

// A user without rights on the partitions writes to the whole tables.
func TestAUserOfTheWholeTablesWrites(t *testing.T) {
	url := pgtest.URL(t)
	owner := open(t, url)
	say := func(s *postgres.Store, at timeline.Place, text string) timeline.Place {
		t.Helper()
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: at, Now: time.Now(),
			Messages: texts(text)})
		if err != nil {
			t.Fatal(err)
		}
		return a.Head
	}
	at := say(owner, timeline.Place{}, "one")
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for i := range 8 {
		if _, err := c.Exec(ctx, fmt.Sprintf("REVOKE INSERT ON message_p%d FROM current_user", i)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, url)
	for i := range 3 {
		at = say(s, at, fmt.Sprint("more ", i))
	}
	if at.Depth != 4 {
		t.Errorf("the head is %v", at)
	}
	inOrder(t, s)
}

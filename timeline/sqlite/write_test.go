package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestSixteenWritersAndReaders(t *testing.T) {
	for _, level := range []sqlite.Sync{sqlite.Normal, sqlite.Full} {
		s, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{Sync: level})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		const each = 40
		var group, readers sync.WaitGroup
		var done atomic.Bool
		for i := range 16 {
			group.Go(func() {
				name := fmt.Sprint("c", i)
				for j := range each {
					a := add(t, s, name, fmt.Sprintf("%s-%d", name, j))
					if a.Head.Depth != int64(j+1) || a.Revision != int64(j+1) {
						t.Errorf("%+v", a)
					}
				}
			})
			readers.Go(func() {
				for !done.Load() {
					c, err := s.Conversation(ctx, timeline.Local, fmt.Sprint("c", i))
					if errors.Is(err, timeline.ErrNoConversation) {
						continue
					}
					n := int64(0)
					err = errors.Join(err, s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, i%2 == 0,
						func(e *timeline.Entry) error {
							n++
							return nil
						}))
					if _, e := s.Changed(ctx); err != nil || e != nil || n != c.Head.Depth {
						t.Errorf("%d of %d: %v, %v", n, c.Head.Depth, err, e)
						return
					}
				}
			})
		}
		group.Wait()
		done.Store(true)
		readers.Wait()
		verify(t, s)
	}
}

// What one caller does wrong, or takes back, is no other's concern.
func TestChangesOfAGroupStandAlone(t *testing.T) {
	s := open(t, t.TempDir())
	head := add(t, s, "base", "begin").Head
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			name := fmt.Sprint("c", i)
			c := timeline.Change{Conversation: name, At: head, Messages: texts(name), Now: time.Now()}
			ctx := ctx
			var want error
			switch i % 4 {
			case 1:
				c.At, want = timeline.Place{Trunk: 999, Depth: 1}, timeline.ErrNoPlace
			case 2:
				one := int64(1)
				c.Expect, want = &one, timeline.ErrChanged
			case 3:
				c.Put, want = []timeline.Record{{Kind: "k", Key: "k", Contents: []timeline.Hash{{1}}}},
					timeline.ErrNoContent
			}
			if _, err := s.Apply(ctx, timeline.Local, c); !errors.Is(err, want) {
				t.Errorf("%d: %v, want %v", i, err, want)
			}
			_, err := s.Conversation(ctx, timeline.Local, name)
			if made := err == nil; made != (want == nil) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	group.Wait()
	verify(t, s)
}

// A change is made, or the caller is told that it is not: never the one and not the
// other.
func TestACancelledChangeIsMadeOrNot(t *testing.T) {
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	var made, cancelled atomic.Int64
	for i := range 200 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			time.AfterFunc(time.Duration(rand.IntN(4000))*time.Microsecond, cancel)
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			name := fmt.Sprint("c", i)
			_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Messages: texts(name),
				Now: time.Now()})
			_, missing := s.Conversation(context.Background(), timeline.Local, name)
			switch {
			case err == nil && missing == nil:
				made.Add(1)
			case errors.Is(err, context.Canceled) && errors.Is(missing, timeline.ErrNoConversation):
				cancelled.Add(1)
			default:
				t.Errorf("%v, %v", err, missing)
			}
		})
	}
	group.Wait()
	t.Logf("%d made, %d cancelled", made.Load(), cancelled.Load())
	verify(t, s)
}

func TestWaitingForAnotherProcessEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	held, free := make(chan bool), make(chan bool)
	a.SetFail(func(point string) {
		if point == "before commit" {
			held <- true
			<-free
		}
	})
	var group sync.WaitGroup
	group.Go(func() { add(t, a, "a", "slow") })
	<-held
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	_, err := b.Apply(short, timeline.Local, timeline.Change{Conversation: "b", Messages: texts("x"), Now: time.Now()})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	// Who reads need not wait at all.
	if _, err := b.Conversations(ctx, timeline.Local); err != nil {
		t.Error(err)
	}
	close(free)
	group.Wait()
	a.SetFail(nil)
	add(t, b, "b", "y")
	if got := history(t, b, "b"); got != "y" {
		t.Errorf("history %q", got)
	}
}

func TestLargeContents(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	s := open(t, t.TempDir())
	noise := make([]byte, 50<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise)
	zeros := make([]byte, 50<<20) // compresses to next to nothing
	for _, raw := range [][]byte{noise, zeros, []byte("a\x00b\x00"), {}, bytes.Repeat([]byte{0}, 1000)} {
		m := text("")
		m.Identity, m.Raw = timeline.HashOf(raw), raw
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Messages: []timeline.Message{m},
			Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Messages(ctx, timeline.Local, a.Head, 1, 1, false, func(e *timeline.Entry) error {
			if !bytes.Equal(e.Raw, raw) {
				t.Errorf("%d bytes came back as %d others", len(raw), len(e.Raw))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Content(ctx, timeline.Local, timeline.HashOf(raw)); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("content of %d bytes: %v", len(raw), err)
		}
	}
	st, err := s.Stats(ctx, timeline.Local)
	if err != nil || st.Stored > 51<<20 || st.Bytes < 100<<20 {
		t.Errorf("%+v, %v", st, err)
	}
	m := text("")
	m.Raw = make([]byte, timeline.MaxContent+1)
	if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Messages: []timeline.Message{m},
		Now: time.Now()}); !errors.Is(err, timeline.ErrInvalid) {
		t.Error(err)
	}
	verify(t, s)
}

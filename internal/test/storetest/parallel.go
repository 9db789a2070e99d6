package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/timeline"
)

const (
	writers = 16
	readers = 16
	shared  = 4  // conversations that all write to
	turns   = 12 // of a writer, in its own and in a shared conversation each
)

// acknowledged is a message that Apply has reported as written.
type acknowledged struct {
	revision int64
	order    int // within the change
	raw      string
}

// testParallel lets many goroutines write and read at once. Everything
// acknowledged must be there afterwards, in order, byte for byte. SPEC A7, D1
func testParallel(t *testing.T, open func(t *testing.T) timeline.Store) {
	s := open(t)
	defer s.Close()
	f := &fixture{T: t, Store: s}
	// All begin alike, so that they also race for the trunks.
	begin := f.say("begin", timeline.Place{}, numbered("begin", 3)...)
	var mu sync.Mutex // protects acks
	acks := map[string][]acknowledged{}
	say := func(name string, texts ...string) error {
		for {
			now, err := s.Conversation(ctx, timeline.Local, name)
			if errors.Is(err, timeline.ErrNoConversation) {
				now.Head, err = begin.Head, nil
			}
			if err != nil {
				return err
			}
			a, err := s.Apply(ctx, timeline.Local, timeline.Change{
				Conversation: name, Expect: &now.Revision, At: now.Head, Messages: saidAll(texts...), Now: noon,
				Put: []timeline.Record{{Kind: "latest", Key: name, At: timeline.AtHead(), Data: []byte(texts[0])}},
			})
			if errors.Is(err, timeline.ErrChanged) {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for i, text := range texts {
				acks[name] = append(acks[name], acknowledged{a.Revision, i, string(said(text).Raw)})
			}
			return nil
		}
	}
	var writing, reading sync.WaitGroup
	// Every write lets a reader read. Readers that never waited would leave the writers
	// little of the processors.
	stop, wrote := make(chan struct{}), make(chan struct{}, readers)
	for w := range writers {
		writing.Go(func() {
			for turn := range turns {
				own, all := fmt.Sprintf("own %d", w), fmt.Sprintf("shared %d", (w+turn)%shared)
				text := fmt.Sprintf("writer %d turn %d", w, turn)
				if err := errors.Join(say(own, text, text+" more"), say(all, text+" to all")); err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	for range readers {
		reading.Go(func() {
			depths := map[string]int64{}
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-wrote:
				}
				name := fmt.Sprintf("shared %d", i%shared)
				if i%2 == 1 {
					name = fmt.Sprintf("own %d", i/2%writers)
				}
				if err := readWhole(s, name, depths); err != nil {
					t.Errorf("read %s: %v", name, err)
					return
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	for name, said := range acks {
		slices.SortFunc(said, func(a, b acknowledged) int {
			return cmp.Or(cmp.Compare(a.revision, b.revision), cmp.Compare(a.order, b.order))
		})
		want := f.raws(begin.Head)
		for _, a := range said {
			want = append(want, a.raw)
		}
		f.equal(name, f.raws(f.conversation(name).Head), want)
		latest := f.records(name, "latest", name)
		if len(latest) != 1 || latest[0].At != f.conversation(name).Head {
			t.Errorf("%s: the record of the latest turn is %+v", name, latest)
		}
	}
	f.equal("conversations", len(acks), writers+shared)
	f.equal("messages", f.stats().Messages, int64(3+writers*turns*3))
	f.verify()
}

// readWhole reads a conversation that others write to: it must be complete at
// every moment, and never get shorter.
func readWhole(s timeline.Store, name string, depths map[string]int64) error {
	c, err := s.Conversation(ctx, timeline.Local, name)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Head.Depth < depths[name] {
		return fmt.Errorf("depth %d after %d", c.Head.Depth, depths[name])
	}
	depths[name] = c.Head.Depth
	all, err := entries(s, timeline.Local, c.Head, 1, math.MaxInt64, false)
	if err != nil {
		return err
	}
	if int64(len(all)) != c.Head.Depth {
		return fmt.Errorf("%d messages on the way to %v", len(all), c.Head)
	}
	for i, e := range all {
		if e.Place.Depth != int64(i)+1 || timeline.HashOf(e.Raw) != e.Content {
			return fmt.Errorf("message %d is %+v", i+1, e)
		}
	}
	last := all[len(all)-1]
	got, err := s.Content(ctx, timeline.Local, last.Content)
	if err != nil || !bytes.Equal(got, last.Raw) {
		return fmt.Errorf("content of the last: %q, %w", got, err)
	}
	return nil
}

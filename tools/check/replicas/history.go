package replicas

import (
	"bytes"
	"fmt"
	"math"
	"regexp"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// histories checks what is stored in the end.
func (t *trial) histories() error {
	many, err := postgres.Open(ctx, t.database.URL(), postgres.Options{ReadOnly: true}) // without its relay
	if err != nil {
		return err
	}
	defer many.Close()
	found, err := many.Conversations(ctx, timeline.Local)
	if err != nil {
		return err
	}
	if len(found) != t.conversations {
		t.problem("the database has %d conversations of %d clients", len(found), t.conversations)
	}
	if t.pairs {
		return nil // each pair leaves a branch
	}
	if t.faulty() {
		return t.acknowledged(many, found)
	}
	one, err := sqlite.Open(ctx, t.one.folder(), sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer one.Close()
	for number, names := range t.names {
		a, err := messages(one, names[0])
		if err != nil {
			return err
		}
		b, err := messages(many, names[1])
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			t.problem("conversation %d: the history differs: %d bytes and %d", number, len(a), len(b))
		}
		calls := [2]int{}
		for i, s := range []timeline.Store{one, many} {
			records, err := s.Records(ctx, timeline.Local, names[i], "call", "")
			if err != nil {
				return err
			}
			calls[i] = len(records)
		}
		if calls[0] != t.calls || calls[1] != t.calls {
			t.problem("conversation %d: %d and %d calls are stored", number, calls[0], calls[1])
		}
	}
	return nil
}

// messages returns the messages of a conversation as oriel export writes them.
func messages(s timeline.Store, name string) ([]byte, error) {
	c, err := s.Conversation(ctx, timeline.Local, name)
	if err != nil {
		return nil, fmt.Errorf("conversation %q: %w", name, err)
	}
	var out []byte
	err = s.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
		out = append(append(out, e.Raw...), '\n')
		return nil
	})
	return out, err
}

// marked finds what mark returns, and the same of replies.
var marked = regexp.MustCompile(`\b(call|reply)-\d+-\d+\.`)

// acknowledged checks that every call that was answered is in the history, once, and on the
// way to the head of its conversation.
func (t *trial) acknowledged(s timeline.Store, found []timeline.Conversation) error {
	all, way := map[string]int{}, map[string]int{}
	count := func(marks map[string]int, raw []byte) {
		for _, mark := range marked.FindAll(raw, -1) {
			marks[string(mark)]++
		}
	}
	for i := range found {
		heads, err := s.Heads(ctx, timeline.Local, found[i].Name)
		if err != nil {
			return err
		}
		seen := map[timeline.Place]bool{}
		for _, head := range heads {
			err := s.Messages(ctx, timeline.Local, head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
				if !seen[e.Place] {
					seen[e.Place] = true
					count(all, e.Raw)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		text, err := messages(s, found[i].Name)
		if err != nil {
			return err
		}
		count(way, text)
	}
	once, on := 0, 0
	for number := range t.conversations {
		for turn := 1; turn <= t.calls; turn++ {
			for _, mark := range []string{mark(number, turn), fmt.Sprintf("reply-%d-%d.", number, turn)} {
				n := all[mark]
				if n == 1 {
					once++
				} else {
					t.problem("%s is in the history %d times", mark, n)
				}
				if way[mark] > 0 {
					on++
				} else if n > 0 {
					t.problem("%s is on a branch beside the head of its conversation", mark)
				}
			}
		}
	}
	fmt.Printf("of %d messages %d are in the history once, %d on the way to the head\n", 2*t.conversations*t.calls,
		once, on)
	return nil
}

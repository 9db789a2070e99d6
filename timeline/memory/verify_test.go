package memory

import (
	"context"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Verify is what tests of all stores rely on: it finds every kind of damage.
func TestVerifyFindsDamage(t *testing.T) {
	ctx := context.Background()
	said := func(n byte, raw string) timeline.Message {
		return timeline.Message{Identity: timeline.Hash{n}, Raw: []byte(raw), Format: "item"}
	}
	var head timeline.Place
	fresh := func() (*Store, *tenant) {
		s := New()
		apply := func(c timeline.Change) timeline.Applied {
			c.Now = time.Unix(1, 0)
			a, err := s.Apply(ctx, timeline.Local, c)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a := apply(timeline.Change{Conversation: "a", Messages: []timeline.Message{said(1, "1"), said(2, "2"),
			said(3, "3")}})
		apply(timeline.Change{Conversation: "a", Messages: []timeline.Message{said(1, "1 ")}})
		b := apply(timeline.Change{Conversation: "b", At: a.Places[0], Messages: []timeline.Message{said(4, "4")},
			Put: []timeline.Record{{Kind: "k", Key: "1", At: timeline.AtHead(),
				Contents: []timeline.Hash{timeline.HashOf([]byte("2"))}}}})
		head = b.Head
		return s, s.tenants[timeline.Local]
	}
	problems := func(s *Store) (n int) {
		if err := s.Verify(ctx, func(timeline.Problem) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if s, _ := fresh(); problems(s) != 0 {
		t.Fatal("problems where there are none")
	}
	for name, damage := range map[string]func(t *tenant){
		"bytes":           func(t *tenant) { t.contents[timeline.HashOf([]byte("2"))].data[0] = 'X' },
		"content missing": func(t *tenant) { delete(t.contents, timeline.HashOf([]byte("1 "))) },
		"references":      func(t *tenant) { t.contents[timeline.HashOf([]byte("2"))].refs++ },
		"identity":        func(t *tenant) { t.at(timeline.Place{Trunk: 1, Depth: 2}).identity = timeline.Hash{9} },
		"role":            func(t *tenant) { t.at(timeline.Place{Trunk: 1, Depth: 2}).role = "system" },
		"time":            func(t *tenant) { t.at(head).time = time.Unix(2, 0) },
		"chain":           func(t *tenant) { t.at(head).chain[0]++ },
		"order":           func(t *tenant) { m := t.trunks[1].messages; m[1], m[2] = m[2], m[1] },
		"message removed": func(t *tenant) { t.trunks[1].messages = t.trunks[1].messages[:2] },
		"variant twice": func(t *tenant) {
			m := t.at(timeline.Place{Trunk: 1, Depth: 1})
			m.variants = append(m.variants, m.content)
		},
		"trunk without place":   func(t *tenant) { t.trunks[2].origin = timeline.Place{Trunk: 1, Depth: 9} },
		"trunk without message": func(t *tenant) { t.trunks[2].messages = nil },
		"trunk not found":       func(t *tenant) { clear(t.begins) },
		"trunk not used":        func(t *tenant) { clear(t.trunks[1].users) },
		"way not held":          func(t *tenant) { delete(t.conversations["b"].used, 1) },
		"head elsewhere":        func(t *tenant) { t.conversations["a"].Head = head },
		"place not there":       func(t *tenant) { t.conversations["a"].used[7] = 7 },
		"revision":              func(t *tenant) { t.conversations["a"].Revision = 0 },
		"user gone":             func(t *tenant) { delete(t.conversations, "a") },
		"record elsewhere":      func(t *tenant) { t.conversations["b"].records["k"]["1"].At.Depth = 7 },
		"count":                 func(t *tenant) { t.variants++ },
		"derived": func(
			t *tenant) {
			t.contents[timeline.HashOf([]byte("2"))].derived = map[string]derived{"k": {}}
		},
	} {
		s, tenant := fresh()
		if damage(tenant); problems(s) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}

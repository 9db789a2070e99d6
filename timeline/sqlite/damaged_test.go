package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// everything reads and writes all that there is of a conversation.
func everything(s timeline.Store) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs []error
	c, err := s.Conversation(ctx, timeline.Local, "c")
	errs = append(errs, err)
	for _, hashes := range []bool{true, false} {
		errs = append(errs, s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, hashes,
			func(*timeline.Entry) error { return nil }))
	}
	_, err = s.Heads(ctx, timeline.Local, "c")
	errs = append(errs, err)
	_, _, err = s.Under(ctx, timeline.Local, timeline.Place{Trunk: 1, Depth: 1}, timeline.HashOf([]byte("two")))
	errs = append(errs, err)
	_, err = s.Records(ctx, timeline.Local, "c", "k", "")
	errs = append(errs, err)
	form := text("two")
	form.Raw = []byte("another form of two")
	_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "d",
		Messages: []timeline.Message{text("one"), form, text("new")}, Now: time.Now(),
		Put: []timeline.Record{{Kind: "k", Key: "k", At: timeline.AtHead()}}})
	errs = append(errs, err)
	_, err = s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: c.Head, Messages: texts("further"),
		Now: time.Now(),
		Put: []timeline.Record{{Kind: "k", Key: "k", At: timeline.Place{Trunk: 1, Depth: 1}}}})
	errs = append(errs, err)
	log := timeline.NewLog(s, timeline.LogOptions{})
	_, err = log.Append(ctx, timeline.Local, "c", []timeline.Resent{{Raw: []byte("one"), Format: "item"},
		{Raw: []byte("elsewhere"), Format: "item"}},
		func(i int) timeline.Hash { return timeline.HashOf([]byte{byte(i)}) }, timeline.Change{Now: time.Now()})
	errs = append(errs, err)
	errs = append(errs, s.Verify(ctx, func(timeline.Problem) {}))
	_, err = s.Delete(ctx, timeline.Local, "c", nil)
	return errors.Join(append(errs, err)...)
}

// No row, whatever is in it, may end the program or keep it for ever.
func TestDamagedRowsAreErrors(t *testing.T) {
	for _, c := range []struct{ name, sql string }{
		{"a short identity", "UPDATE message SET says = x'00'"},
		{"a long identity", "UPDATE message SET says = zeroblob(17)"},
		{"a short chain", "UPDATE message SET hash = x'00'"},
		{"a short content hash", "UPDATE content SET hash = CAST(id AS BLOB)"},
		{"a short content hash of a form", "UPDATE content SET hash = x'00' WHERE id IN (SELECT content FROM variant)"},
		{"a trunk that begins in itself", "UPDATE trunk SET origin = id"},
		{"a trunk that begins in itself, at a depth", "UPDATE trunk SET origin = id, origin_depth = 1"},
		{"trunks that begin in each other", "UPDATE trunk SET origin = 3 - id, origin_depth = 1"},
		{"a trunk that begins below its end", "UPDATE trunk SET origin_depth = 99 WHERE origin <> 0"},
		{"a trunk that begins nowhere", "UPDATE trunk SET origin = -5 WHERE origin <> 0"},
		{"a trunk that is gone", "DELETE FROM trunk WHERE id = 1"},
		{"a head of great depth", "UPDATE conversation SET depth = 1 << 60"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			first := add(t, s, "c", "one", "two", "three").Places[0]
			form := text("two")
			form.Raw = []byte(" two ")
			if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: first,
				Messages: []timeline.Message{form, text("edited"), text("more")}, Now: time.Now(),
				Put: []timeline.Record{{Kind: "k", Key: "k", At: first,
					Contents: []timeline.Hash{timeline.HashOf([]byte("three"))}}}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			alter(t, filepath.Join(dir, "oriel.db"), "PRAGMA foreign_keys=0", c.sql)
			s = open(t, dir)
			if len(problems(t, s)) == 0 {
				t.Error("verify finds nothing")
			}
			err := everything(s)
			if !errors.Is(err, timeline.ErrDamaged) && !errors.Is(err, timeline.ErrNoPlace) {
				t.Errorf("error %v", err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it takes for ever: %v", err)
			}
		})
	}
}

// The level of durability is the one that was asked for.
func TestSyncIsSQLitesLevel(t *testing.T) {
	for level, want := range map[sqlite.Sync]int64{sqlite.Normal: 1, sqlite.Full: 2} {
		s, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{Sync: level})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Pragma("synchronous"); got != want {
			t.Errorf("level %d is synchronous=%d, want %d", level, got, want)
		}
		if got := s.Pragma("secure_delete"); got != 1 {
			t.Errorf("secure_delete=%d", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

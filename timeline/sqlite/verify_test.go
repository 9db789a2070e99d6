package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{"a text", "UPDATE content SET data = CAST('X' || substr(data, 2) AS BLOB) WHERE codec = 0", "has other bytes"},
		{"a compressed text", "UPDATE content SET data = substr(data, 1, 40) WHERE codec = 1", "is not what was stored"},
		{"a codec", "UPDATE content SET codec = 9 WHERE id = 2", "codec 9"},
		{"a size, to make a bomb", "UPDATE content SET size = size + 1000000000000 WHERE id = 2", "is not what was stored"},
		{"a count", "UPDATE content SET refs = refs + 1 WHERE id = 1", "counts 2 references and has 1"},
		{"who speaks", "UPDATE message SET role = 'assistant' WHERE depth = 2", "the chain is broken"},
		{"which content", "UPDATE message SET content = 1 WHERE depth = 2", "the chain is broken"},
		{"an identity", "UPDATE trunk SET says = zeroblob(16) WHERE id = 1", "not found by its first message"},
		{"a message removed", "DELETE FROM message WHERE depth = 2", "missing"},
		{"the last removed", "DELETE FROM message WHERE depth = 4", "not there"},
		{"a content removed", "DELETE FROM content WHERE id = 3", "its content is missing"},
		{"a head", "UPDATE conversation SET depth = 9", "the head is not among"},
		{"an origin", "UPDATE trunk SET origin = 7, origin_depth = 3 WHERE id = 2", "begins where nothing is"},
		{"the use of a trunk", "DELETE FROM conversation_trunk WHERE trunk = 1", "the way to"},
		{"a record's place", "UPDATE record SET trunk = 1, depth = 77", "has not used"},
		{"a record's content", "UPDATE record_content SET content = 99", "is missing"},
		{"a tenant", "UPDATE content SET tenant = 2 WHERE id = 1", "another tenant"},
		{"a form", "UPDATE variant SET n = 2", "form 1 is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			first := add(t, s, "c", "one", prose(1, 3000), "three", "four").Places[0]
			form := text("one")
			form.Raw = []byte(" one ")
			if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Messages: []timeline.Message{form, text("edited")}, Now: time.Now(),
				Put: []timeline.Record{{Kind: "k", Key: "k", At: first, Contents: []timeline.Hash{timeline.HashOf([]byte("four"))}}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(ctx, "another", timeline.Change{Conversation: "c", Messages: texts("elsewhere"), Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
			verify(t, s)
			alter(t, filepath.Join(dir, "oriel.db"), "PRAGMA foreign_keys=0", c.sql)
			var all []string
			for _, p := range problems(t, s) {
				all = append(all, p.What)
			}
			if !strings.Contains(strings.Join(all, "\n"), c.want) {
				t.Errorf("%q is not among what was found: %q", c.want, all)
			}
		})
	}
}

func TestVerifySaysWhereThePageIsBroken(t *testing.T) {
	path := sample(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096 * 20; at+4096 <= len(raw); at += 4096 {
		copy(raw[at:], strings.Repeat("garbage!", 512))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(ctx, filepath.Dir(path), sqlite.Options{})
	if err == nil {
		defer s.Close()
		found := 0
		if err = s.Verify(ctx, func(timeline.Problem) { found++ }); err == nil && found > 0 {
			return
		}
	}
	if !errors.Is(err, timeline.ErrDamaged) {
		t.Errorf("error %v", err)
	}
}

func TestVerifyAndBackupWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	stop := make(chan bool)
	var group sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		add(t, s, name, name)
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					add(t, s, name, prose(i, 700))
				}
			}
		})
	}
	for i := range 3 {
		verify(t, s)
		folder := t.TempDir()
		path := filepath.Join(folder, "oriel.db")
		if err := s.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(ctx, path); err == nil || !strings.Contains(err.Error(), "never overwritten") {
			t.Errorf("a backup was overwritten: %v", err)
		}
		copied := open(t, folder)
		verify(t, copied)
		if i == 2 {
			add(t, copied, "a", "it goes on")
		}
	}
	close(stop)
	group.Wait()
}

func TestBackupSaysWhyItFailed(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Backup(ctx, filepath.Join(t.TempDir(), "no", "such", "folder.db")); err == nil {
		t.Error("no error")
	}
}

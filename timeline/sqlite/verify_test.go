package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, c := range []struct{ name, sql, want string }{
		{"a text", "UPDATE content SET data = CAST('X' || substr(data, 2) AS BLOB) WHERE codec = 0", "has other bytes"},
		{"a compressed text", "UPDATE content SET data = substr(data, 1, 40) WHERE codec = 1",
			"is not what was stored"},
		{"a codec", "UPDATE content SET codec = 9 WHERE id = 2", "codec 9"},
		{"a size, to make a bomb", "UPDATE content SET size = size + 1000000000000 WHERE id = 2",
			"is not what was stored"},
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
		{"a head, to a place that was used", "UPDATE conversation SET trunk = 1, depth = 2 WHERE tenant = 1",
			"are not what was stored"},
		{"a head, to before its trunk", "UPDATE conversation SET trunk = 2, depth = 1 WHERE tenant = 1",
			"the head is not among"},
		{"a head, to the beginning", "UPDATE conversation SET trunk = 0, depth = 0 WHERE tenant = 1",
			"are not what was stored"},
		{"a name", "UPDATE conversation SET name = 'd' WHERE tenant = 1", "are not what was stored"},
		{"a project", "UPDATE conversation SET project = 'p'", "are not what was stored"},
		{"what it continues", "UPDATE conversation SET continues = 'p'", "are not what was stored"},
		{"when it began", "UPDATE conversation SET created = 1", "are not what was stored"},
		{"when it was changed", "UPDATE conversation SET updated = 1", "are not what was stored"},
		{"the name of a tenant", "UPDATE tenant SET name = 'x' WHERE id = 1", "are not what was stored"},
		{"a record's bytes", "UPDATE record SET data = x'61'", `record k "k" is not what was stored`},
		{"a record's time", "UPDATE record SET time = 1", `record k "k" is not what was stored`},
		{"a record's key", "UPDATE record SET key = 'l'", `record k "l" is not what was stored`},
		{"a record's place, to one that was used", "UPDATE record SET trunk = 1, depth = 2",
			`record k "k" is not what was stored`},
		{"a record's contents", "DELETE FROM record_content; UPDATE content SET refs = 1 WHERE id = 4",
			`record k "k" is not what was stored`},
		{"a form's content", "UPDATE variant SET content = 3; UPDATE content SET refs = refs + 1 WHERE id = 3",
			"form 1 is not what was stored"},
		{"derived data", "UPDATE derived SET data = x'00'", "vector/x of content"},
		{"the kind of derived data", "UPDATE derived SET kind = 'vector/y'", "vector/y of content"},
		{"the content of derived data", "UPDATE derived SET content = 3", "vector/x of content"},
		{"what derived data is of", "UPDATE derived SET content = 99",
			"a row of derived refers to one of content that is not there"},
		{"an extract", "UPDATE extract SET data = x'00'", "words/1 of the messages up to 3 is not what was stored"},
		{"the kind of an extract", "UPDATE extract SET kind = 'words/2'",
			"words/2 of the messages up to 3 is not what was stored"},
		{"the messages of an extract", "UPDATE extract SET last = 9",
			"words/1 of the messages up to 9 is not what was stored"},
		{"what an extract is of", "UPDATE extract SET trunk = 99",
			"a row of extract refers to one of trunk that is not there"},
		{"the epoch", "DELETE FROM setting", "it has no epoch"},
		{"an index", "DROP INDEX conversation_trunk_by_trunk", "the index conversation_trunk_by_trunk is missing"},
		{"a table more", "CREATE TABLE extra (x)", "the table extra does not belong to it"},
		{"a column more", "ALTER TABLE setting ADD COLUMN x INTEGER", "the table setting is not as it was made"},
		{"a trigger", "CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM content; END",
			"the trigger t does not belong"},
		{"a short identity", "UPDATE message SET says = x'00' WHERE depth = 2", "the chain is broken"},
		{"a short hash", "UPDATE content SET hash = x'00' WHERE id = 2", "has other bytes"},
		{"a form", "UPDATE variant SET n = 2", "form 1 is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			first := add(t, s, "c", "one", prose(1, 3000), "three", "four").Places[0]
			form := text("one")
			form.Raw = []byte(" one ")
			if _, err := s.Apply(ctx, timeline.Local,
				timeline.Change{Conversation: "c", Messages: []timeline.Message{form, text("edited")}, Now: time.Now(),
					Put: []timeline.Record{{Kind: "k", Key: "k", At: first,
						Contents: []timeline.Hash{timeline.HashOf([]byte("four"))}}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(ctx, "another", timeline.Change{Conversation: "c", Messages: texts("elsewhere"),
				Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if err := s.KeepDerived(ctx, timeline.Local, "vector/x",
				[]timeline.Derived{{Content: timeline.HashOf([]byte("one")), Data: []byte("1")}}); err != nil {
				t.Fatal(err)
			}
			keepExtract(t, s, "words/1", "of two", 2, 3)
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

// What can still be read is looked at, and all that is found is told.
func TestVerifyTellsAllThatItFindsInABrokenFile(t *testing.T) {
	path := sample(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages := len(raw) / 4096
	broken := 0
	for page := pages / 3; page < pages; page++ {
		if bytes.Contains(raw[page*4096:][:4096], []byte("CREATE TABLE")) {
			continue // without its schema it is not opened
		}
		if kind := raw[page*4096]; kind == 13 || kind == 10 { // leaves of a table and of an index
			copy(raw[page*4096:], strings.Repeat("garbage!", 512))
			broken++
		}
	}
	if broken < 3 {
		t.Fatalf("%d pages were broken: the test finds nothing", broken)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(ctx, filepath.Dir(path), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found := problems(t, s); len(found) < 2 {
		t.Errorf("found %v", found)
	}
	c, err := s.Conversation(ctx, timeline.Local, "c")
	if err == nil {
		err = s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false,
			func(*timeline.Entry) error { return nil })
	}
	var told *sqlite.Error
	if !errors.Is(err, timeline.ErrDamaged) || !errors.As(err, &told) || told.Hint == "" {
		t.Errorf("error %v", err)
	}
}

func TestVerifyAndBackupWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	stop := make(chan bool)
	var group sync.WaitGroup
	add(t, s, "c", "c")
	if err := s.KeepDerived(ctx, timeline.Local, "vector/x",
		[]timeline.Derived{{Content: timeline.HashOf([]byte("c")), Data: []byte("of it")}}); err != nil {
		t.Fatal(err)
	}
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
		if st, err := copied.Stats(ctx, timeline.Local); err != nil || st.Derived != 1 || st.DerivedBytes != 5 {
			t.Errorf("the copy: %+v, %v", st, err)
		}
		if i == 2 {
			add(t, copied, "a", "it goes on")
		}
	}
	close(stop)
	group.Wait()
}

// Names are those of files, whatever SQLite would take them for.
func TestBackupTakesItsNameLiterally(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, "c", "hello")
	dir := t.TempDir()
	t.Chdir(dir)
	names := []string{"plain.db", "file:foo.db", "file:bar.db?mode=memory", "a?b=c#d%20e.db", ":memory:",
		"file::memory:"}
	if runtime.GOOS == "windows" {
		names = []string{"plain.db", "a#d%20e.db"}
	}
	for i, name := range names {
		if err := s.Backup(ctx, name); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Size() == 0 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(".")
		if err != nil || len(files) != i+1 {
			t.Errorf("after %s there are %v, %v", name, files, err)
		}
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "oriel.db"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		copied := open(t, folder)
		verify(t, copied)
		if got := history(t, copied, "c"); got != "hello" {
			t.Errorf("%s: %q", name, got)
		}
		if err := s.Backup(ctx, name); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s was overwritten: %v", name, err)
		}
	}
	if err := os.WriteFile("empty", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(ctx, "empty"); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if info, err := os.Stat("empty"); err != nil || info.Size() != 0 {
		t.Errorf("a file that was there was touched: %v, %v", info, err)
	}
}

func TestBackupSaysWhyItFailed(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Backup(ctx, filepath.Join(t.TempDir(), "no", "such", "folder.db")); err == nil {
		t.Error("no error")
	}
}

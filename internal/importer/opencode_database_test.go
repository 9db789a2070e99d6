//go:build !fuzz

package importer_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/oriel-context/oriel/internal/importer"
)

const openCodeID = "ses_e1a53f4fcffemN07vf7OF1ajQO"

// database makes a SQLite file of statements. With a log, everything is in the log that
// opencode leaves behind, which is not moved into the file when it ends.
func (h *history) database(name string, withLog bool, statements ...string) string {
	h.t.Helper()
	path := h.file("made/"+name, "")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if withLog {
		statements = append([]string{"PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0"}, statements...)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			h.t.Fatal(err)
		}
	}
	if _, err := os.Stat(path + "-wal"); withLog != (err == nil) {
		h.t.Fatal("with a log: ", err)
	}
	copied := filepath.Join(h.dir, name)
	for _, end := range []string{"", "-wal"} {
		if text, err := os.ReadFile(path + end); err == nil {
			h.file(name+end, string(text))
		}
	}
	return copied
}

func openCodeSQL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/opencode.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// opencode's database is read with its log, and neither it nor its folder is changed. What
// opencode export prints of it is the same conversation.
func TestTheDatabaseOfOpenCodeIsImported(t *testing.T) {
	for _, withLog := range []bool{false, true} {
		h := newHistory(t)
		t.Setenv("TMPDIR", t.TempDir())
		path := h.database("data/opencode.db", withLog, openCodeSQL(t))
		before := contents(t, filepath.Dir(path))
		r := h.importing(importer.Options{}, path)
		h.same(1, len(r.Conversations))
		h.same("/home/ann/harbour", r.Conversations[0].Project)
		h.sayEverything(openCodeID, nil)
		h.pairs(openCodeID, 3, 1)
		h.about(openCodeID, "Tides", "scripted")
		h.same(0, h.importing(importer.Options{}, filepath.Dir(path)).New)
		h.same(0, h.importing(importer.Options{}, "testdata/opencode.json").New)
		h.same(before, contents(t, filepath.Dir(path)))
		if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// contents returns the files of a folder by their names.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// A database that has grown adds what is new, and one with rows that cannot be read all
// others.
func TestADatabaseOfOpenCodeIsReadAsFarAsItGoes(t *testing.T) {
	h := newHistory(t)
	h.importing(importer.Options{}, h.database("opencode.db", false, openCodeSQL(t)))
	insert := func(id, message string) string {
		return `INSERT INTO message VALUES ('` + id + `', '` + openCodeID + `', 1794860000000, 1794860000000, '` +
			message + `')`
	}
	part := `INSERT INTO part VALUES ('prt_new', 'msg_new', '` + openCodeID +
		`', 1, 1, '{"type":"text","text":"And low water?"}')`
	path := h.database("grown.db", true, openCodeSQL(t), insert("msg_bad", `{"role":`), insert("msg_list", `[]`),
		insert("msg_new", `{ }`), part,
		insert("msg_user", `{"role":"user","time":{"created":1794860000000}}`),
		strings.ReplaceAll(part, "_new", "_user"),
		strings.Replace(strings.ReplaceAll(part, "_new", "_user"), "prt_user", "prt_worse", 1),
		`UPDATE part SET data = '{' WHERE id = 'prt_worse'`)
	r := h.importing(importer.Options{}, path)
	h.same([]int{3, 2}, []int{r.Broken, r.New})
	said := h.words(openCodeID)
	h.same("user 2026-11-16T20:13:20 And low water?", said[len(said)-1])
}

// Messages and parts without data are reported as that.
func TestRowsWithoutDataAreReportedAsThat(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.database("opencode.db", false,
		strings.ReplaceAll(openCodeSQL(t), "`data` text NOT NULL", "`data` text"),
		`INSERT INTO message VALUES ('msg_null', '`+openCodeID+`', 1, 1, NULL), ('msg_empty', '`+openCodeID+
			`', 1, 1, x''), ('msg_new', '`+openCodeID+`', 1, 1, '{"role":"user"}')`,
		`INSERT INTO part VALUES ('prt_null', 'msg_new', '`+openCodeID+`', 1, 1, NULL)`))
	var all []string
	for _, p := range r.Problems {
		all = append(all, p.What)
	}
	h.same([]string{`"msg_empty": no data`, `"prt_null": no data`, `"msg_null": no data`}, all)
}

// A file that is not opencode's database is refused before anything is read from it, and a
// damaged one is reported.
func TestOtherDatabasesAreRefused(t *testing.T) {
	h := newHistory(t)
	refused := func(path, what string) {
		t.Helper()
		for _, f := range []importer.Format{importer.Auto, importer.OpenCode} {
			_, err := importer.Check(t.Context(), []string{path}, importer.Options{Format: f})
			if !errors.Is(err, importer.ErrInput) || f == importer.OpenCode && !strings.Contains(err.Error(), what) {
				t.Errorf("%s as %q: %v", path, f, err)
			}
		}
	}
	refused(h.database("other.db", false, "CREATE TABLE session (id)"), "without opencode's tables")
	refused(h.database("log.db", true, "CREATE TABLE session (id)"), "without opencode's tables")
	// A view would compute what the one who made the file likes.
	refused(h.database("view.db", false,
		"CREATE TABLE part (id, message_id, data); CREATE TABLE message (id, session_id, time_created, data); CREATE VIEW session AS SELECT 'ses_1' AS id, '' AS directory, '' AS title, 0 AS time_created"), "without opencode's tables")
	refused(h.file("cut.db", "SQLite format 3\x00"+strings.Repeat("\x00", 84)), "")
	whole, err := os.ReadFile(h.database("whole.db", false, openCodeSQL(t)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i < len(whole); i++ {
		whole[i] = 0xff
	}
	r := h.importing(importer.Options{}, h.file("damaged.db", string(whole)))
	if r.Broken == 0 || !strings.Contains(r.Problems[0].What, "cannot read the database further") {
		t.Errorf("%+v", r)
	}
	// Columns that a later version leaves out.
	r = h.importing(importer.Options{},
		h.database("columns.db", false, "CREATE TABLE session (id); CREATE TABLE part (id); CREATE TABLE message (id)"))
	if r.Broken != 1 || !strings.Contains(r.Problems[0].What, "no such column") {
		t.Errorf("%+v", r)
	}
	if all := h.names(); len(all) > 0 && all[0] != openCodeID {
		t.Error(all)
	}
}

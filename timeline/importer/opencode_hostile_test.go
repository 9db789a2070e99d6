//go:build !fuzz

package importer_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/timeline/importer"
)

// Nothing is read from a database that computes what opencode stores: a few pages could
// compute rows and texts without end.
func TestDatabasesThatComputeAreRefused(t *testing.T) {
	const (
		rest    = `CREATE TABLE message (id TEXT PRIMARY KEY, session_id, time_created, data); CREATE TABLE part (id TEXT PRIMARY KEY, message_id, data);`
		endless = `AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'ses_' || i AS id, '' AS directory, printf('%.*c', 100000, 'x') AS title, 0 AS time_created FROM n;`
		edit    = `PRAGMA writable_schema = ON; `
	)
	for name, statements := range map[string][]string{
		"a generated column":          {rest + `CREATE TABLE session (id TEXT PRIMARY KEY, directory, time_created, title AS (printf('%.*c', 10000000, 'x'))); INSERT INTO session VALUES ('ses_1', '', 0)`},
		"a stored column":             {rest + `CREATE TABLE session (id TEXT PRIMARY KEY, directory, time_created, title AS (hex(zeroblob(100000))) STORED); INSERT INTO session VALUES ('ses_1', '', 0)`},
		"a view":                      {rest + `CREATE VIEW session ` + endless},
		"a view that is called table": {rest + `CREATE VIEW session ` + endless, edit + `UPDATE sqlite_schema SET type = 'table' WHERE name = 'session'`},
		"a virtual table":             {rest + `CREATE VIRTUAL TABLE session USING fts5(id, directory, time_created, title)`},
		"a virtual table in disguise": {rest + `CREATE VIRTUAL TABLE session USING fts5(id, directory, time_created, title)`, edit + `UPDATE sqlite_schema SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE /**/ VIRTUAL') WHERE name = 'session'`},
		"a view in the log":           {openCodeSQL(t), `PRAGMA wal_checkpoint(TRUNCATE)`, `DROP TABLE session`, `CREATE VIEW session ` + endless},
	} {
		for _, withLog := range []bool{false, true} {
			h := newHistory(t)
			path := h.database("opencode.db", withLog, statements...)
			r, err := importer.Import(t.Context(), h.store, []string{path}, importer.Options{})
			if len(r.Conversations) > 0 || !errors.Is(err, importer.ErrInput) && r.Broken == 0 {
				t.Errorf("%s, with a log %v: %d conversations, %v", name, withLog, len(r.Conversations), err)
			}
		}
	}
}

// Columns that are too long are not read, and do not keep others from being read.
func TestLongColumnsOfADatabaseAreReported(t *testing.T) {
	importer.SetMaxLine(t, 1<<15)
	h := newHistory(t)
	long := fmt.Sprintf(`printf('%%.*c', %d, 'x')`, 1<<20)
	message := `INSERT INTO message VALUES (%s, '` + openCodeID + `', 1794860000000, 0, %s)`
	session := `INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) SELECT `
	r := h.importing(importer.Options{}, h.database("opencode.db", false, openCodeSQL(t),
		`CREATE TABLE long AS SELECT `+long+` AS text`,
		session+`text, 'global', '', text, text, '', 1, 1 FROM long`,
		session+`'ses_2', 'global', '', text, text, '', 1, 1 FROM long`,
		fmt.Sprintf(message, "'msg_long'", `(SELECT text FROM long)`),
		fmt.Sprintf(message, `(SELECT text FROM long)`, `'{"role":"user"}'`),
		`INSERT INTO message VALUES ('msg_2', 'ses_2', 1, 1, '{"role":"user"}')`,
		fmt.Sprintf(message, `NULL`, `'{"role":"user"}'`),
		fmt.Sprintf(message, `'msg_new'`, `'{"role":"user","time":{"created":1794860000000}}'`),
		`INSERT INTO part SELECT text, 'msg_new', '', 0, 0, '{"type":"text","text":"And low water?"}' FROM long`,
		`INSERT INTO part SELECT 'prt_long', 'msg_new', '', 0, 0, text FROM long`))
	h.same([]string{"ses_2", openCodeID}, h.names())
	said := h.words(openCodeID)
	h.same("user 2026-11-16T20:13:20 And low water?", said[len(said)-1])
	if r.Broken != 5 {
		t.Errorf("%d: %q", r.Broken, r.Problems)
	}
}

// A foreign database is not copied to find out what it is, however long its log.
func TestForeignDatabasesAreNotCopied(t *testing.T) {
	h := newHistory(t)
	path := h.database("other.db", true, "CREATE TABLE notes (id TEXT PRIMARY KEY)", "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO notes VALUES ('one')")
	t.Setenv("TMPDIR", h.dir+"/none") // where no copy can be made
	_, err := importer.Check(t.Context(), []string{path}, importer.Options{})
	if !errors.Is(err, importer.ErrInput) || !strings.Contains(err.Error(), "no known format") {
		t.Error(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Error("no log: ", err)
	}
}

//go:build !fuzz

package importer_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
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
		"a generated column": {rest +
			`CREATE TABLE session (id TEXT PRIMARY KEY, directory, time_created, title AS (printf('%.*c', 10000000, 'x'))); INSERT INTO session VALUES ('ses_1', '', 0)`},
		"a stored column": {rest +
			`CREATE TABLE session (id TEXT PRIMARY KEY, directory, time_created, title AS (hex(zeroblob(100000))) STORED); INSERT INTO session VALUES ('ses_1', '', 0)`},
		"a view": {rest + `CREATE VIEW session ` + endless},
		"a view that is called table": {rest + `CREATE VIEW session ` + endless,
			edit + `UPDATE sqlite_schema SET type = 'table' WHERE name = 'session'`},
		"a virtual table": {rest +
			`CREATE VIRTUAL TABLE session USING fts5(id, directory, time_created, title)`},
		"a virtual table in disguise": {rest +
			`CREATE VIRTUAL TABLE session USING fts5(id, directory, time_created, title)`,
			edit + `UPDATE sqlite_schema SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE /**/ VIRTUAL') WHERE name = 'session'`},
		"a view in the log": {openCodeSQL(t), `PRAGMA wal_checkpoint(TRUNCATE)`, `DROP TABLE session`,
			`CREATE VIEW session ` + endless},
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
	path := h.database("other.db", true, "CREATE TABLE notes (id TEXT PRIMARY KEY)", "PRAGMA wal_checkpoint(TRUNCATE)",
		"INSERT INTO notes VALUES ('one')")
	t.Setenv("TMPDIR", h.dir+"/none") // where no copy can be made
	_, err := importer.Check(t.Context(), []string{path}, importer.Options{})
	if !errors.Is(err, importer.ErrInput) || !strings.Contains(err.Error(), "no known format") {
		t.Error(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Error("no log: ", err)
	}
}

// A database whose pages are listed many times is not read: a few of them could be rows
// without end, which fill the disk when they are sorted. All other files are imported.
func TestDatabasesWithRepeatedPagesAreReported(t *testing.T) {
	for _, table := range []string{"session", "message", "part"} {
		t.Run(table, func(t *testing.T) {
			h := newHistory(t)
			path := h.database("opencode.db", false, "PRAGMA page_size = 512", openCodeSQL(t), manyRows[table])
			repeatPages(t, path, table)
			r := h.importing(importer.Options{}, path, h.file("c.jsonl", lines(3)))
			if r.Broken != 1 ||
				!strings.Contains(r.Problems[0].String(), "opencode.db: cannot read the database further: table "+table+
					" is damaged: Tree ") || strings.Contains(r.Problems[0].What, "\n") {
				t.Errorf("%d: %.300q", r.Broken, r.Problems)
			}
			h.same([]string{"c"}, h.names())
		})
	}
}

// The check of a database's pages does not compute what the database asks for.
func TestConstraintsOfADatabaseAreIgnored(t *testing.T) {
	h := newHistory(t)
	path := h.database("opencode.db", false, "PRAGMA ignore_check_constraints = ON",
		strings.Replace(openCodeSQL(t), "`slug` text NOT NULL",
			"`slug` text NOT NULL CHECK (slug = hex(zeroblob(100000)))", 1))
	r := h.importing(importer.Options{}, path)
	h.same([]int{1, 0}, []int{len(r.Conversations), r.Broken})
}

// manyRows are statements that give a table some pages.
var manyRows = map[string]string{
	"session": numbers +
		`INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) SELECT 'ses_' || i, 'global', '', '', '', '', 1, 1 FROM n`,
	"message": numbers + `INSERT INTO message SELECT 'msg_' || i, '` + openCodeID + `', 1, 1, '{"role":"user"}' FROM n`,
	"part": numbers + `INSERT INTO part SELECT 'prt_' || i, (SELECT min(id) FROM message), '` + openCodeID +
		`', 1, 1, '{"type":"text","text":"a"}' FROM n`,
}

const numbers = `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) `

// repeatPages makes all pages of a table the last one. The table must have a page that
// lists the others, and pages of 512 bytes.
func repeatPages(t *testing.T, path, table string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	root := 0
	if err := errors.Join(db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&root),
		db.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := file[(root-1)*512 : root*512]
	cells := binary.BigEndian.Uint16(page[3:])
	if page[0] != 5 || cells == 0 {
		t.Fatalf("page %d lists no pages", root)
	}
	for i := range cells {
		at := binary.BigEndian.Uint16(page[12+2*i:])
		copy(page[at:at+4], page[8:12])
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

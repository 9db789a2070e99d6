//go:build !fuzz

package importer

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/oriel-context/oriel/timeline"
)

// openCodeTables are the tables of opencode's database that are read. Others have
// credentials.
var openCodeTables = []string{"session", "message", "part"}

// databases are the databases that are read, by format.
var databases = []struct {
	format Format
	tables []string
	// column, as TABLE.COLUMN, tells tables of the same names apart; "" if there are no others.
	column string
}{
	{OpenCode, openCodeTables, ""},
	{Goose, []string{"sessions", "messages"}, "messages.content_json"},
	{Crush, []string{"sessions", "messages"}, "messages.parts"},
}

// sniffDatabase returns the format of a SQLite file, Auto if it is none that is known. It
// reads the log beside the file only if the file itself does not tell.
func (s *source) sniffDatabase(ctx context.Context) (Format, error) {
	format, empty, err := sniffTables(ctx, s.path)
	if !empty && err == nil || !hasLog(s.path) {
		return format, err
	}
	path, done, err := copyDatabase(ctx, s.path)
	if err != nil {
		return Auto, err
	}
	defer done()
	format, _, err = sniffTables(ctx, path)
	return format, err
}

// hasLog reports whether a part of the database is in a log beside it.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// sniffTables returns the format of a SQLite file by its tables, and whether it has nothing
// at all.
func sniffTables(ctx context.Context, path string) (format Format, empty bool, err error) {
	db, err := openDatabase(ctx, path, 1)
	if err != nil {
		return Auto, false, err
	}
	defer db.Close()
	err = db.conns[0].QueryRowContext(ctx, `SELECT count(*) = 0 FROM sqlite_schema`).Scan(&empty)
	for _, d := range databases {
		if err != nil {
			return Auto, false, err
		}
		var ok bool
		if ok, err = hasTables(ctx, db.conns[0], d.format); ok {
			return d.format, empty, nil
		}
	}
	return Auto, empty, err
}

// hasTables reports whether a database has the tables of a format, with nothing that is
// computed, because that could be of any length: neither views nor virtual tables nor
// generated columns. SQLite checks that the text of a schema agrees with its types and names.
func hasTables(ctx context.Context, c *sql.Conn, format Format) (bool, error) {
	for _, d := range databases {
		if d.format != format {
			continue
		}
		for _, table := range d.tables {
			n := 0
			err := c.QueryRowContext(ctx,
				`SELECT count(*) FROM sqlite_schema AS t WHERE type = 'table' AND sql LIKE 'CREATE TABLE %' AND name = ?
				AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE hidden <> 0)`, table).Scan(&n)
			if n == 0 || err != nil {
				return false, err
			}
		}
		table, column, ok := strings.Cut(d.column, ".")
		if !ok {
			return true, nil
		}
		n := 0
		err := c.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, table,
			column).Scan(&n)
		return n == 1, err
	}
	return false, nil
}

// checkTables returns an error if the pages of a table of a format are damaged. Pages that
// are listed many times could be rows without end, which fill the disk when they are sorted.
// SQLite evaluates no CHECK of a table that is opened only for reading.
func checkTables(ctx context.Context, c *sql.Conn, format Format) error {
	for _, d := range databases {
		if d.format != format {
			continue
		}
		for _, table := range d.tables {
			// The first row of the result is about all pages. No other is read, because
			// SQLite goes through the rows of the table for it.
			found := ""
			if err := c.QueryRowContext(ctx, `PRAGMA quick_check(`+table+`)`).Scan(&found); err != nil {
				return err
			}
			if found != "ok" {
				first, _, _ := strings.Cut(strings.TrimPrefix(found, "*** in database main ***\n"), "\n")
				return fmt.Errorf("table %s is damaged: %s", table, first)
			}
		}
	}
	return nil
}

// openedDatabase is a SQLite file that nobody writes to.
type openedDatabase struct {
	db    *sql.DB
	conns []*sql.Conn // for queries at the same time
}

// openDatabase opens a SQLite file that nobody writes to. It neither locks nor creates
// anything, and ignores a log.
func openDatabase(ctx context.Context, path string, conns int) (*openedDatabase, error) {
	db, err := sql.Open("sqlite",
		databaseURI(path,
			"mode=ro&immutable=1&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"))
	if err != nil {
		return nil, err
	}
	o := &openedDatabase{db: db}
	for range conns {
		c, err := db.Conn(ctx)
		if err == nil {
			o.conns = append(o.conns, c)
			_, err = sqlite.Limit(c, sqlite3.SQLITE_LIMIT_LENGTH, maxLine+between)
		}
		if err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// databaseURI returns the address of a SQLite file for sql.Open, which would cut a bare
// path at a question mark.
func databaseURI(path, query string) string {
	name := filepath.ToSlash(absolute(path))
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a Windows drive
	}
	uri := url.URL{Scheme: "file", Path: name, RawQuery: query}
	return uri.String()
}

func (o *openedDatabase) Close() {
	for _, c := range o.conns {
		c.Close()
	}
	o.db.Close()
}

// openCopy opens a copy of the database with the tables of a format, because the program may
// write to the database meanwhile. done closes and removes it.
func (s *source) openCopy(ctx context.Context, format Format, conns int) (db *openedDatabase, done func(), err error) {
	path, remove, err := copyDatabase(ctx, s.path)
	if err != nil {
		return nil, nil, err
	}
	db, err = openDatabase(ctx, path, conns)
	if err != nil {
		remove()
		return nil, nil, err
	}
	ok, err := hasTables(ctx, db.conns[0], format) // the log may have replaced them
	if err == nil && !ok {
		err = noTables(format)
	}
	if err == nil {
		err = checkTables(ctx, db.conns[0], format)
	}
	if err != nil {
		db.Close()
		remove()
		return nil, nil, err
	}
	return db, func() { db.Close(); remove() }, nil
}

// readDatabase reads the sessions of opencode's database, oldest first.
func (s *source) readDatabase(ctx context.Context, to taker) error {
	db, done, err := s.openCopy(ctx, OpenCode, 3)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer done()
	r := openCodeReader{source: s, to: to, messages: db.conns[1], parts: db.conns[2]}
	rows, err := db.conns[0].QueryContext(ctx, `SELECT `+upTo(timeline.MaxName, "id")+`, `+
		upTo(timeline.MaxName, "directory")+`, `+upTo(maxTitle, "title")+` FROM session ORDER BY time_created, 1`)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer rows.Close()
	for rows.Next() {
		var one openCodeSession
		if err := rows.Scan(&one.id, &one.directory, &one.title); err != nil {
			return s.damaged(ctx, to, err)
		}
		if one.id == "" || !fits(one.id, timeline.MaxName) {
			to.broken(0, fmt.Sprintf("%.100q cannot be the id of a session", one.id))
			continue
		}
		if err := one.begin(ctx, to); err != nil {
			return err
		}
		if err := r.session(ctx, one.id); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return s.damaged(ctx, to, err)
	}
	return nil
}

// damaged reports that the rest of a database cannot be read.
func (s *source) damaged(ctx context.Context, to taker, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	to.broken(0, "cannot read the database further: "+err.Error())
	return nil
}

// maxTitle is the longest title that is read, in bytes. Stores keep less of it.
const maxTitle = 1 << 16

// upTo selects a text of up to most bytes, or an empty one instead of a longer one.
func upTo(most int, column string) string {
	return fmt.Sprintf(`iif(octet_length(%[1]s) <= %[2]d, %[1]s, '')`, column, most)
}

// selectRow selects the fields of an openCodeRow, whose data may have ?1 bytes.
var selectRow = `SELECT ` + upTo(timeline.MaxName, "id") +
	`, iif(octet_length(data) <= ?1, data, NULL), ifnull(octet_length(data) > ?1, FALSE) FROM `

// openCodeReader reads the messages of sessions.
type openCodeReader struct {
	*source
	to              taker
	messages, parts *sql.Conn
}

func (r *openCodeReader) session(ctx context.Context, session string) error {
	rows, err := r.messages.QueryContext(ctx, selectRow+`message WHERE session_id = ?2 ORDER BY time_created, id`,
		maxLine, session)
	if err != nil {
		return r.damaged(ctx, r.to, err)
	}
	defer rows.Close()
	for rows.Next() {
		var m openCodeRow
		if err := rows.Scan(&m.id, &m.data, &m.tooLong); err != nil {
			return r.damaged(ctx, r.to, err)
		}
		if m.id == "" {
			r.to.broken(0, strconv.Quote(session)+": a message without an id, or with one that is too long")
			continue
		}
		parts, err := r.partsOf(ctx, session, m)
		if err != nil {
			return r.damaged(ctx, r.to, err)
		}
		if message, ok := r.openCodeRows(session, m, parts, r.to); ok {
			if err := r.to.take(ctx, session, message); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return r.damaged(ctx, r.to, err)
	}
	return nil
}

// partsOf returns the parts of a message, up to the length that a message may have.
func (r *openCodeReader) partsOf(ctx context.Context, session string, m openCodeRow) ([]openCodeRow, error) {
	rows, err := r.parts.QueryContext(ctx, selectRow+`part WHERE message_id = ?2 ORDER BY id`, maxLine, m.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var parts []openCodeRow
	for size := len(m.data); rows.Next(); {
		var p openCodeRow
		if err := rows.Scan(&p.id, &p.data, &p.tooLong); err != nil {
			return nil, err
		}
		if size += len(p.data) + len(p.id) + len(m.id) + len(session); size > maxLine {
			r.to.broken(0, strconv.Quote(m.id)+": the message is too long")
			break
		}
		parts = append(parts, p)
	}
	return parts, rows.Err()
}

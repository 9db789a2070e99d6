//go:build !fuzz

package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/oriel-context/oriel/timeline"
)

// openCodeTables are the tables of opencode's database that are read. Others have
// credentials.
var openCodeTables = []string{"session", "message", "part"}

// sniffDatabase reports whether a SQLite file is a database of opencode.
func (s *source) sniffDatabase(ctx context.Context) (bool, error) {
	ok, err := hasOpenCodeTables(s.path) // the log, too, is rarely needed for that
	if !ok && hasLog(s.path) {
		path, done, err := copyDatabase(ctx, s.path)
		if err != nil {
			return false, err
		}
		defer done()
		return hasOpenCodeTables(path)
	}
	return ok, err
}

func hasOpenCodeTables(path string) (bool, error) {
	db, err := openDatabase(path)
	if err != nil {
		return false, err
	}
	defer db.Close()
	n := 0
	err = db.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name IN (?, ?, ?)`, openCodeTables[0], openCodeTables[1], openCodeTables[2]).Scan(&n)
	return n == len(openCodeTables), err
}

// hasLog reports whether a part of the database is in a log beside it.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// openDatabase opens a SQLite file that nobody writes to. It neither locks nor creates
// anything, and ignores a log.
func openDatabase(path string) (*sql.DB, error) {
	name := filepath.ToSlash(absolute(path))
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a Windows drive
	}
	uri := url.URL{Scheme: "file", Path: name, RawQuery: "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"}
	db, err := sql.Open("sqlite", uri.String())
	if err == nil {
		db.SetMaxOpenConns(2) // one reads messages, one their parts
	}
	return db, err
}

// readDatabase reads the sessions of opencode's database, oldest first. It reads a copy,
// because opencode may write to the database meanwhile.
func (s *source) readDatabase(ctx context.Context, to taker) error {
	path, done, err := copyDatabase(ctx, s.path)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer done()
	db, err := openDatabase(path)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInput, s.path, err)
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT id, directory, title FROM session ORDER BY time_created, id`)
	var sessions []openCodeSession
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var one openCodeSession
			var directory, title sql.NullString
			if err = rows.Scan(&one.id, &directory, &title); err != nil {
				break
			}
			one.directory, one.title = directory.String, title.String
			sessions = append(sessions, one)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	for _, one := range sessions {
		if one.id == "" || !fits(one.id, timeline.MaxName) {
			to.broken(0, fmt.Sprintf("%.100q cannot be the id of a session", one.id))
			continue
		}
		if err := one.begin(ctx, to); err != nil {
			return err
		}
		if err := s.readSession(ctx, db, one.id, to); err != nil {
			return err
		}
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

// selectRow selects an openCodeRow; one that is too long has no data.
const selectRow = `SELECT id, CASE WHEN octet_length(data) <= ? THEN data END FROM `

func (s *source) readSession(ctx context.Context, db *sql.DB, session string, to taker) error {
	messages, err := db.QueryContext(ctx, selectRow+`message WHERE session_id = ? ORDER BY time_created, id`, maxLine, session)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer messages.Close()
	for messages.Next() {
		var m openCodeRow
		if err := messages.Scan(&m.id, &m.data); err != nil {
			return s.damaged(ctx, to, err)
		}
		var parts []openCodeRow
		size := 0
		rows, err := db.QueryContext(ctx, selectRow+`part WHERE message_id = ? ORDER BY id`, maxLine, m.id)
		if err != nil {
			return s.damaged(ctx, to, err)
		}
		for rows.Next() {
			var p openCodeRow
			if err = rows.Scan(&p.id, &p.data); err != nil {
				break
			}
			if size += len(p.data); size > maxLine {
				to.broken(0, m.id+": the message is too long")
				break
			}
			parts = append(parts, p)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return s.damaged(ctx, to, err)
		}
		if message, ok := s.openCodeRows(session, m, parts, to); ok {
			if err := to.take(ctx, session, message); err != nil {
				return err
			}
		}
	}
	if err := messages.Err(); err != nil {
		return s.damaged(ctx, to, err)
	}
	return nil
}

//go:build !fuzz

package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
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
func (s *source) sniffDatabase() (bool, error) {
	ok, err := hasOpenCodeTables(s.path) // the log, too, is rarely needed for that
	if !ok && hasLog(s.path) {
		path, done, err := copyDatabase(s.path)
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

// copies is how often a database is copied until nobody writes meanwhile.
const copies = 10

// copyDatabase copies a database with its log, which opencode leaves behind, to a temporary
// folder, and moves the log into the copy.
func copyDatabase(path string) (to string, done func(), err error) {
	dir, err := os.MkdirTemp("", "oriel-import-")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(dir) }
	to = filepath.Join(dir, "copy.db")
	for range copies {
		before := stateOf(path)
		if err = errors.Join(copyFile(path, to), copyFile(path+"-wal", to+"-wal")); err == nil && before == stateOf(path) {
			err = foldLog(to)
			break
		}
		if err == nil {
			err = fmt.Errorf("%s is written to all the time: end opencode first", path)
		}
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return to, done, nil
}

// state is what changes if a database changes other than by an addition to its log.
type state struct {
	size, modified int64
	log            [32]byte // its header
}

func stateOf(path string) (s state) {
	if info, err := os.Stat(path); err == nil {
		s.size, s.modified = info.Size(), info.ModTime().UnixNano()
	}
	if f, err := os.Open(path + "-wal"); err == nil {
		_, _ = io.ReadFull(f, s.log[:])
		f.Close()
	}
	return s
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// foldLog moves the log of a copied database into its file.
func foldLog(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// readDatabase reads the sessions of opencode's database, oldest first.
func (s *source) readDatabase(ctx context.Context, to taker) error {
	path := s.path
	if hasLog(path) {
		copied, done, err := copyDatabase(path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		defer done()
		path = copied
	}
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

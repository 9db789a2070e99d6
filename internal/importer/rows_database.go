//go:build !fuzz

package importer

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oriel-context/oriel/timeline"
)

// readRows reads the sessions of a database, oldest first.
func (s *source) readRows(ctx context.Context, of rowsOf, to taker) error {
	db, done, err := s.openCopy(ctx, of.format, 2)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer done()
	rows, err := db.conns[0].QueryContext(ctx, `SELECT `+upTo(timeline.MaxName, "id")+`, `+
		upTo(timeline.MaxName, of.directory)+`, `+upTo(maxTitle, of.title)+` FROM sessions ORDER BY created_at, 1`)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, directory, title string
		if err := rows.Scan(&id, &directory, &title); err != nil {
			return s.damaged(ctx, to, err)
		}
		if id == "" || !fits(id, timeline.MaxName) {
			to.broken(0, fmt.Sprintf("%.100q cannot be the id of a session", id))
			continue
		}
		if err := to.begin(ctx, id, directory); err != nil {
			return err
		}
		to.title(id, title)
		if err := s.readRowsOf(ctx, db, of, id, to); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return s.damaged(ctx, to, err)
	}
	return nil
}

// readRowsOf reads the messages of a session.
func (s *source) readRowsOf(ctx context.Context, db *openedDatabase, of rowsOf, session string, to taker) error {
	id := "id"
	if of.format == Goose {
		id = "ifnull(message_id, '')"
	}
	rows, err := db.conns[1].QueryContext(ctx, `SELECT `+upTo(timeline.MaxName, id)+`, `+
		upTo(timeline.MaxName, "role")+`, `+upTo(timeline.MaxName, of.model)+
		`, iif(octet_length(`+of.text+`) <= ?1, `+of.text+`, NULL), CAST(`+of.created+` AS INTEGER), `+
		`ifnull(octet_length(`+of.text+`) > ?1, FALSE) FROM messages WHERE session_id = ?2 ORDER BY `+of.order,
		maxLine, session)
	if err != nil {
		return s.damaged(ctx, to, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.role, &r.model, &r.content, &r.created, &r.tooLong); err != nil {
			to.broken(0, strconv.Quote(session)+": a message that cannot be read: "+err.Error())
			continue
		}
		if m, ok := s.rowMessage(of.stored, session, r, to); ok {
			if err := to.take(ctx, session, m); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return s.damaged(ctx, to, err)
	}
	return nil
}

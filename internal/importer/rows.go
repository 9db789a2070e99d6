package importer

import (
	"context"
	"io"
	"strconv"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// rowsOf describes how a database with a table of sessions and a table of messages is read.
type rowsOf struct {
	format Format
	stored string // the format of messages in the timeline
	// directory and title are columns or terms of a session. text, created and model are those
	// of a message: text is the JSON of its content.
	directory, title, text, created, model string
	// order orders the messages of a session.
	order string
}

// readGoose reads the database of Goose.
func readGoose(ctx context.Context, s *source, _ io.Reader, to taker) error {
	return s.readRows(ctx, rowsOf{Goose, timeline.FormatGoose, "working_dir",
		"iif(description = '', name, description)", "content_json", "created_timestamp", "''", "id"}, to)
}

// readCrush reads the database of Crush. It names no folder: there is one database a project.
func readCrush(ctx context.Context, s *source, _ io.Reader, to taker) error {
	return s.readRows(ctx, rowsOf{Crush, timeline.FormatCrush, "''", "title", "parts", "created_at",
		"ifnull(model, '')", "created_at, id"}, to)
}

// row is a message in a database.
type row struct {
	id, role, model string
	content         []byte
	created         int64
	tooLong         bool // the content is longer than a store accepts, and not here
}

// rowMessage makes a message of its row. It reports and leaves out what is not JSON.
func (s *source) rowMessage(stored, session string, r row, to taker) (timeline.Message, bool) {
	d, err := parseDocument(r.content)
	switch {
	case r.tooLong:
		err = brokenLine("more than 256 MiB")
	case len(r.content) == 0:
		err = brokenLine("no content")
	case err == nil && d.root.Kind() != rawjson.Array:
		err = brokenLine("want a list, got " + what(d.root))
	}
	if err != nil {
		to.broken(0, strconv.Quote(r.id)+": "+err.Error())
		return timeline.Message{}, false
	}
	raw := append([]byte(`{"id":`), chat.Quote(r.id)...)
	raw = append(append(raw, `,"session_id":`...), chat.Quote(session)...)
	raw = append(append(raw, `,"role":`...), chat.Quote(r.role)...)
	raw = strconv.AppendInt(append(raw, `,"created":`...), r.created, 10)
	if r.model != "" {
		raw = append(append(raw, `,"model":`...), chat.Quote(r.model)...)
	}
	raw = append(append(append(raw, `,"content":`...), d.raw(d.root)...), '}')
	if len(raw) > maxLine {
		to.broken(0, strconv.Quote(r.id)+": the message is too long")
		return timeline.Message{}, false
	}
	created, err := rawjson.ParseLenient(strconv.AppendInt(nil, r.created, 10), 32)
	if err != nil {
		return timeline.Message{}, false
	}
	when := seconds(created, s.modified)
	if r.created > latest {
		when = millis(created, s.modified)
	}
	m := timeline.Message{Raw: raw, Format: stored, Role: r.role, Time: when}
	if m.Role == "system" {
		m.Role = timeline.RoleMeta
	}
	if fits(r.id, timeline.MaxRef) {
		m.Ref = r.id
	}
	return asMessage(m), true
}

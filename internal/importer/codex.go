package importer

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readCodex reads a rollout, the file in which Codex records a session. Each line becomes
// an entry. Items of the model's API are messages; all other lines are meta lines.
func readCodex(ctx context.Context, s *source, r io.Reader, to taker) error {
	id, cwd, err := s.aboutRollout()
	if err != nil {
		return err
	}
	name := s.label
	if id != "" && fits(id, timeline.MaxName) {
		name = id
	}
	if err := to.begin(ctx, name, cwd); err != nil {
		return err
	}
	when := s.modified
	return eachLine(ctx, r, to, func(line []byte, root rawjson.Value) error {
		if t, err := time.Parse(time.RFC3339, root.Get("timestamp").Str()); err == nil {
			when = t
		}
		m := timeline.Message{Raw: line, Format: timeline.FormatCodex, Role: timeline.RoleMeta, Time: when}
		if item, ok := timeline.CodexItem(root); ok {
			m.Role = item.Get("role").Str()
			if m.Role == "" {
				m.Role = item.Get("type").Str()
			}
		}
		return to.take(ctx, name, asMessage(m))
	})
}

// asMessage gives a message its identity. What cannot be parsed becomes a meta entry.
func asMessage(m timeline.Message) timeline.Message {
	if m.Role == "" || !fits(m.Role, timeline.MaxName) {
		m.Role = timeline.RoleMeta
	}
	if c, err := m.Chat(); err == nil {
		m.Identity = identity(timeline.Identity(&c), m.Ref)
	} else {
		m.Role, m.Identity = timeline.RoleMeta, timeline.HashOf(m.Raw)
	}
	return m
}

// aboutRollout returns the id and the working folder that the first line of a rollout
// names.
func (s *source) aboutRollout() (id, cwd string, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	line, err := newLines(f).next()
	if err != nil {
		return "", "", nil // reading it again reports what is wrong
	}
	root, err := rawjson.ParseLenient(line, timeline.MaxContent)
	if err != nil {
		return "", "", nil
	}
	meta := root
	if payload := root.Get("payload"); payload.Exists() {
		meta = payload
	}
	return meta.Get("id").Str(), meta.Get("cwd").Str(), nil
}

// isRollout reports whether a line is one of a Codex rollout.
func isRollout(line rawjson.Value) bool {
	if line.Get("payload").Kind() == rawjson.Object {
		switch line.Get("type").Str() {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
			return true
		}
	}
	// The first line of early versions.
	return line.Has("id") && line.Has("timestamp") && line.Has("instructions") && !line.Has("type")
}

package importer

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readGeneric reads lines such as
//
//	{"conversation":"c1","ref":"u17","time":"2024-05-01T10:00:00Z","role":"user","name":"Ann","text":"…"}
//
// of which only text is required. Without conversation, the line belongs to the
// conversation named after the file; without role, it is the user's; without
// time, it gets that of the line before.
func readGeneric(ctx context.Context, s *source, r io.Reader, to taker) error {
	when := s.modified
	return eachLine(ctx, r, to, func(line []byte, root rawjson.Value) error {
		name, m, err := genericLine(line, root)
		if err != nil {
			return err
		}
		if name == "" {
			name = s.label
		}
		if m.Time.IsZero() {
			m.Time = when
		}
		when = m.Time
		return to.take(ctx, name, m)
	})
}

func genericLine(line []byte, root rawjson.Value) (conversation string, m timeline.Message, err error) {
	m = timeline.Message{Raw: line, Format: timeline.FormatGeneric}
	text := root.Get("text")
	if text.Kind() != rawjson.String {
		return "", m, brokenLine("text: want a string, got " + what(text))
	}
	for _, field := range []struct {
		key  string
		into *string
		most int
	}{
		{"conversation", &conversation, timeline.MaxName},
		{"ref", &m.Ref, timeline.MaxRef},
		{"role", &m.Role, timeline.MaxName},
	} {
		v, ok := word(root.Get(field.key))
		if !ok {
			return "", m, brokenLine(field.key + ": want a string, got " + what(root.Get(field.key)))
		}
		if !fits(v, field.most) {
			return "", m, brokenLine(fmt.Sprintf("%s: want at most %d bytes without a NUL", field.key, field.most))
		}
		*field.into = v
	}
	if v := root.Get("time"); v.Exists() && v.Kind() != rawjson.Null {
		if m.Time, err = time.Parse(time.RFC3339, v.Str()); err != nil {
			return "", m, brokenLine("time: want a time such as 2024-05-01T10:00:00Z")
		}
	}
	if m.Role == "" {
		m.Role = "user"
	}
	m.Identity = identity(timeline.TextIdentity(m.Role, text.Str()), m.Ref)
	return conversation, m, nil
}

func what(v rawjson.Value) string {
	if !v.Exists() {
		return "none"
	}
	return article(v.Kind())
}

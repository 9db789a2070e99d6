package importer

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readCline reads api_conversation_history.json of a task of Cline or Roo Code, a list of
// messages in Anthropic's form, or a session of today's Cline.
func readCline(ctx context.Context, s *source, r io.Reader, to taker) error {
	when, begun := s.modified, false
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		if d.root.Get("messages").Kind() == rawjson.Array {
			return s.readClineSession(ctx, d, to)
		}
		if !begun {
			begun = true
			about := s.beside("history_item.json") // of Roo Code
			if err := to.begin(ctx, s.label, about.Get("workspace").Str()); err != nil {
				return err
			}
			to.title(s.label, about.Get("task").Str())
		}
		when = millis(d.root.Get("ts"), when)
		m, err := bodyMessage(d.raw(d.root), Anthropic)
		if err != nil {
			return brokenLine(err.Error())
		}
		m.Time = when
		return to.take(ctx, s.label, m)
	})
}

// readClineSession reads ID.messages.json. What the session is about is in ID.json beside
// it.
func (s *source) readClineSession(ctx context.Context, d document, to taker) error {
	name := firstName(s.label, d.root.Get("sessionId"))
	if agent := d.root.Get("agent").Str(); agent != "" && agent != "lead" && fits(name+"/"+agent, timeline.MaxName) {
		name += "/" + agent
	}
	about := s.beside(strings.TrimSuffix(filepath.Base(s.path), clineMessages) + ".json")
	if err := to.begin(ctx, name, about.Get("cwd").Str()); err != nil {
		return err
	}
	to.title(name, about.Get("metadata").Get("title").Str())
	when := rfc3339(about.Get("started_at"), s.modified)
	for message := range d.root.Get("messages").Elems() {
		when = millis(message.Get("ts"), when)
		m := timeline.Message{Raw: d.raw(message), Format: timeline.FormatCline, Role: message.Get("role").Str(),
			Time: when}
		if id := message.Get("id").Str(); fits(id, timeline.MaxRef) {
			m.Ref = id
		}
		if err := to.take(ctx, name, asMessage(m)); err != nil {
			return err
		}
	}
	return nil
}

// clineMessages ends the name of the file that has the messages of a session.
const clineMessages = ".messages.json"

// maxAbout is the longest file that is read because of what it says about a session.
const maxAbout = 1 << 20

// beside parses a file in the folder of the source. It has no value if there is none, or if
// the file is a link to one elsewhere.
func (s *source) beside(name string) rawjson.Value {
	text := readBelow(filepath.Dir(s.path), name, maxAbout)
	root, err := rawjson.ParseLenient(text, maxAbout)
	if err != nil {
		return rawjson.Value{}
	}
	return root
}

// readBelow reads a file below a folder, or returns nil.
func readBelow(dir, name string, most int64) []byte {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return text
}

// isClineSession reports whether an object is a session of Cline.
func isClineSession(root rawjson.Value) bool {
	return root.Get("sessionId").Kind() == rawjson.String && root.Get("messages").Kind() == rawjson.Array &&
		(root.Has("agent") || root.Has("origin"))
}

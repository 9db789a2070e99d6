package importer

import (
	"context"
	"io"
	"os"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readQwenCode reads a session of Qwen Code. Each line becomes an entry. Lines of the
// person, the model and the tools are messages in Google's form; all others are meta lines.
func readQwenCode(ctx context.Context, s *source, r io.Reader, to taker) error {
	name, project, err := s.aboutQwen()
	if err != nil {
		return err
	}
	if err := to.begin(ctx, name, project); err != nil {
		return err
	}
	when := s.modified
	return eachLine(ctx, r, to, func(line []byte, root rawjson.Value) error {
		when = rfc3339(root.Get("timestamp"), when)
		m := timeline.Message{Raw: line, Format: timeline.FormatQwenCode, Role: timeline.RoleMeta, Time: when}
		switch root.Get("type").Str() {
		case "user", "tool_result":
			m.Role = "user"
		case "assistant":
			m.Role = "assistant"
		}
		if id := root.Get("uuid").Str(); fits(id, timeline.MaxRef) {
			m.Ref = id
		}
		return to.take(ctx, name, asMessage(m))
	})
}

// aboutQwen returns the name and the project of a session, which every line names.
func (s *source) aboutQwen() (name, project string, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	for l := newLines(f); ; {
		line, err := l.next()
		if err == errLong {
			continue
		}
		if err != nil { // reading it again reports what is wrong
			return s.label, "", nil
		}
		if root, err := rawjson.ParseLenient(line, timeline.MaxContent); err == nil &&
			root.Get("sessionId").Kind() == rawjson.String {
			return firstName(s.label, root.Get("sessionId")), root.Get("cwd").Str(), nil
		}
	}
}

// isQwen reports whether an object is a line of a session of Qwen Code. Its fields are those
// of Claude Code's; its messages are not.
func isQwen(root rawjson.Value) bool {
	return root.Get("uuid").Kind() == rawjson.String && root.Get("sessionId").Kind() == rawjson.String &&
		(root.Get("message").Get("parts").Kind() == rawjson.Array || root.Has("systemPayload"))
}

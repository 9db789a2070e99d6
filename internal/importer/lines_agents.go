package importer

import (
	"context"
	"io"
	"os"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readPi reads a session of Pi. Each line becomes an entry. Lines of the person, the model
// and the tools are messages; all others are meta lines. A session is a tree, whose branches
// stand in the file in the order in which they were written.
func readPi(ctx context.Context, s *source, r io.Reader, to taker) error {
	head, err := s.firstObject(isPi)
	if err != nil {
		return err
	}
	name := firstName(s.label, head.Get("id"))
	return s.agentLines(ctx, r, to, name, head.Get("cwd").Str(), timeline.FormatPi,
		func(line rawjson.Value) string {
			if !line.Get("type").EqualStr("message") {
				return timeline.RoleMeta
			}
			switch role := line.Get("message").Get("role").Str(); role {
			case "user", "assistant":
				return role
			case "toolResult":
				return "tool"
			}
			return timeline.RoleMeta
		})
}

// isPi reports whether an object is the first line of a session of Pi. It has the same type
// as no line of others.
func isPi(root rawjson.Value) bool {
	return root.Get("type").EqualStr("session") && root.Get("id").Kind() == rawjson.String &&
		root.Get("cwd").Kind() == rawjson.String && root.Get("timestamp").Kind() == rawjson.String
}

// readCopilot reads events.jsonl of a session of Copilot CLI. Each event becomes an entry.
// What a sub-agent said and did is not of the conversation.
func readCopilot(ctx context.Context, s *source, r io.Reader, to taker) error {
	head, err := s.firstObject(isCopilot)
	if err != nil {
		return err
	}
	data := head.Get("data")
	name := firstName(s.label, data.Get("sessionId"))
	return s.agentLines(ctx, r, to, name, data.Get("context").Get("cwd").Str(), timeline.FormatCopilot,
		func(event rawjson.Value) string {
			if event.Get("data").Get("parentToolCallId").Kind() == rawjson.String {
				return timeline.RoleMeta
			}
			switch event.Get("type").Str() {
			case "user.message":
				return "user"
			case "assistant.message":
				return "assistant"
			case "tool.execution_complete":
				return "tool"
			}
			return timeline.RoleMeta
		})
}

// isCopilot reports whether an object is the first event of a session of Copilot CLI.
func isCopilot(root rawjson.Value) bool {
	return root.Get("type").EqualStr("session.start") && root.Get("data").Get("sessionId").Kind() == rawjson.String
}

// agentLines takes each line of a log as an entry with the role that it has.
func (s *source) agentLines(ctx context.Context, r io.Reader, to taker, name, project, format string,
	role func(rawjson.Value) string) error {
	if err := to.begin(ctx, name, project); err != nil {
		return err
	}
	when := s.modified
	return eachLine(ctx, r, to, func(line []byte, root rawjson.Value) error {
		when = rfc3339(root.Get("timestamp"), when)
		m := timeline.Message{Raw: line, Format: format, Role: role(root), Time: when}
		if id := root.Get("id").Str(); fits(id, timeline.MaxRef) {
			m.Ref = id
		}
		return to.take(ctx, name, asMessage(m))
	})
}

// firstObject returns the first line of the file that is wanted, or nothing: reading the file
// reports what is wrong with it.
func (s *source) firstObject(wanted func(rawjson.Value) bool) (rawjson.Value, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return rawjson.Value{}, err
	}
	defer f.Close()
	l := newLines(f)
	for n := 0; n < sniffLines; n++ {
		line, err := l.next()
		if err == errLong {
			continue
		}
		if err != nil {
			break
		}
		if root, err := rawjson.ParseLenient(l.keep(line), timeline.MaxContent); err == nil && wanted(root) {
			return root, nil
		}
	}
	return rawjson.Value{}, nil
}

// readContinue reads a session of Continue, which is one object. Its items have no times.
func readContinue(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		name := firstName(s.label, d.root.Get("sessionId"))
		if err := to.begin(ctx, name, d.root.Get("workspaceDirectory").Str()); err != nil {
			return err
		}
		if title := d.root.Get("title").Str(); title != "Untitled Session" && title != "New Session" {
			to.title(name, title)
		}
		for item := range d.root.Get("history").Elems() {
			m := timeline.Message{Raw: d.raw(item), Format: timeline.FormatContinue, Time: s.modified,
				Role: item.Get("message").Get("role").Str()}
			if m.Role == "system" {
				m.Role = timeline.RoleMeta
			}
			if err := to.take(ctx, name, asMessage(m)); err != nil {
				return err
			}
		}
		return nil
	})
}

// isContinue reports whether an object is a session of Continue.
func isContinue(root rawjson.Value) bool {
	return root.Get("sessionId").Kind() == rawjson.String && root.Get("history").Kind() == rawjson.Array &&
		root.Has("workspaceDirectory")
}

package importer

import (
	"context"
	"io"
	"os"
	"path"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/lenient"
)

// readClaudeCode reads a session. Each line becomes an entry. Lines of the
// person and the model are messages; the agent's own lines, sub-agents' lines
// within this file, and network errors shown as replies are meta lines. A
// sub-agent's own file is a separate conversation.
func readClaudeCode(ctx context.Context, s *source, r io.Reader, to taker) error {
	about, err := s.aboutSession()
	if err != nil {
		return err
	}
	name := about.name(s.label)
	if err := to.begin(ctx, name, about.cwd); err != nil {
		return err
	}
	when := s.modified
	return eachLine(ctx, r, to, func(line []byte, root rawjson.Value) error {
		if t, err := time.Parse(time.RFC3339, root.Get("timestamp").Str()); err == nil {
			when = t
		}
		m := timeline.Message{Raw: line, Format: timeline.FormatClaudeCode, Role: timeline.RoleMeta, Time: when}
		if ref := root.Get("uuid").Str(); fits(ref, timeline.MaxRef) {
			m.Ref = ref
		}
		if role := root.Get("type").Str(); (role == "user" || role == "assistant") &&
			root.Get("isSidechain").Bool() == about.sidechain && !root.Get("isApiErrorMessage").Bool() {
			m.Role = role
		}
		if c, err := m.Chat(); err == nil {
			m.Identity = identity(timeline.Identity(&c), m.Ref)
		} else {
			m.Role, m.Identity = timeline.RoleMeta, timeline.HashOf(line)
		}
		return to.take(ctx, name, m)
	})
}

// session describes a session as a whole.
type session struct {
	id, cwd, agent string
	// sidechain reports that the file is a sub-agent's own.
	sidechain bool
}

// aboutSession reads a session up to the line that contains its id.
func (s *source) aboutSession() (session, error) {
	var about session
	f, err := os.Open(s.path)
	if err != nil {
		return about, err
	}
	defer f.Close()
	for l := newLines(f); ; {
		line, err := l.next()
		if err == io.EOF {
			return about, nil
		}
		if err == errLong {
			continue
		}
		if err != nil {
			return about, err
		}
		root, err := lenient.Parse(line, timeline.MaxContent)
		if err != nil {
			continue
		}
		if about.id == "" {
			about.id = root.Get("sessionId").Str()
		}
		if about.cwd == "" {
			about.cwd = root.Get("cwd").Str()
		}
		if role := root.Get("type").Str(); role == "user" || role == "assistant" {
			about.sidechain = root.Get("isSidechain").Bool()
			about.agent = root.Get("agentId").Str()
			return about, nil
		}
	}
}

// name returns the session's id, followed by the sub-agent's if there is one.
func (a *session) name(file string) string {
	switch {
	case a.id == "" || !fits(a.id, timeline.MaxName/2):
		return file
	case a.sidechain && a.agent != "" && fits(a.agent, timeline.MaxName/4):
		return a.id + "/" + a.agent
	case a.sidechain:
		return a.id + "/" + path.Base(file)
	}
	return a.id
}

package importer

import (
	"cmp"
	"context"
	"io"
	"os"
	"path"

	"github.com/oriel-context/oriel/internal/importer/claudecode"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
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
		event := claudecode.Read(root)
		if !event.Time.IsZero() {
			when = event.Time
		}
		m := timeline.Message{Raw: line, Format: timeline.FormatClaudeCode, Role: timeline.RoleMeta, Time: when}
		if fits(event.UUID, timeline.MaxRef) {
			m.Ref = event.UUID
		}
		if event.Said(about.sidechain) {
			m.Role = event.Type
		}
		return to.take(ctx, name, asMessage(m))
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
		event, err := claudecode.Parse(line)
		if err != nil {
			continue
		}
		about.id, about.cwd = cmp.Or(about.id, event.Session), cmp.Or(about.cwd, event.Folder)
		if event.Type == claudecode.User || event.Type == claudecode.Assistant {
			about.sidechain, about.agent = event.Sidechain, event.Agent
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

package importer

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// readGeminiCLI reads a session of Gemini CLI. Earlier versions wrote one object with all
// messages. Today's append to a log: a message again when it has changed, all messages when
// the session is compressed or resumed, and the id of a message when the person goes back
// to the state before it.
func readGeminiCLI(ctx context.Context, s *source, r io.Reader, to taker) error {
	g := &geminiLog{when: s.modified, byID: map[string]*geminiEntry{}}
	if err := eachElement(ctx, s, r, to, func(_ int, d document) error { return g.record(d) }); err != nil {
		return err
	}
	name := s.label
	if g.session != "" && fits(g.session, timeline.MaxName) {
		name = g.session
	}
	if g.dropped > 0 {
		to.broken(0, strconv.Itoa(g.dropped)+" branches of "+strconv.Quote(name)+": together too long to follow")
	}
	project := s.geminiProject()
	for _, history := range append(g.left, g.history) {
		if err := to.begin(ctx, name, project); err != nil {
			return err
		}
		answered := map[string]bool{}
		for _, e := range history {
			m := e.message
			if repeatsResults(&m, answered) {
				m.Role = timeline.RoleMeta
			}
			if err := to.take(ctx, name, asMessage(m)); err != nil {
				return err
			}
		}
	}
	to.title(name, g.title)
	return nil
}

// geminiLog is a session after some of its records.
type geminiLog struct {
	session string
	title   string
	when    time.Time

	history []*geminiEntry
	byID    map[string]*geminiEntry
	held    int // bytes of all messages
	// left are the histories that the person has left by going back. dropped counts those
	// that are missing because all together are too long.
	left        [][]*geminiEntry
	leftEntries int
	leftBytes   int
	dropped     int
}

// geminiEntry is the newest version of a message.
type geminiEntry struct {
	id      string
	at      int // its index in the history
	message timeline.Message
}

// repeatsResults reports whether a message only has results of calls that are answered, and
// notes the calls that it answers.
func repeatsResults(m *timeline.Message, answered map[string]bool) bool {
	c, err := m.Chat()
	if err != nil {
		return false
	}
	repeats := true
	for i := range c.Parts {
		p := &c.Parts[i]
		repeats = repeats && p.Kind == chat.Result && answered[p.ID]
		if p.Kind == chat.Result && p.ID != "" {
			answered[p.ID] = true
		}
	}
	return repeats
}

// record applies a record of the log, or the one object of an earlier version.
func (g *geminiLog) record(d document) error {
	root := d.root
	if id := root.Get("$rewindTo"); id.Kind() == rawjson.String {
		g.rewind(id.Str())
		return nil
	}
	if root.Get("id").Kind() == rawjson.String {
		return g.put(d, root)
	}
	fields := root
	if set := root.Get("$set"); set.Kind() == rawjson.Object {
		fields = set
	}
	if id := strings.TrimSpace(fields.Get("sessionId").Str()); id != "" {
		g.session = id
	}
	if title := fields.Get("summary").Str(); title != "" {
		g.title = title
	}
	g.when = rfc3339(fields.Get("startTime"), g.when)
	for message := range fields.Get("messages").Elems() {
		// A list repeats messages with other times, and without what was cut from them.
		if g.byID[message.Get("id").Str()] == nil {
			if err := g.put(d, message); err != nil {
				return err
			}
		}
	}
	return nil
}

// put adds a message, or replaces its earlier version.
func (g *geminiLog) put(d document, message rawjson.Value) error {
	id := message.Get("id").Str()
	e, old := &geminiEntry{id: id, at: len(g.history)}, g.byID[id]
	more := len(message.Raw())
	if old != nil {
		more -= len(old.message.Raw)
	}
	if g.held+more > 4*maxLine {
		return brokenLine("the session has more than 1 GiB: this message is left out")
	}
	g.held += more
	g.when = rfc3339(message.Get("timestamp"), g.when)
	e.message = timeline.Message{Raw: d.raw(message), Format: timeline.FormatGeminiCLI, Role: timeline.RoleMeta,
		Time: g.when}
	switch message.Get("type").Str() {
	case "user":
		e.message.Role = "user"
	case "gemini":
		e.message.Role = "assistant"
	}
	if fits(id, timeline.MaxRef) {
		e.message.Ref = id
	}
	if old != nil {
		e.at = old.at
		*old = *e
		return nil
	}
	if id != "" {
		g.byID[id] = e
	}
	g.history = append(g.history, e)
	return nil
}

// rewind goes back to the state before a message. If there is no such message, Gemini CLI
// begins anew.
func (g *geminiLog) rewind(id string) {
	at := 0
	if e := g.byID[id]; e != nil {
		at = e.at
	}
	if at == len(g.history) {
		return
	}
	if g.leftEntries > maxBranchNodes || g.leftBytes > maxBranchBytes {
		g.dropped++
	} else {
		g.left = append(g.left, slices.Clone(g.history))
		g.leftEntries += len(g.history)
		for _, e := range g.history {
			g.leftBytes += len(e.message.Raw)
		}
	}
	for _, e := range g.history[at:] {
		delete(g.byID, e.id)
	}
	g.history = g.history[:at:at]
}

// geminiProject returns the project's folder, which Gemini CLI notes in a file above its
// sessions.
func (s *source) geminiProject() string {
	dir := filepath.Dir(filepath.Dir(s.path)) // of a folder "chats"
	text := readBelow(dir, ".project_root", timeline.MaxName)
	project := strings.TrimSpace(string(text))
	if !filepath.IsAbs(project) || strings.ContainsAny(project, "\n\r") {
		return ""
	}
	return project
}

// isGemini reports whether an object is a session of Gemini CLI, or the first line of one.
func isGemini(root rawjson.Value) bool {
	return root.Get("sessionId").Kind() == rawjson.String && root.Get("projectHash").Kind() == rawjson.String
}

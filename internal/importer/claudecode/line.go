// Package claudecode reads the session files of Claude Code, which have one event per
// line. It is the only place that knows the members of a line: imports, replays,
// evaluations and titles use it.
//
// A line that is a JSON object can always be read. Members that are missing or have
// another type are empty. Invalid UTF-8 is read as U+FFFD (rawjson.Mend).
package claudecode

import (
	"errors"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Types of lines.
const (
	User      = "user"
	Assistant = "assistant"
	System    = "system"
	// CustomTitle, AITitle and Summary are lines with a title of the session.
	CustomTitle = "custom-title"
	AITitle     = "ai-title"
	Summary     = "summary"
)

// Synthetic is the model of messages that the agent wrote in the model's name.
const Synthetic = "<synthetic>"

// A Line is one event of a session.
type Line struct {
	Type, Subtype string
	// UUID is the line's id, Parent the id of the line that it follows.
	UUID, Parent string
	// Session is the id of the session, Agent that of a sub-agent.
	Session, Agent string
	// Folder is the working folder.
	Folder string
	// Time is zero if it is missing or invalid.
	Time time.Time
	// Sidechain marks lines of a sub-agent, APIError network errors shown as replies,
	// Meta messages that are hidden from the person and sent to the model.
	Sidechain, APIError, Meta bool
	// CompactSummary marks the summary that begins a compacted history.
	CompactSummary bool
	// Title is the title in a line of type CustomTitle, AITitle or Summary; Leaf is the
	// id of the line that a Summary belongs to.
	Title, Leaf string

	Message Message
}

// A Message is the message in a line. Its slices point into the parsed text.
type Message struct {
	// Raw is the whole message, nil if the line has none.
	Raw []byte
	// ID is the same in all lines of a reply: a reply has one line per part.
	ID, Model string
	Content   []byte
	Usage     Usage
}

// Usage is the vendor's token count of a reply. The fields do not overlap. Only the last
// line of a reply has the complete counts.
type Usage struct {
	Known                                              bool
	Input, CacheRead, CacheWrite, CacheWrite1h, Output int
}

// maxLine is the largest line in bytes.
const maxLine = 256 << 20

var errNotObject = errors.New("want a JSON object")

// Parse parses a line.
func Parse(raw []byte) (Line, error) {
	root, err := rawjson.ParseLenient(raw, maxLine)
	if err != nil {
		return Line{}, err
	}
	if root.Kind() != rawjson.Object {
		return Line{}, errNotObject
	}
	return Read(root), nil
}

// Read returns the line of a parsed object.
func Read(root rawjson.Value) Line {
	l := Line{
		Type:           root.Get("type").Str(),
		Subtype:        root.Get("subtype").Str(),
		UUID:           root.Get("uuid").Str(),
		Parent:         root.Get("parentUuid").Str(),
		Session:        root.Get("sessionId").Str(),
		Agent:          root.Get("agentId").Str(),
		Folder:         root.Get("cwd").Str(),
		Sidechain:      root.Get("isSidechain").Bool(),
		APIError:       root.Get("isApiErrorMessage").Bool(),
		Meta:           root.Get("isMeta").Bool(),
		CompactSummary: root.Get("isCompactSummary").Bool(),
	}
	l.Time, _ = time.Parse(time.RFC3339, root.Get("timestamp").Str())
	switch l.Type {
	case CustomTitle:
		l.Title = root.Get("customTitle").Str()
	case AITitle:
		l.Title = root.Get("aiTitle").Str()
	case Summary:
		l.Title, l.Leaf = root.Get("summary").Str(), root.Get("leafUuid").Str()
	}
	if m := root.Get("message"); m.Exists() {
		l.Message = Message{
			Raw:     m.Raw(),
			ID:      m.Get("id").Str(),
			Model:   m.Get("model").Str(),
			Content: m.Get("content").Raw(),
			Usage:   readUsage(m.Get("usage")),
		}
	}
	return l
}

func readUsage(v rawjson.Value) Usage {
	count := func(v rawjson.Value) int {
		n, _ := v.Int()
		return int(n)
	}
	hour := count(v.Get("cache_creation").Get("ephemeral_1h_input_tokens"))
	return Usage{
		Known:        v.Kind() == rawjson.Object,
		Input:        count(v.Get("input_tokens")),
		CacheRead:    count(v.Get("cache_read_input_tokens")),
		CacheWrite:   count(v.Get("cache_creation_input_tokens")) - hour,
		CacheWrite1h: hour,
		Output:       count(v.Get("output_tokens")),
	}
}

// Said reports whether the line is a message of the person or the model. sidechain selects
// the conversation: that of a sub-agent in its own file, or of the agent itself.
func (l *Line) Said(sidechain bool) bool {
	return (l.Type == User || l.Type == Assistant) && l.Sidechain == sidechain && !l.APIError
}

// Compacts reports whether the history begins anew after this line.
func (l *Line) Compacts() bool { return l.Type == System && l.Subtype == "compact_boundary" }

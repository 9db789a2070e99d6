package report

import (
	"context"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Message is a message as a person is shown it. Its JSON form is that of the API and of oriel show.
// The API adds its parts and what became of it, oriel show its whole text.
type Message struct {
	ID   int64     `json:"id"`
	Time time.Time `json:"time"`
	Role string    `json:"role"`
	// By is who speaks: the role, or "tool" for a message that only has what tools returned.
	By     string `json:"by"`
	Tokens int    `json:"tokens"` // of its own text, by o200k_base
	Pinned bool   `json:"pinned"`
	Format string `json:"format"`
	Ref    string `json:"ref,omitempty"`
	// Variants is in how many further forms the message came.
	Variants int    `json:"variants,omitempty"`
	Text     string `json:"-"`

	// Chat has the message's parts; nil for a line that an agent wrote for itself.
	Chat *chat.Message `json:"-"`
}

// speaker returns who speaks in a message of a role; c is nil if it is not one of a chat.
func speaker(role string, c *chat.Message) string {
	if c == nil || c.Role != chat.User || len(c.Parts) == 0 {
		return role
	}
	for i := range c.Parts {
		if c.Parts[i].Kind != chat.Result {
			return role
		}
	}
	return string(chat.Tool)
}

// Words are the words by which people recognise a message in a list: a person's own, without
// what programs put beside them, or else its text.
func (m *Message) Words() string {
	if m.Chat != nil && m.Chat.Role == chat.User {
		if own := personal(m.Chat); strings.TrimSpace(own) != "" && m.By != string(chat.Tool) {
			return own
		}
	}
	return m.Text
}

// Reader reads the messages of one branch of a conversation.
type Reader struct {
	store   timeline.Store
	tenant  string
	head    timeline.Place
	pins    []timeline.Pin
	current bool // the branch is where the conversation stands
	counter *token.Counter
}

// NewReader returns a reader of the messages up to head, which is where the branch ends.
func NewReader(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation,
	head timeline.Place) (*Reader, error) {
	pins, err := timeline.Notes{Store: s, Tenant: tenant, Conversation: c.Name}.Pins(ctx)
	return &Reader{store: s, tenant: tenant, head: head, pins: pins, current: head == c.Head, counter: TextCounter()},
		err
}

// Read visits the messages with ids first to last, in order. A message is valid only during
// the visit, which must not call the store.
func (r *Reader) Read(ctx context.Context, first, last int64, visit func(*Message) error) error {
	if first > last {
		return nil
	}
	return r.store.Messages(ctx, r.tenant, r.head, first, last, false, func(e *timeline.Entry) error {
		m := Message{
			ID: e.Place.Depth, Time: e.Time.UTC(), Role: e.Role, Pinned: r.pinned(e.Place), Format: e.Format,
			Ref:      e.Ref,
			Variants: len(e.Variants), Text: e.Text(),
		}
		if c, err := e.Chat(); err == nil {
			m.Tokens, m.Chat = Tokens(r.counter, &c), &c
		}
		m.By = speaker(m.Role, m.Chat)
		return visit(&m)
	})
}

// pinned reports whether a message is pinned: by its place, or by its id where another
// program has set the pin for where the conversation stands.
func (r *Reader) pinned(at timeline.Place) bool {
	for i := range r.pins {
		if p := &r.pins[i]; p.At == at || p.At == (timeline.Place{}) && r.current && p.ID == at.Depth {
			return true
		}
	}
	return false
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

type readInput struct {
	Conversation string `json:"conversation,omitempty" jsonschema:"id of the conversation, as recall and list_conversations show it; left out, it is your own"`
	From         int64  `json:"from" jsonschema:"id of the first message"`
	To           int64  `json:"to,omitempty" jsonschema:"id of the last message; left out, one message is read"`
	Offset       int    `json:"offset,omitempty" jsonschema:"only to go on in a long message: where to begin in it, as the answer before says"`
}

type readOutput struct {
	Note         string `json:"note" jsonschema:"what the answer has, whether it is complete, and how to read more"`
	Conversation string `json:"conversation"`
	Messages     []said `json:"messages"`
}

// said is a message.
type said struct {
	ID     int64  `json:"id"`
	Time   string `json:"time,omitempty" jsonschema:"when it was said"`
	Role   string `json:"role" jsonschema:"who said it; tool for what a tool returned"`
	Pinned bool   `json:"pinned,omitempty"`
	Quote  string `json:"quote" jsonschema:"all of it, unless the note says that it goes on"`
}

func (o *readOutput) text() string {
	texts := []string{o.Note}
	for i := range o.Messages {
		m := &o.Messages[i]
		source := passage{Conversation: o.Conversation, ID: m.ID, Time: m.Time, Role: m.Role, Quote: m.Quote}
		texts = append(texts, source.text())
	}
	return strings.Join(texts, "\n\n")
}

func (t *tools) read(ctx context.Context, r *request, in *readInput) (*readOutput, error) {
	c, err := t.find(ctx, r, in.Conversation)
	if err != nil {
		return nil, err
	}
	to := in.To
	if to == 0 {
		to = in.From
	}
	switch last := c.Head.Depth; {
	case to < in.From:
		return nil, mistakef("to: %d is before from, which is %d: give the larger id as to", to, in.From)
	case in.From > last:
		return nil, mistakef("from: there is no message %d: conversation %q has messages 1 to %d", in.From,
			clip.To(c.Name, 80), last)
	default:
		to = min(to, last)
	}
	return t.messages(ctx, r, &c, in.From, to, in.Offset)
}

// answerBytes is what a quoted message takes of an answer, with its source.
func answerBytes(quoted string) int { return len(quoted) + 100 }

var errFull = errors.New("the answer is full")

// messages reads messages as far as an answer has room, from an offset of the first on.
func (t *tools) messages(ctx context.Context, r *request, c *timeline.Conversation, from, to int64,
	offset int) (*readOutput, error) {
	reader, err := report.NewReader(ctx, r.Store, t.o.Tenant, c, c.Head)
	if err != nil {
		return nil, err
	}
	out := &readOutput{Conversation: c.Name, Messages: []said{}}
	room, next, goOn, length := maxText, from, 0, 0
	err = reader.Read(ctx, from, to, func(m *report.Message) error {
		text := m.Text
		if m.ID == from && offset > 0 {
			length = len(text)
			text = text[clip.Ceil(text, min(offset, len(text))):]
		}
		by, quoted := m.By, quote.Text("", text)
		if m.Role == string(chat.User) { // a page in it is not the user's
			first, lines := recall.QuoteMixed(by, m.Text)
			switch mixed := lines != "" && (first != by || strings.Contains(lines, "\n"+string(chat.Tool)+">")); {
			case mixed && len(text) == len(m.Text) && len(lines) <= room:
				by, quoted = first, lines
			case mixed:
				by = string(chat.Tool)
			}
		}
		if len(quoted) > room {
			if len(out.Messages) > 0 {
				return errFull // the next answer has it whole
			}
			// Quoting adds a few bytes to a line, and at most as many again to an empty one.
			kept := clip.Floor(text, room/2)
			if begin := clip.Floor(text, room); len(quote.Text("", text[:begin])) <= room {
				kept = begin
			}
			goOn = len(m.Text) - len(text) + kept
			length = len(m.Text)
			quoted = quote.Text("", text[:kept])
		}
		s := said{ID: m.ID, Role: by, Pinned: m.Pinned, Quote: quoted}
		if !m.Time.IsZero() {
			s.Time = m.Time.Format(time.RFC3339)
		}
		out.Messages = append(out.Messages, s)
		room -= answerBytes(quoted)
		if next = m.ID + 1; goOn > 0 {
			return errFull
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, err
	}
	if offset > 0 && length > 0 && offset >= length {
		return nil, mistakef("offset: message %d has %d bytes of text, all of which were shown", from, length)
	}
	out.Note = readNote(c, from, to, next, goOn, length)
	return out, nil
}

// readNote says what an answer has of messages from to to. next is the first message that
// it does not have; goOn, if not 0, is where the last one goes on.
func readNote(c *timeline.Conversation, from, to, next int64, goOn, length int) string {
	var b strings.Builder
	switch {
	case goOn > 0:
		fmt.Fprintf(&b, "Message %d of conversation %s up to byte %d of %d; it goes on: %s {\"conversation\":%s,\"from\":%d,\"offset\":%d} shows the next part.",
			next-1, quote.Label(c.Name), goOn, length, prompt.ToolRead, argumentOf(c.Name), next-1, goOn)
	case next <= to:
		fmt.Fprintf(&b, "Messages %d to %d of the %d asked for, whole; the next do not fit into one answer: %s {\"conversation\":%s,\"from\":%d,\"to\":%d} shows them.",
			from, next-1, to-from+1, prompt.ToolRead, argumentOf(c.Name), next, to)
	case from == to:
		fmt.Fprintf(&b, "Message %d of conversation %s, which has %d, whole.", from, quote.Label(c.Name), c.Head.Depth)
	default:
		fmt.Fprintf(&b, "Messages %d to %d of conversation %s, which has %d, all of them whole.", from, to,
			quote.Label(c.Name), c.Head.Depth)
	}
	return b.String() + " " + prompt.QuotedRecord
}

package condense

import (
	"context"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// DefaultMax is the limit of a result, in tokens, if Input.Max is 0.
const DefaultMax = 2000

// Input is the span to condense.
type Input struct {
	// Messages is the span, oldest first.
	Messages []chat.Message
	// Previous is the summary or digest before the span, with or without its
	// marker. It is merged into the new text, never nested inside it.
	Previous string
	// Max is the limit of the result in tokens; 0 means DefaultMax.
	Max int
	// Count counts the tokens of a text. Nil means a third of its bytes, which
	// exceeds most encodings' counts.
	Count func(string) int
	// Tool is the name of the tool with which the reader can look the messages up.
	// The marker names it. Empty means that there is none.
	Tool string
	// Omit are sentences that no longer hold. They are removed from the users'
	// messages and from Previous before anything is condensed.
	Omit []string
}

// Output is the result of condensing.
type Output struct {
	Text string
	// Kind is the kind in the text's marker: KindSummary or KindDigest; empty
	// means KindSummary.
	Kind string
	// Stop is the provider's stop reason ("end_turn", "length"); empty if no
	// model was called.
	Stop string
	// Cost is in US dollars; TokensIn and TokensOut are what a model read and
	// wrote. All are 0 if no model was called. They are also set beside an error
	// if the failed call was charged.
	Cost                float64
	TokensIn, TokensOut int
}

// Condenser turns a span into a short text. Use it through [Run], which checks
// the text. An implementation is deterministic or documents that it is not.
type Condenser interface {
	// Condense returns the text without a marker. When Run calls it, Input.Max
	// and Input.Count are set and Input.Previous has no marker.
	Condense(ctx context.Context, in Input) (Output, error)
}

// Func turns a function into a Condenser, for instance one that calls a model.
type Func func(ctx context.Context, in Input) (Output, error)

// Condense calls the function.
func (f Func) Condense(ctx context.Context, in Input) (Output, error) { return f(ctx, in) }

var (
	_ Condenser = Func(nil)
	_ Condenser = Digest{}
	_ Condenser = Extractive{}
	_ Condenser = Model{}
)

// withDefaults sets missing fields and merges earlier summaries into Previous.
func (in Input) withDefaults() Input {
	if in.Max <= 0 {
		in.Max = DefaultMax
	}
	if in.Count == nil {
		in.Count = func(s string) int { return (len(s) + 2) / 3 }
	}
	return in.lift().omit()
}

// lift moves Oriel's own summaries from the messages to the base, so that no method
// condenses a summary as if it were part of the conversation. A text that only begins
// as one is not lifted: the base is believed, and a page can begin with anything.
func (in Input) lift() Input {
	body, _, _ := Unmark(in.Previous)
	var previous strings.Builder
	previous.WriteString(body)
	var rest []chat.Message // nil until something is lifted
	for i := range in.Messages {
		said, bodies, _ := withoutSummaries(&in.Messages[i])
		if len(bodies) == 0 {
			if rest != nil {
				rest = append(rest, in.Messages[i])
			}
			continue
		}
		if rest == nil {
			rest = append(make([]chat.Message, 0, len(in.Messages)), in.Messages[:i]...)
		}
		if len(said.Parts) > 0 {
			rest = append(rest, said)
		}
		for _, body := range bodies {
			if previous.Len() > 0 && body != "" {
				previous.WriteString("\n\n")
			}
			previous.WriteString(body)
		}
	}
	if rest != nil {
		in.Messages = rest
	}
	in.Previous = previous.String()
	return in
}

// withoutSummaries removes Oriel's summaries from a message. It returns the rest of
// the message, the summaries' texts, and the number of messages that they stand
// for.
func withoutSummaries(m *chat.Message) (said chat.Message, bodies []string, covered int) {
	if m.Role != chat.User && m.Role != chat.Assistant {
		return *m, nil, 0
	}
	said = *m
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Written && p.Kind == chat.Text {
			if body, n, ok := Unmark(p.Text.String()); ok {
				if bodies == nil {
					said.Parts = append([]chat.Part(nil), m.Parts[:i]...)
				}
				bodies, covered = append(bodies, body), covered+n
				continue
			}
		}
		if bodies != nil {
			said.Parts = append(said.Parts, *p)
		}
	}
	return said, bodies, covered
}

// covered returns the number of messages that the result stands for, including
// those of earlier summaries.
func (in Input) covered() int {
	_, n, _ := Unmark(in.Previous)
	for i := range in.Messages {
		said, bodies, covered := withoutSummaries(&in.Messages[i])
		n += covered
		if len(bodies) == 0 || len(said.Parts) > 0 {
			n++
		}
	}
	return n
}

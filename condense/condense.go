package condense

import (
	"context"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// DefaultMax is the size of a result, in tokens, when Input.Max is 0.
const DefaultMax = 2000

// Input is what is to be condensed.
type Input struct {
	// Messages is the span that leaves, oldest first.
	Messages []chat.Message
	// Previous is an earlier summary or digest that the span follows, with or
	// without its marker: the base of the new text, never nested inside it.
	Previous string
	// Max is the most tokens of the result; 0 means DefaultMax.
	Max int
	// Count counts the tokens of a text; nil means a third of its bytes, which is
	// more than most encodings need.
	Count func(string) int
}

// Output is what came of it.
type Output struct {
	Text string
	// Kind is what the text calls itself in its marker: KindSummary or
	// KindDigest; empty means KindSummary.
	Kind string
	// Stop is the provider's word for why a model stopped ("end_turn", "length");
	// empty where no model was asked.
	Stop string
	// Cost is in US dollars, TokensIn and TokensOut are what a model was sent and
	// wrote; all are 0 where no model was asked. They are set beside an error too
	// when the failed call was charged.
	Cost                float64
	TokensIn, TokensOut int
}

// Condenser makes a short text of a span. Use it through [Run], which checks the
// text. An implementation is deterministic or says that it is not.
type Condenser interface {
	// Condense returns the text without a marker. Input.Max and Input.Count are
	// set, and Input.Previous has no marker, when Run calls.
	Condense(ctx context.Context, in Input) (Output, error)
}

// Func makes a Condenser of a function, for instance one that calls a model.
type Func func(ctx context.Context, in Input) (Output, error)

// Condense calls the function.
func (f Func) Condense(ctx context.Context, in Input) (Output, error) { return f(ctx, in) }

var (
	_ Condenser = Func(nil)
	_ Condenser = Digest{}
	_ Condenser = Extractive{}
	_ Condenser = Model{}
)

// withDefaults sets what the caller left out and brings earlier summaries into
// one place.
func (in Input) withDefaults() Input {
	if in.Max <= 0 {
		in.Max = DefaultMax
	}
	if in.Count == nil {
		in.Count = func(s string) int { return (len(s) + 2) / 3 }
	}
	return in.lift()
}

// lift takes summaries out of the messages and makes them part of the base, so
// that no method condenses a summary as if somebody had said it.
func (in Input) lift() Input {
	body, _, _ := Unmark(in.Previous)
	var previous strings.Builder
	previous.WriteString(body)
	var rest []chat.Message // nil as long as nothing was lifted
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

// withoutSummaries takes the summaries out of a message, wherever they stand in
// it: what else it says, the texts of the summaries, and how many messages they
// stand for.
func withoutSummaries(m *chat.Message) (said chat.Message, bodies []string, covered int) {
	if m.Role != chat.User && m.Role != chat.Assistant {
		return *m, nil, 0
	}
	said = *m
	if m.Role == chat.User && len(m.Parts) == 1 && m.Parts[0].Kind == chat.Text {
		// What an agent program begins a compacted conversation with.
		if body, ok := foreignSummary(m.Parts[0].Text); ok {
			said.Parts = nil
			return said, []string{body}, 1
		}
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == chat.Text && mayBeMarked(p.Text) {
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

// covered is how many messages the result stands for: those of the span, and
// those that earlier summaries stood for.
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

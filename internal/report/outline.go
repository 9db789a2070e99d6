package report

import (
	"context"
	"math"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Kinds of messages in an Outline.
const (
	OfSystem = 's'
	OfUser   = 'u' // a person's words
	OfModel  = 'a' // the model's words
	OfCall   = 'c' // the model calls tools
	OfTool   = 't' // what tools returned
	OfAgent  = 'm' // a line that an agent wrote for itself
	OfOther  = 'o'
)

// Outline is all messages of a branch in short. Message 1 is the first.
type Outline struct {
	// Head is where the branch ends.
	Head timeline.Place
	// Kinds has a letter for each message.
	Kinds []byte
	// Tokens are those of each message's own text, estimated by its length: counting takes
	// ten times as long as reading.
	Tokens []int32
}

// ReadOutline returns the outline of a branch. If it continues the branch of known, which
// may be nil, only what is new is read; known does not change.
func ReadOutline(ctx context.Context, s timeline.Store, tenant string, head timeline.Place,
	known *Outline) (*Outline, error) {
	out := &Outline{Head: head}
	if known != nil && len(known.Kinds) > 0 {
		passes, err := timeline.Passes(ctx, s, tenant, head, known.Head)
		if err != nil {
			return nil, err
		}
		if passes {
			n := len(known.Kinds)
			out.Kinds, out.Tokens = known.Kinds[:n:n], known.Tokens[:n:n]
		}
	}
	counter := TextCounter()
	err := s.Messages(ctx, tenant, head, int64(len(out.Kinds))+1, head.Depth, false, func(e *timeline.Entry) error {
		c, err := e.Chat()
		if err != nil {
			out.Kinds, out.Tokens = append(out.Kinds, OfAgent), append(out.Tokens, int32(len(e.Raw)/bytesPerToken))
			return nil
		}
		n := 0
		for i := range c.Parts {
			n += estimate(counter, &c.Parts[i])
		}
		out.Kinds, out.Tokens = append(out.Kinds, kindOf(&c)), append(out.Tokens, int32(n))
		return nil
	})
	return out, err
}

// Sizes returns the tokens of the messages as a model counts them: those that plans have
// counted as they did, the others estimated in the same proportion.
func (o *Outline) Sizes(plans []Plan) []int32 {
	out := make([]int32, len(o.Tokens))
	for i := range plans {
		for j := range plans[i].Blocks {
			// A later plan finds a message as an earlier one has left it: smaller.
			if b := &plans[i].Blocks[j]; b.ID >= 1 && b.ID <= int64(len(out)) {
				out[b.ID-1] = max(out[b.ID-1], int32(min(b.Tokens, math.MaxInt32)))
			}
		}
	}
	counted, estimated := 0, 0
	for i, n := range out {
		if n > 0 {
			counted, estimated = counted+int(n), estimated+int(o.Tokens[i])
		}
	}
	for i, n := range o.Tokens {
		if out[i] == 0 {
			out[i] = n
			if estimated > 0 {
				out[i] = int32(min(int(n)*counted/estimated, math.MaxInt32))
			}
		}
	}
	return out
}

// bytesPerToken is how many bytes of English or code make a token.
const bytesPerToken = 4

// estimate estimates the tokens of a part by the length of its JSON. Pictures and files
// count as their provider counts them.
func estimate(c *token.Counter, p *chat.Part) int {
	switch p.Kind {
	case chat.Text, chat.Refusal, chat.Thinking:
		return (len(p.Text) + bytesPerToken - 1) / bytesPerToken
	case chat.Call:
		return (len(p.Name) + len(p.Args) + bytesPerToken - 1) / bytesPerToken
	case chat.Result:
		n := (len(p.Text) + bytesPerToken - 1) / bytesPerToken
		for i := range p.Parts {
			n += estimate(c, &p.Parts[i])
		}
		return n
	}
	return c.Part(p).Tokens
}

// kindOf returns the kind of a message.
func kindOf(m *chat.Message) byte {
	switch m.Role {
	case chat.System, chat.Developer:
		return OfSystem
	case chat.Tool, chat.Function:
		return OfTool
	case chat.User:
		if len(m.Parts) > 0 && !hasOther(m, chat.Result) {
			return OfTool
		}
		return OfUser
	case chat.Assistant:
		for i := range m.Parts {
			if m.Parts[i].Kind == chat.Call {
				return OfCall
			}
		}
		return OfModel
	}
	switch {
	case strings.HasSuffix(m.Type, "_call"):
		return OfCall
	case strings.HasSuffix(m.Type, "_output"):
		return OfTool
	}
	return OfOther
}

// hasOther reports whether a message has a part of another kind.
func hasOther(m *chat.Message, kind chat.Kind) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != kind {
			return true
		}
	}
	return false
}

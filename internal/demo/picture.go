package demo

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/wire"
)

// Picture breaks down a model's request in tokens.
type Picture struct {
	// System includes the tools. Told is stubs and digests of what left. Kept is
	// unchanged messages, New those of them that no earlier call had. Recalled is
	// recalled passages.
	System, Told, Kept, Recalled, New int
}

// picture breaks down a request that reached the model, of total tokens.
func (a *Agent) picture(got *wire.Body, total int) (p Picture) {
	came := map[string]int{} // messages of the agent, by their bytes
	for i := range a.body.Messages {
		came[bare(a.body.Messages[i].Raw)] = i
	}
	count := a.before.counter
	for i := range got.Messages {
		m := &got.Messages[i]
		n := count.Message(m).Tokens + count.Overhead(m).Tokens
		total -= n
		at, same := came[bare(m.Raw)]
		if same && at >= a.shown {
			p.New += n
			continue
		}
		if !same {
			for j := range m.Parts {
				part := &m.Parts[j]
				text, size := part.Text.String(), count.Part(part).Tokens
				switch {
				case strings.HasPrefix(text, prompt.Recalled), strings.HasPrefix(text, prompt.StandingTitle):
					p.Recalled += size
					n -= size
				case strings.HasPrefix(text, chat.Mark):
					p.Told += size
					n -= size
				}
			}
		}
		if i == len(got.Messages)-1 {
			p.New += n
		} else {
			p.Kept += n
		}
	}
	p.System = max(0, total)
	return p
}

// bare returns the bytes of a message without cache marks.
func bare(raw []byte) string {
	b, _, err := wire.WithoutCacheMarks(wire.Anthropic, raw)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

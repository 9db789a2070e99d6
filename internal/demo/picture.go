package demo

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// Picture is what a model's request is made of, in tokens.
type Picture struct {
	// System has the tools, too. Told stands for what left: stubs and digests. Kept
	// are messages as they came, New those of them that no call had before. Recalled
	// is what was brought back.
	System, Told, Kept, Recalled, New int
}

// What Oriel puts before texts of its own; those of recall are told apart.
const (
	byOriel  = "[Oriel"
	recalled = "[Oriel: earlier parts"
	standing = "[Oriel: the user said earlier"
)

// picture looks at a request that reached the model, of so many tokens.
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
				case strings.HasPrefix(text, recalled), strings.HasPrefix(text, standing):
					p.Recalled += size
					n -= size
				case part.Kind == chat.Result && strings.HasPrefix(text, byOriel), strings.HasPrefix(text, byOriel):
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

// bare are the bytes of a message without cache marks.
func bare(raw []byte) string {
	b, _, err := wire.StripCacheMarks(wire.Anthropic, raw)
	if err != nil {
		return string(raw)
	}
	return string(b)
}

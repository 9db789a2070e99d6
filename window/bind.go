package window

import (
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Add adds the thinking that one message lost: was is the message as it came, now as it is
// sent.
func (l *LostThinking) Add(c *token.Counter, was, now *chat.Message) {
	old := thinkingOf(was)
	blocks := len(old.Parts) - len(thinkingOf(now).Parts)
	if blocks <= 0 {
		return
	}
	l.Messages++
	l.Blocks += blocks
	// All of it leaves, or nothing.
	l.Tokens += c.Tokens(c.Size(old)) - c.Tokens(c.Size(&chat.Message{Role: was.Role}))
}

// thinkingOf returns a message with nothing but the thinking of m.
func thinkingOf(m *chat.Message) *chat.Message {
	out := &chat.Message{Role: m.Role}
	for i := range m.Parts {
		if m.Parts[i].Kind == chat.Thinking {
			out.Parts = append(out.Parts, m.Parts[i])
		}
	}
	return out
}

// unbind removes the thinking from the messages behind the first one that a plan changed, if
// the model binds its thinking to what comes before it, and notes in the plan what was lost.
// Thinking before the change is still valid.
func (r *Request) unbind(v *View, binds bool) error {
	if !binds || !r.Format.Protocol().BindsThinking() {
		return nil
	}
	first := 0
	for first < len(v.Shown) && v.Shown[first].Index == first && v.Shown[first].Raw == nil {
		first++
	}
	var lost LostThinking
	sent := r.Sizes
	sent.Messages = make([]token.Size, len(v.Shown))
	for k, p := range v.Shown {
		was := &r.Messages[p.Index]
		sent.Messages[k] = r.Sizes.Messages[p.Index]
		if p.Raw == nil && (k < first || was.Role != chat.Assistant) {
			continue
		}
		raw := p.Raw
		if raw == nil {
			raw = was.Raw
		}
		now, err := wire.ReadMessage(r.Format, raw)
		if err != nil {
			return err
		}
		if k >= first && was.Role == chat.Assistant {
			bare, err := wire.WithoutThinking(r.Format, raw)
			if err != nil {
				return err
			}
			if len(bare) != len(raw) {
				v.Shown[k].Raw = bare
				if now, err = wire.ReadMessage(r.Format, bare); err != nil {
					return err
				}
			}
		}
		sent.Messages[k] = r.Counter.Size(&now)
		lost.Add(r.Counter, was, &now)
	}
	if lost.Blocks > 0 {
		v.Plan.Thinking = &lost
		v.Plan.TokensAfter = r.Counter.Sum(sent).Total
	}
	return nil
}

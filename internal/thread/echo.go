package thread

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
)

// byChangedReply looks for the call whose reply a request continues from although its
// client has changed the reply: truncated, annotated or wrapped it, or kept
// only its tool calls. No other conversation has them. It returns how far the
// request is known.
func (t *tenant) byChangedReply(n *namespace, r *Request, p place) place {
	r.changedReply = nil
	for r.Hints.Session == "" && p.depth > 0 && p.depth < len(r.Messages) && !p.answered() {
		e, b := t.unheard(n, r, p)
		if b != nil || e.reply == nil {
			r.changedReply = b
			return p
		}
		t.mu.Unlock()
		r.related[e] = related(e.reply, &r.Messages[e.i]) || inPieces(e.reply, r.Messages[e.i:])
		t.mu.Lock()
		p = t.walk(n, r)
	}
	return p
}

// unheard returns a reply that must be compared with a message, or the branch
// whose reply is known to match.
func (t *tenant) unheard(n *namespace, r *Request, p place) (e echo, heard *branch) {
	looked := 0
	for _, b := range slices.Backward(n.ends[p]) {
		if looked++; looked > maxSimilar {
			break
		}
		if b.asked != p {
			continue
		}
		i := p.depth
		for j := range b.reply[:min(len(b.reply), maxItems)] {
			if i == len(r.Messages) {
				break
			}
			if thought(&b.reply[j]) && !thought(&r.Messages[i]) {
				continue // clients drop reasoning
			}
			t.work++
			e := echo{&b.reply[j], i}
			i++
			same, known := r.related[e]
			if !known {
				return e, nil
			}
			if same {
				return e, b
			}
		}
	}
	return echo{}, nil
}

// related reports whether a message contains something that only this reply
// has: the id of a call, a call with the same arguments if its client keeps no
// ids, or most of a text.
func related(reply, m *chat.Message) bool {
	if m.Role != reply.Role {
		return false
	}
	made, kept := callsOf(reply), callsOf(m)
	for i, p := range kept {
		if p.ID != "" && slices.ContainsFunc(made, func(c *chat.Part) bool { return c.ID == p.ID }) {
			return true
		}
		if i < len(made) && (p.ID == "" || made[i].ID == "") && sameCall(made[i], p) {
			return true
		}
	}
	a, b := textOf(reply), textOf(m)
	if min(len(a), len(b)) < leastCommon {
		return false
	}
	if strings.Contains(a, b) || strings.Contains(b, a) {
		return true
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= leastCommon && n*5 >= min(len(a), len(b))*4
}

// inPieces reports whether messages begin with several of the model's that together have the
// text of a reply, which must be more than many conversations have in common: Google's SDKs send
// each chunk of a streamed reply back as a message.
func inPieces(reply *chat.Message, messages []chat.Message) bool {
	said := textOf(reply)
	rest := said
	if len(said) < leastCommon {
		return false
	}
	for i := range messages {
		if messages[i].Role != reply.Role {
			return false
		}
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != chat.Text {
				continue
			}
			text, ok := p.Text.String(), false
			if len(rest) == len(said) {
				text = strings.TrimLeftFunc(text, unicode.IsSpace)
			}
			if len(text) >= len(rest) {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			}
			if rest, ok = strings.CutPrefix(rest, text); !ok || rest == "" {
				return ok
			}
		}
	}
	return false
}

// callsOf returns the calls of a message.
func callsOf(m *chat.Message) (calls []*chat.Part) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == chat.Call {
			calls = append(calls, p)
		}
	}
	return calls
}

// sameCall reports whether two calls are of one tool, with the same arguments.
func sameCall(a, b *chat.Part) bool {
	return a.Name == b.Name && sameJSON(a.Arguments(), b.Arguments())
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func textOf(m *chat.Message) string {
	var b strings.Builder
	for i := range m.Parts {
		if k := m.Parts[i].Kind; k == chat.Text || k == chat.Compaction {
			b.WriteString(m.Parts[i].Text.String())
		}
	}
	return strings.TrimSpace(b.String())
}

// wasReplaced reports whether Oriel has replaced something in message i, or its client has
// left out the content of a result.
func (r *Request) wasReplaced(i int) bool {
	was, known := r.replaced[i]
	if !known {
		was = i < r.old() && (replaced(&r.Messages[i]) || chat.Emptied(&r.Messages[i]))
		r.replaced[i] = was
	}
	return was
}

// replaced reports whether Oriel has replaced a part of a message, or the
// middle of one.
func replaced(m *chat.Message) bool {
	return bytes.Contains(m.Raw, []byte(chat.Mark)) && slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
		switch p.Kind {
		case chat.Text:
			return clip.WithoutMiddle(p.Text.String())
		case chat.Result:
			text := p.Text.String()
			for i := range p.Parts {
				text += p.Parts[i].Text.String()
			}
			return strings.HasPrefix(text, chat.Mark+": ") || clip.WithoutMiddle(text)
		}
		return false
	})
}

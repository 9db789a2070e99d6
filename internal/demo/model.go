package demo

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/wire"
)

// Model is the built-in model. It speaks the vendors' formats, refuses what they would
// refuse, and knows only the request that it receives.
type Model struct {
	script *script
	server *fakemodel.Server

	mu    sync.Mutex // protects what follows
	meter *Meter
	last  *wire.Body
}

// NewModel returns a model with an empty cache.
func NewModel() (*Model, error) {
	s, err := readScript(session)
	if err != nil {
		return nil, err
	}
	m := &Model{script: s, meter: NewMeter()}
	m.server = &fakemodel.Server{Answer: m.answer}
	return m, nil
}

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.server.ServeHTTP(w, r) }

// Last returns the last request that it received.
func (m *Model) Last() *wire.Body {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func (m *Model) answer(r *fakemodel.Request) fakemodel.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = r.Body
	used, err := m.meter.Add(r.Body)
	if err != nil {
		return fakemodel.Answer{Status: http.StatusBadRequest, Error: err.Error()}
	}
	a := m.say(r.Body)
	a.Input, a.CacheRead, a.CacheWrite = used.Input, used.CacheRead, used.CacheWrite
	a.Output = m.meter.counter.Text(a.Text).Tokens
	for _, c := range a.Calls {
		a.Output += m.meter.counter.Text(c.Arguments).Tokens
	}
	return a
}

// say decides the answer by the newest message.
func (m *Model) say(b *wire.Body) fakemodel.Answer {
	n, ok := m.next(b)
	if !ok {
		return fakemodel.Answer{
			Text: fmt.Sprintf(
				"I am the model of oriel demo and know only its session. Of this conversation I was sent %d messages.",
				len(b.Messages))}
	}
	st := &m.script.steps[n]
	a := fakemodel.Answer{ID: fmt.Sprintf("msg_%03d", n), Text: st.text, Calls: st.calls}
	if st.needs == nil {
		return a
	}
	text := Text(b.Messages)
	found := st.needs.FindStringSubmatchIndex(text)
	if found == nil {
		return fakemodel.Answer{ID: a.ID, Text: st.otherwise}
	}
	fill := func(s string) string { return string(st.needs.ExpandString(nil, s, text, found)) }
	a.Text, a.Calls = fill(a.Text), nil
	for _, c := range st.calls {
		c.Arguments = fill(c.Arguments)
		a.Calls = append(a.Calls, c)
	}
	return a
}

// next returns the step that follows the newest message.
func (m *Model) next(b *wire.Body) (int, bool) {
	if len(b.Messages) == 0 {
		return 0, false
	}
	newest := &b.Messages[len(b.Messages)-1]
	for i := range newest.Parts {
		p := &newest.Parts[i]
		if n, ok := stepOf(p.ID); p.Kind == chat.Result && ok && n+1 < len(m.script.steps) {
			return n + 1, true
		}
		if p.Kind != chat.Text {
			continue
		}
		for _, t := range m.script.turns {
			if p.Text.String() == t.Text {
				return t.first, true
			}
		}
	}
	return 0, false
}

// Text returns all texts of messages.
func Text(messages []chat.Message) string { return text(messages, true) }

// Unaided returns the texts of messages without recalled passages.
func Unaided(messages []chat.Message) string { return text(messages, false) }

func text(messages []chat.Message, all bool) string {
	var out strings.Builder
	var add func([]chat.Part)
	add = func(parts []chat.Part) {
		for i := range parts {
			says := parts[i].Text.String()
			if !all && strings.HasPrefix(says, prompt.Recalled) {
				continue
			}
			out.WriteString(says)
			out.WriteByte('\n')
			add(parts[i].Parts)
		}
	}
	for i := range messages {
		add(messages[i].Parts)
	}
	return out.String()
}

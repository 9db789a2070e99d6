package recording

import (
	"bytes"
	"strconv"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// turns tells messages in their order: each run of the model's is the reply of a call.
type turns struct {
	sink Sink
	open *openCall
}

// openCall is a call whose reply, or usage, may still come.
type openCall struct {
	call  Call
	reply [][]byte
	after [][]byte // messages behind the reply
	// silent reports that the call was told before, in another history.
	silent bool
}

// reply adds a message of the model.
func (t *turns) reply(c Call, silent bool, raw []byte) error {
	if t.open == nil || len(t.open.after) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
		t.open = &openCall{call: c, silent: silent}
	} else if c.Reported {
		t.open.call.Usage, t.open.call.Reported = c.Usage, true
	}
	t.open.reply = append(t.open.reply, raw)
	return nil
}

// others adds a message that is not the model's.
func (t *turns) others(raw []byte) error {
	if t.open != nil {
		t.open.after = append(t.open.after, raw)
		return nil
	}
	return t.sink.Says(raw)
}

// flush tells the open call.
func (t *turns) flush() error {
	o := t.open
	if o == nil {
		return nil
	}
	t.open = nil
	if !o.silent {
		if err := t.sink.Calls(o.call, o.reply); err != nil {
			return err
		}
	}
	for _, raw := range append(o.reply, o.after...) {
		if err := t.sink.Says(raw); err != nil {
			return err
		}
	}
	return nil
}

// plain is the front of conversations whose entries are messages.
type plain struct {
	turns
	session *Session
	ids     ids
	model   string          // the newest that the recording named
	told    map[string]bool // the calls of earlier histories, by their ids
}

func newPlain(s *Session, sink Sink) front {
	return &plain{turns: turns{sink: sink}, session: s, told: map[string]bool{}}
}

func (p *plain) begin() error {
	if err := p.flush(); err != nil {
		return err
	}
	p.ids = ids{}
	return p.sink.Resets()
}

func (p *plain) request(importer.Request) error { return nil }

func (p *plain) end() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.sink.Ends()
}

func (p *plain) entry(m *timeline.Message) error {
	if name := m.Model(); name != "" {
		p.model = name
	}
	if m.Role == timeline.RoleMeta {
		return p.note(m)
	}
	if m.Format == timeline.FormatCodex {
		return p.item(m)
	}
	said, err := m.Chat()
	if err != nil {
		return nil
	}
	call := Call{ID: m.Ref, Model: p.model, At: m.Time}
	call.Usage, call.Reported = usageOf(m)
	silent := m.Ref != "" && p.told[m.Ref]
	if m.Ref != "" && said.Role == chat.Assistant {
		p.told[m.Ref] = true
	}
	if _, ok := wire.ByName(m.Format); ok && m.Format == p.session.Format.String() {
		return p.add(call, silent, said.Role == chat.Assistant, m.Raw)
	}
	p.ids.complete(&said)
	return p.spread(call, silent, &said)
}

// item takes an item of a Codex rollout as it is.
func (p *plain) item(m *timeline.Message) error {
	root, err := rawjson.ParseLenient(m.Raw, timeline.MaxContent)
	if err != nil {
		return nil
	}
	item, ok := timeline.CodexItem(root)
	said, err := m.Chat()
	if !ok || err != nil {
		return nil
	}
	return p.add(Call{ID: m.Ref, Model: p.model, At: m.Time}, false, said.Role == chat.Assistant,
		bytes.Clone(item.Raw()))
}

// add tells one message.
func (p *plain) add(c Call, silent, isReply bool, raw []byte) error {
	if isReply {
		return p.reply(c, silent, raw)
	}
	return p.others(raw)
}

// spread tells a message in the form of Chat Completions. Results in a message of the model
// come behind it.
func (p *plain) spread(c Call, silent bool, m *chat.Message) error {
	mine, results := *m, chat.Message{Role: chat.Tool}
	mine.Parts, mine.Raw = nil, nil
	for _, part := range m.Parts {
		if part.Kind == chat.Result {
			results.Parts = append(results.Parts, part)
		} else {
			mine.Parts = append(mine.Parts, part)
		}
	}
	for _, one := range []chat.Message{mine, results} {
		if len(one.Parts) == 0 {
			continue
		}
		raws, err := encode(one)
		if err != nil {
			return err
		}
		for _, raw := range raws {
			if err := p.add(c, silent, one.Role == chat.Assistant, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// encode writes a message for a Chat Completions body. Thinking is dropped.
func encode(m chat.Message) (raws [][]byte, err error) {
	body, err := wire.Encode(wire.Chat, &chat.Request{Messages: []chat.Message{m}})
	if err != nil {
		return nil, err
	}
	root, err := rawjson.ParseLenient(body, timeline.MaxContent)
	if err != nil {
		return nil, err
	}
	for e := range root.Get("messages").Elems() {
		if e.Get("content").Kind() != rawjson.Null || e.Has("tool_calls") {
			raws = append(raws, bytes.Clone(e.Raw()))
		}
	}
	return raws, nil
}

// ids gives calls and results that have no ids some that pair them.
type ids struct {
	given int
	open  []chat.Part // calls without results
}

func (d *ids) complete(m *chat.Message) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case chat.Call:
			if p.ID == "" {
				d.given++
				p.ID = "call_" + strconv.Itoa(d.given)
			}
			d.open = append(d.open, *p)
		case chat.Result:
			d.answer(p)
		}
	}
}

// answer gives a result the id of the first open call that it can answer.
func (d *ids) answer(p *chat.Part) {
	for i, c := range d.open {
		if p.ID == c.ID || p.ID == "" && (p.Name == "" || p.Name == c.Name) {
			p.ID = c.ID
			d.open = append(d.open[:i], d.open[i+1:]...)
			return
		}
	}
}

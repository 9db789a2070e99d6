package recording

import (
	"bytes"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// bodies is the front of request bodies. Each body is a call, and so is each reply in it that
// follows no call yet. Its cache marks are taken out, because they move from call to call.
type bodies struct {
	turns
	session *Session
	history []message // all that was told
	body    []message // the body that is being read
	at      Call
}

type message struct {
	raw   []byte
	reply bool
}

func newBodies(s *Session, sink Sink) front { return &bodies{turns: turns{sink: sink}, session: s} }

func (b *bodies) begin() error {
	b.body = nil
	return nil
}

func (b *bodies) entry(m *timeline.Message) error {
	said, err := m.Chat()
	if err != nil {
		return nil
	}
	raw := m.Raw
	if bare, _, err := wire.WithoutCacheMarks(b.session.Format, raw); err == nil &&
		b.session.Format.Protocol().MarksCache {
		raw = bare
	}
	b.body = append(b.body, message{raw, said.Role == chat.Assistant || said.Role == "model"})
	b.at.At = m.Time
	return nil
}

func (b *bodies) request(r importer.Request) error {
	b.at.Model = r.Model
	same := 0
	for same < len(b.history) && same < len(b.body) && bytes.Equal(b.history[same].raw, b.body[same].raw) {
		same++
	}
	if same < len(b.history) {
		if err := b.flush(); err != nil {
			return err
		}
		var told [][]byte
		for _, m := range b.body[:same] {
			told = append(told, m.raw)
		}
		if err := b.sink.Rewinds(told); err != nil {
			return err
		}
	}
	for _, m := range b.body[same:] {
		var err error
		if m.reply {
			err = b.reply(b.at, false, m.raw)
		} else {
			err = b.others(m.raw)
		}
		if err != nil {
			return err
		}
	}
	b.history = b.body
	if n := len(b.body); n == 0 || b.body[n-1].reply && b.open != nil {
		return nil
	}
	if err := b.flush(); err != nil {
		return err
	}
	b.session.System, b.session.Tools = r.System, r.Tools
	b.open = &openCall{call: b.at}
	return nil
}

func (b *bodies) end() error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.sink.Ends()
}

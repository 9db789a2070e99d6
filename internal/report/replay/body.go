package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/report/replay/recording"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// body returns the request of a call.
func (s *replayed) body(c *recording.Call, m token.Model) (*wire.Body, error) {
	if s.system == nil {
		s.system = new(string)
		b, err := s.write(m)
		if err != nil {
			return nil, err
		}
		n := token.NewCounter(m, token.Options{Cache: s.cache}).Request(&b.Request).Total
		if s.rec.System == nil {
			text := systemPrompt(m, min(c.Usage.Prompt()-n, mostSystem))
			s.system = &text
		}
	}
	return s.write(m)
}

// mostSystem is the largest system prompt with tools, in tokens, that is made up. What is
// missing beyond that are messages that the recording lacks.
const mostSystem = 60_000

// systemPrompt returns a text of the given number of tokens.
func systemPrompt(m token.Model, tokens int) string {
	const rule = "Do what the task asks, and say what you did. "
	per := token.NewCounter(m, token.Options{}).Text(strings.Repeat(rule, 100)).Tokens
	return strings.Repeat(rule, max(0, tokens)*100/max(1, per))
}

// maxOutput is the longest reply that the requests ask for, if the model can give it.
const maxOutput = 32_000

// frame is a request without the messages of the recording, which stand between head and
// tail.
type frame struct {
	model, system string
	own           []byte // the recording's system prompt
	head, tail    []byte
}

// frameFor returns the frame of a request. What the recording lacks is written as a program
// would.
func (s *replayed) frameFor(m token.Model) (*frame, error) {
	f, format := &s.frame, s.rec.Format
	if f.head != nil && f.model == s.model && f.system == *s.system && bytes.Equal(f.own, s.rec.System) {
		return f, nil
	}
	r := &chat.Request{Model: cmp.Or(s.model, "unknown"), MaxOutput: min(maxOutput, m.Window/4)}
	if m.MaxOutput > 0 {
		r.MaxOutput = min(r.MaxOutput, m.MaxOutput)
	}
	if *s.system != "" {
		r.System = []chat.Part{{Kind: chat.Text, Text: chat.Quote(*s.system)}}
	}
	body, err := wire.Encode(format, r)
	if err != nil {
		return nil, err
	}
	p := format.Protocol()
	members := ""
	if len(s.rec.System) > 0 && p.System != "" {
		members += fmt.Sprintf("%q:%s,", p.System, s.rec.System)
	}
	if len(s.rec.Tools) > 0 {
		members += fmt.Sprintf("%q:%s,", "tools", s.rec.Tools)
	}
	body = append([]byte("{"+members), body[1:]...)
	root, err := rawjson.ParseLenient(body, timeline.MaxContent)
	if err != nil {
		return nil, err
	}
	list := root.Get(p.List)
	if list.Kind() != rawjson.Array {
		return nil, fmt.Errorf("write a request in the form %s: no list %s", format, p.List)
	}
	_, end := list.Span()
	s.frame = frame{model: s.model, system: *s.system, own: s.rec.System, head: body[:end-1], tail: body[end-1:]}
	return f, nil
}

// write writes and reads the request of a call.
func (s *replayed) write(m token.Model) (*wire.Body, error) {
	f, err := s.frameFor(m)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(f.head)+s.size+len(s.messages)+len(f.tail))
	b = append(b, f.head...)
	for _, raw := range s.messages {
		if last := b[len(b)-1]; last != '[' {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return wire.Read(append(b, f.tail...), s.rec.Format, wire.Limits{})
}

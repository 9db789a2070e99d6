package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// call is what a request contains besides its messages.
type call struct {
	Format Format `json:"format"`
	Model  string `json:"model,omitempty"`
	// Messages is the request's number of messages.
	Messages int `json:"messages"`
	// System and Tools are the hashes of these members' bytes in the body.
	System string `json:"system,omitempty"`
	Tools  string `json:"tools,omitempty"`

	contents [][]byte
}

// readBodies reads request bodies: the successive calls of one conversation, each
// with the history from its beginning. It skips a body if any of its messages
// cannot be read.
func readBodies(ctx context.Context, s *source, r io.Reader, to taker) error {
	name := s.label
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		messages, c, err := readBody(d, s.kind.format)
		if err != nil {
			return err
		}
		if err := to.begin(ctx, name, ""); err != nil {
			return err
		}
		for _, m := range messages {
			m.Time = s.modified
			if err := to.take(ctx, name, m); err != nil {
				return err
			}
		}
		return to.call(ctx, name, c)
	})
}

func readBody(d document, f Format) ([]timeline.Message, call, error) {
	c := call{Format: f, Model: d.root.Get("model").Str()}
	form, ok := wire.ByName(string(f))
	if !ok { // the form of most servers
		form = wire.Chat
	}
	key, system := form.Protocol().List, form.Protocol().System
	if _, err := wire.Read(rawjson.Mend(d.data), form, wire.Limits{Bytes: timeline.MaxContent}); err != nil {
		return nil, c, brokenLine(err.Error())
	}
	var messages []timeline.Message
	list := d.root.Get(key)
	if list.Kind() == rawjson.String { // the input of Responses as plain text
		m, err := bodyMessage(d.raw(list), f)
		if err != nil {
			return nil, c, brokenLine(fmt.Sprintf("%s: %v", key, err))
		}
		messages = append(messages, m)
	}
	for v := range list.Elems() {
		m, err := bodyMessage(d.raw(v), f)
		if err != nil {
			return nil, c, brokenLine(fmt.Sprintf("%s[%d]: %v", key, len(messages), err))
		}
		messages = append(messages, m)
	}
	c.Messages = len(messages)
	for _, part := range []struct {
		key  string
		into *string
	}{{system, &c.System}, {"tools", &c.Tools}} {
		if v := d.root.Get(part.key); part.key != "" && v.Exists() && v.Kind() != rawjson.Null {
			raw := d.raw(v)
			*part.into = timeline.HashOf(raw).String()
			c.contents = append(c.contents, raw)
		}
	}
	return messages, c, nil
}

func bodyMessage(raw []byte, f Format) (timeline.Message, error) {
	m := timeline.Message{Raw: raw, Format: string(f)}
	c, err := m.Chat()
	if err != nil {
		return m, err
	}
	m.Role = string(c.Role)
	if m.Role == "" {
		m.Role = c.Type
	}
	if m.Role == timeline.RoleMeta || !fits(m.Role, timeline.MaxName) {
		return m, fmt.Errorf("role: unknown role %.20q", m.Role)
	}
	m.Identity = timeline.Identity(&c)
	return m, nil
}

// record returns the record of a call that ends at a place.
func (c *call) record(at timeline.Place) (timeline.Record, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return timeline.Record{}, err
	}
	r := timeline.Record{Kind: "call", Key: fmt.Sprintf("import %s %s", at, timeline.HashOf(data)), At: at, Data: data}
	for _, raw := range c.contents {
		r.Contents = append(r.Contents, timeline.HashOf(raw))
	}
	return r, nil
}

package wire

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Limits bounds a body. Zero fields mean the defaults: 64 MiB, depth 1,000, 2 million
// values, and no separate limit on parts.
type Limits struct {
	Bytes, Depth, Values int
	// Parts limits the parts of all messages together, and separately the messages, tools
	// and members. A body over the limit is refused before memory is spent on them.
	Parts int
}

const (
	// MaxParts is the limit of parts or items in a reply, and the Limits.Parts to use for
	// untrusted bodies: a part of 3 bytes takes about PartBytes.
	MaxParts = protocol.MaxParts
	// PartBytes is roughly the memory for a part besides its own bytes.
	PartBytes = 256
)

// Body is a parsed request body.
type Body struct {
	chat.Request
	Format Format
	// Hints are the client's hints about its identity.
	Hints Hints

	data []byte
	// list is the value that holds the messages: an array, or for Responses a
	// plain string.
	list span
	// at[i] is the position of message i in data.
	at     []span
	reader protocol.Reader

	members []Member // at the top, in their order
}

// Member is a top-level field of a body, with its original bytes.
type Member struct {
	Name string
	Raw  []byte
}

type span struct{ start, end int }

// Hints are the fields with which clients identify users and conversations: Anthropic's
// metadata.user_id (UserID), OpenAI's prompt_cache_key (CacheKey), conversation, user and
// previous_response_id (Previous). A field is empty if it is absent or not a string.
type Hints = protocol.Hints

// Read parses a request body. Format Auto detects the format; use ReadTrajectory for a
// trajectory.
func Read(data []byte, f Format, lim Limits) (*Body, error) {
	b := &Body{Format: f, data: data}
	b.reader = protocol.Reader{Request: &b.Request, Hints: &b.Hints, Most: lim.Parts}
	err := parse(data, lim, func(root rawjson.Value) error {
		if f == Auto {
			b.Format = detect(root)
		}
		switch {
		case b.Format.IsProtocol():
			return b.readTop(root)
		case b.Format == Trajectories:
			return protocol.Fail(root, "a trajectory is not a request body")
		}
		return protocol.Fail(root, "not a request that Oriel knows: want %s or the steps of a trajectory", listNames())
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Detect returns the format of a body, or Auto if it is unknown.
func Detect(data []byte, lim Limits) (Format, error) {
	f := Auto
	err := parse(data, lim, func(root rawjson.Value) error {
		f = detect(root)
		return nil
	})
	return f, err
}

// parse checks the JSON and calls read with its root. read must not keep any of its
// values.
func parse(data []byte, lim Limits, read func(root rawjson.Value) error) error {
	return protocol.Parse(data, rawjson.Limits{Bytes: lim.Bytes, Depth: lim.Depth, Values: lim.Values}, read)
}

// At reads what the path of the call says: in some protocols it names the model. It returns an
// error if the body is another protocol's, which has the same paths.
func (b *Body) At(path string) error {
	p := b.Format.Protocol()
	if p.Accepts != nil {
		err := p.Accepts(path, func(member string) bool {
			return slices.ContainsFunc(b.members, func(m Member) bool { return m.Name == member })
		})
		if err != nil {
			return err
		}
	}
	if p.FromPath != nil {
		p.FromPath(&b.Request, path)
	}
	return nil
}

// Data returns the body as received.
func (b *Body) Data() []byte { return b.data }

// Members returns the top-level fields of the body, in order.
func (b *Body) Members() []Member { return b.members }

// Rules returns the protocol's rules for calls and results.
func (b *Body) Rules() chat.Rules {
	p := b.Format.Protocol()
	rules := p.Rules
	rules.Held = slices.Contains(p.Held, b.Managed)
	return rules
}

// readTop reads the other top-level fields, and then the messages.
func (b *Body) readTop(root rawjson.Value) error {
	var list rawjson.Value
	p := b.Format.Protocol()
	n := root.Len()
	if err := b.reader.Few(root, n, "members"); err != nil {
		return err
	}
	b.members = make([]Member, 0, n)
	b.Stream = p.Streams
	for k, v := range root.Members() {
		var err error
		name := string(protocol.Key(k))
		b.members = append(b.members, Member{name, v.Raw()})
		switch {
		case name != p.List:
			err = p.Field(&b.reader, name, v)
		case list.Exists():
			err = protocol.Fail(v, "given twice: which list the provider reads is unknown")
		default:
			list = v
		}
		if err != nil {
			return protocol.In(err, k.Str())
		}
	}
	b.Managed = p.Managed(root)
	if !list.Exists() && (p.LacksList == nil || !p.LacksList(root)) {
		return protocol.Missing(root, p.List)
	}
	if err := b.readList(p, list); err != nil {
		return protocol.In(err, p.List)
	}
	return nil
}

// readList locates and reads every message.
func (b *Body) readList(p *Protocol, list rawjson.Value) error {
	b.list.start, b.list.end = list.Span()
	switch {
	case list.Kind() == rawjson.Array:
	case p.FromText != nil && list.Kind() == rawjson.String:
		b.at = []span{b.list}
		b.Messages = []chat.Message{protocol.TextMessage(list, b.reader.Alloc(1))}
		return nil
	case !list.Exists():
		return nil
	case p.FromText != nil:
		return protocol.Wrong(list, "a string or an array")
	default:
		return protocol.Wrong(list, "an array")
	}
	n := list.Len()
	if err := b.reader.Few(list, n, "messages"); err != nil {
		return err
	}
	b.reader.Messages = n
	b.at = make([]span, 0, n)
	b.Messages = make([]chat.Message, n)
	i := 0
	for v := list.First(); v.Exists(); v = v.Next() {
		if v.Kind() != rawjson.Object {
			return protocol.At(protocol.Wrong(v, "an object"), i)
		}
		start, end := v.Span()
		b.at = append(b.at, span{start, end})
		m := &b.Messages[i]
		m.Raw = v.Raw()
		if err := p.Message(&b.reader, v, m); err != nil {
			return protocol.At(err, i)
		}
		i++
	}
	return nil
}

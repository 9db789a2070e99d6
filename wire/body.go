package wire

import (
	"fmt"
	"strings"
	"sync"

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
	// maxValues is the default limit of JSON values.
	maxValues = 2 << 20
	// MaxParts is the limit of parts or items in a reply, and the Limits.Parts to use for
	// untrusted bodies: a part of 3 bytes takes about PartBytes.
	MaxParts = 1 << 16
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
	at []span

	members []Member    // at the top, in their order
	parts   []chat.Part // the rest of the current chunk of parts
	count   int         // of parts so far
	most    int         // Limits.Parts
}

// Member is a top-level field of a body, with its original bytes.
type Member struct {
	Name string
	Raw  []byte
}

type span struct{ start, end int }

// Hints are the fields with which clients identify users and conversations. A field is
// empty if it is absent or not a string.
type Hints struct {
	UserID       string // Anthropic's metadata.user_id
	CacheKey     string // OpenAI's prompt_cache_key
	Conversation string // the id of OpenAI's conversation
	User         string // OpenAI's user
	Previous     string // OpenAI's previous_response_id
}

// Read parses a request body. Format Auto detects the format; use ReadTrajectory for a
// trajectory.
func Read(data []byte, f Format, lim Limits) (*Body, error) {
	b := &Body{Format: f, data: data, most: lim.Parts}
	err := parse(data, lim, func(root rawjson.Value) error {
		if f == Auto {
			b.Format = detect(root)
		}
		switch b.Format {
		case Anthropic, Chat, Responses:
			return b.readTop(root)
		case Trajectories:
			return protocol.Fail(root, "a trajectory is not a request body")
		}
		return protocol.Fail(root, `not a request that Oriel knows: want "messages" (Anthropic, OpenAI Chat), "input" (OpenAI Responses) or the steps of a trajectory`)
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

// docs keeps parsed documents for reuse: their tapes are larger than the result.
var docs = sync.Pool{New: func() any { return new(rawjson.Doc) }}

// parse checks the JSON and calls read with its root. read must not keep any of its
// values.
func parse(data []byte, lim Limits, read func(root rawjson.Value) error) error {
	if lim.Values == 0 {
		lim.Values = maxValues
	}
	doc := docs.Get().(*rawjson.Doc)
	defer func() {
		_ = doc.Reset(nil, rawjson.Limits{}) // release data
		docs.Put(doc)
	}()
	if err := doc.Reset(data, rawjson.Limits{Bytes: lim.Bytes, Depth: lim.Depth, Values: lim.Values}); err != nil {
		if e, ok := err.(*rawjson.Error); ok {
			return &protocol.Error{Offset: e.Offset, Msg: "not JSON: " + e.Msg}
		}
		return err
	}
	root := doc.Root()
	if root.Kind() != rawjson.Object {
		return protocol.Wrong(root, "an object")
	}
	return read(root)
}

// Data returns the body as received.
func (b *Body) Data() []byte { return b.data }

// Members returns the top-level fields of the body, in order.
func (b *Body) Members() []Member { return b.members }

// Rules returns the protocol's rules for calls and results.
func (b *Body) Rules() chat.Rules {
	return chat.Rules{
		ResultsFollow: b.Format == Anthropic || b.Format == Chat,
		RunsMerge:     b.Format == Anthropic,
		Held:          b.Managed == "previous_response_id" || b.Managed == "conversation",
	}
}

// readTop reads the other top-level fields, and then the messages.
func (b *Body) readTop(root rawjson.Value) error {
	var list rawjson.Value
	listName := b.Format.Protocol().List
	n := root.Len()
	if err := b.few(root, n, "members"); err != nil {
		return err
	}
	b.members = make([]Member, 0, n)
	for k, v := range root.Members() {
		var err error
		name := string(protocol.Key(k))
		b.members = append(b.members, Member{name, v.Raw()})
		switch name {
		case "model":
			b.Model, err = protocol.Str(v)
		case "stream":
			if v.Kind() != rawjson.Bool && v.Kind() != rawjson.Null {
				err = protocol.Wrong(v, "a boolean")
			}
			b.Stream = v.Bool()
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			b.MaxOutput, err = protocol.Count(v)
		case "thinking":
			if b.ThinkingBudget, err = protocol.Count(v.Get("budget_tokens")); err != nil {
				err = protocol.In(err, "budget_tokens")
			}
		case "tools":
			b.Tools = nil // the last member with a name counts
			err = b.readTools(v)
		case "functions":
			if b.Format == Chat {
				err = b.readTools(v)
			}
		case "system":
			if b.Format == Anthropic {
				b.System, err = b.content(v, b.anthropicPart)
			}
		case "instructions":
			if b.Format == Responses {
				b.System, err = b.content(v, b.responsesPart)
			}
		case "metadata":
			b.Hints.UserID = v.Get("user_id").Str()
		case "prompt_cache_key":
			b.Hints.CacheKey = v.Str()
		case "user":
			b.Hints.User = v.Str()
		case "previous_response_id":
			b.Hints.Previous = v.Str()
		case "conversation":
			if b.Hints.Conversation = v.Str(); v.Kind() == rawjson.Object {
				b.Hints.Conversation = v.Get("id").Str()
			}
		case listName:
			if list.Exists() {
				err = protocol.Fail(v, "given twice: which list the provider reads is unknown")
			}
			list = v
		}
		if err != nil {
			return protocol.In(err, k.Str())
		}
	}
	b.Managed = managed(b.Format, root)
	if !list.Exists() && !(b.Format == Responses && heldByProvider(root)) {
		return protocol.Missing(root, listName)
	}
	if err := b.readList(list); err != nil {
		return protocol.In(err, listName)
	}
	return nil
}

// readList locates and reads every message.
func (b *Body) readList(list rawjson.Value) error {
	b.list.start, b.list.end = list.Span()
	switch {
	case list.Kind() == rawjson.Array:
	case b.Format == Responses && list.Kind() == rawjson.String:
		b.at = []span{b.list}
		part := b.alloc(1)
		part[0] = chat.Part{Kind: chat.Text, Text: chat.String(list.Raw())}
		b.Messages = []chat.Message{{Role: chat.User, Raw: list.Raw(), Parts: part}}
		return nil
	case !list.Exists():
		return nil
	case b.Format == Responses:
		return protocol.Wrong(list, "a string or an array")
	default:
		return protocol.Wrong(list, "an array")
	}
	n := list.Len()
	if err := b.few(list, n, "messages"); err != nil {
		return err
	}
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
		var err error
		switch b.Format {
		case Anthropic:
			err = b.anthropicMessage(v, m)
		case Chat:
			err = b.chatMessage(v, m)
		default:
			err = b.responsesItem(v, m)
		}
		if err != nil {
			return protocol.At(err, i)
		}
		i++
	}
	return nil
}

// heldByProvider reports whether a Responses request may omit input because the provider
// holds it.
func heldByProvider(root rawjson.Value) bool {
	given := func(name string) bool { k := root.Get(name).Kind(); return k == rawjson.String || k == rawjson.Object }
	return given("previous_response_id") || given("conversation") || root.Get("prompt").Kind() == rawjson.Object
}

func (b *Body) readTools(v rawjson.Value) error {
	if v.Kind() == rawjson.Null {
		return nil
	}
	if v.Kind() != rawjson.Array {
		return protocol.Wrong(v, "an array")
	}
	if err := b.few(v, v.Len(), "tools"); err != nil {
		return err
	}
	i := 0
	for t := range v.Elems() {
		if t.Kind() != rawjson.Object {
			return protocol.At(protocol.Wrong(t, "an object"), i)
		}
		name := t.Get("name")
		if f := t.Get("function"); f.Kind() == rawjson.Object {
			name = f.Get("name")
		}
		if !name.Exists() {
			name = t.Get("type")
		}
		b.Tools = append(b.Tools, chat.ToolDef{Name: name.Str(), Raw: t.Raw()})
		i++
	}
	return nil
}

// managed returns the field with which the request asks its provider to manage the
// window. Clearing of old thinking does not count: Claude Code requests it in every call.
func managed(f Format, root rawjson.Value) string {
	edits := root.Get("context_management")
	switch f {
	case Anthropic:
		for e := range edits.Get("edits").Elems() {
			if t := e.Get("type").Str(); strings.HasPrefix(t, "clear_tool_uses") || strings.HasPrefix(t, "compact") {
				return "context_management"
			}
		}
	case Responses:
		for _, name := range []string{"previous_response_id", "conversation"} {
			if v := root.Get(name); v.Exists() && v.Kind() != rawjson.Null {
				return name
			}
		}
		if root.Get("truncation").EqualStr("auto") {
			return "truncation"
		}
		if edits.Len() > 0 {
			return "context_management"
		}
	}
	return ""
}

// content reads a string, an array of parts, or null.
func (b *Body) content(v rawjson.Value, part func(rawjson.Value, *chat.Part) error) ([]chat.Part, error) {
	switch v.Kind() {
	case rawjson.Invalid, rawjson.Null:
		return nil, nil
	case rawjson.String:
		p, err := b.take(v, 1)
		if err != nil {
			return nil, err
		}
		p[0] = chat.Part{Kind: chat.Text, Text: chat.String(v.Raw())}
		return p, nil
	case rawjson.Array:
		parts, err := b.take(v, v.Len())
		if err != nil {
			return nil, err
		}
		i := 0
		for e := v.First(); e.Exists(); e = e.Next() {
			if e.Kind() != rawjson.Object {
				return nil, protocol.At(protocol.Wrong(e, "an object"), i)
			}
			parts[i].Raw = e.Raw()
			if err := part(e, &parts[i]); err != nil {
				return nil, protocol.At(err, i)
			}
			i++
		}
		return parts, nil
	}
	return nil, protocol.Wrong(v, "a string, an array or null")
}

// few returns an error if a list has more than Limits.Parts elements.
func (b *Body) few(v rawjson.Value, n int, what string) error {
	if b.most == 0 || n <= b.most {
		return nil
	}
	start, _ := v.Span()
	return &protocol.Error{Offset: start, TooMany: true, Msg: fmt.Sprintf("%d %s: the limit is %d", n, what, b.most)}
}

// room counts n more parts of v and returns an error if the total exceeds Limits.Parts.
func (b *Body) room(v rawjson.Value, n int) error {
	b.count += n
	return b.few(v, b.count, "parts up to here")
}

// take returns n zero parts for v, within Limits.Parts.
func (b *Body) take(v rawjson.Value, n int) ([]chat.Part, error) {
	if err := b.room(v, n); err != nil {
		return nil, err
	}
	return b.alloc(n), nil
}

// alloc returns n zero parts from a chunk, so that a thousand small messages do not cost
// a thousand allocations.
func (b *Body) alloc(n int) []chat.Part {
	if n > len(b.parts) {
		b.parts = make([]chat.Part, max(n, min(64, 2*len(b.Messages))))
	}
	p := b.parts[:n:n]
	b.parts = b.parts[n:]
	return p
}

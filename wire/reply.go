package wire

import (
	"fmt"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Reply is a model's reply, whole (ReadReply) or streamed (StreamReader).
type Reply struct {
	Format Format
	// Message is the assistant's turn in the form in which a client sends it back; nil
	// if nothing arrived, and for Responses.
	Message []byte
	// Items are the output items of Responses, in order; nil for other formats.
	Items [][]byte

	ID, Model string
	// Stop is stop_reason (Anthropic), finish_reason (Chat) or the status
	// (Responses: "completed", "incomplete: max_output_tokens").
	Stop  string
	Usage Usage
	// Error is the error that the provider reported instead of a reply, or within it.
	Error *ReplyError
	// Complete reports that the reply reached its proper end and was kept completely. A
	// reply cut off by a broken connection is not complete.
	Complete bool
	// Pending reports that there is no reply yet, or none any more, and that this is no
	// failure: a response that waits or runs in the background, or was cancelled.
	Pending bool
	// Notes list, for a log, what was not understood or not kept: the first few, without
	// duplicates, in terms of the protocol and never with text of the conversation.
	Notes []string
	// Diagnosis is the provider's own reason for a cache miss, such as tools_changed, if the
	// client had asked for one and there is one.
	Diagnosis string
}

// Usage holds the provider's token counts: Input, Output, CacheRead, CacheWrite (for the default
// time) and CacheWrite1h (for an hour), which do not overlap, and Reasoning, the part of Output
// that was thinking. HasUsage reports whether the provider sent any.
type Usage = protocol.Usage

// ReplyError is an error body or an error event: Type, Code and Message, each of which may be
// empty, and the error in the form that ReadOverflow accepts (Raw).
type ReplyError = protocol.ReplyError

// Messages returns the reply as messages of a history: one, or one per item for
// Responses. They point into Message or Items. A reply of more than MaxParts parts is an
// error.
func (r *Reply) Messages() ([]chat.Message, error) {
	raws := r.Items
	if r.Message != nil {
		raws = [][]byte{r.Message}
	}
	if len(raws) > 0 && !r.Format.IsProtocol() {
		return nil, fmt.Errorf("format %s has no messages: use %s", r.Format, ProtocolNames())
	}
	msgs := make([]chat.Message, len(raws))
	p := r.Format.Protocol()
	reader := readers.Get().(*protocol.Reader)
	reader.Most = MaxParts
	defer func() {
		*reader = protocol.Reader{}
		readers.Put(reader)
	}()
	for i, raw := range raws {
		m := &msgs[i]
		err := parse(raw, Limits{}, func(root rawjson.Value) error {
			m.Raw = root.Raw()
			return p.Message(reader, root, m)
		})
		if err != nil {
			return nil, protocol.At(err, i)
		}
	}
	return msgs, nil
}

// readers keeps readers for reuse; each is empty.
var readers = sync.Pool{New: func() any { return new(protocol.Reader) }}

// ReadReply parses a body that was not streamed, including error bodies. Items point
// into body.
func ReadReply(f Format, body []byte) (*Reply, error) {
	var doc rawjson.Doc
	if err := doc.Reset(body, rawjson.Limits{Values: protocol.MaxValues}); err != nil {
		return nil, protocol.Broken(err)
	}
	root := doc.Root()
	p := f.Protocol()
	if root.Kind() == rawjson.Array { // Google's form of an error, and of a stream
		if p.ListsEvents && !root.First().Has("error") {
			return readEvents(f, root), nil
		}
		root = root.First()
	}
	if root.Kind() != rawjson.Object {
		return nil, protocol.Wrong(doc.Root(), "an object")
	}
	if !p.IsProtocol() {
		return nil, fmt.Errorf("no replies of format %s: want %s", f, ProtocolNames())
	}
	both := new(struct { // one allocation
		to   Reply
		from protocol.Reply
	})
	r := &both.from
	r.ID, r.Model = root.Get("id").Str(), root.Get("model").Str()
	if err := p.Reply(r, root); err != nil && r.Error == nil {
		if r.Error = protocol.ReadError(root); r.Error == nil {
			return nil, err
		}
	}
	if r.Error != nil && r.Error.Raw == nil {
		r.Error.Raw = body
	}
	r.Complete = r.Complete && r.Error == nil
	both.to = replyOf(f, r)
	return &both.to, nil
}

// readEvents reads a reply that is a list of events.
func readEvents(f Format, list rawjson.Value) *Reply {
	r := NewStreamReader(f)
	r.account()
	for e := range list.Elems() {
		if e.Kind() == rawjson.Object {
			r.assembly.Read(&r.stream, nil, e)
		}
	}
	return r.Reply()
}

// replyOf returns what a protocol read as a reply.
func replyOf(f Format, r *protocol.Reply) Reply {
	return Reply{
		Format: f, Message: r.Message, Items: r.Items, ID: r.ID, Model: r.Model, Stop: r.Stop, Usage: r.Usage,
		Error:    r.Error,
		Complete: r.Complete, Pending: r.Pending, Notes: r.Notes,
		Diagnosis: r.Diagnosis,
	}
}

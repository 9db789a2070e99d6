package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// Stored is a recorded call.
type Stored struct {
	Format, Path, Model string
	Thread              thread.Kind
	Began               time.Time
	FirstMS, MS         float64
	Status              int
	Outcome             event.Outcome
	Error, Stop         string
	// RetryAfter is the header Retry-After of an answer that was an error.
	RetryAfter string
	// Tokens is the size of the prompt as it was sent, Came as the client sent it, as
	// Oriel counts them.
	Tokens, Came int
	Usage        *event.Usage
	// Repeats is how much of the prompt the call before began with, too; nil if that is
	// not known.
	Repeats *Repeats
	// Would is what other profiles would have sent, by their names; nil unless the profile is
	// Observe.
	Would map[string]Would
	// Diagnosis is the provider's own reason for a cache miss, such as tools_changed; empty if the
	// client had not asked for one.
	Diagnosis string
	// Before is the number of the conversation's first messages that the client left out of
	// its request, except the first Head of them.
	Before, Head int
	// Plan is the id of the plan by which it was sent; empty if it was sent unchanged.
	Plan string
	// Profile is the profile of the call, Wish the size that it asks for, Hard what the
	// model accepts or the client asked for; zero if no view was made.
	Profile    string
	Wish, Hard int
	// Managed is the field with which the request asked the provider to manage the window,
	// such as context_management; empty if there was none. The model may have seen less
	// than was sent.
	Managed string
	// Body is the request byte for byte, without credentials and with overlong names clipped.
	// Of calls that earlier versions recorded only the messages are as they were, and the
	// other fields re-encoded.
	Body []byte
	// SentIDs are the ids of the messages of the body that ReadSent returns; 0 for a
	// message that is not in the history.
	SentIDs []int64
	// Tools is the hash of the content that holds the tools; empty if there were none.
	Tools string
	// Partial is the received part of a reply that was cut off.
	Partial []byte
}

// Decode decodes a record of kind "call". It leaves out Body and Partial, which
// Read reads from the store.
func Decode(r *timeline.Record) (*Stored, error) {
	e, err := decodeEntry(r)
	if err != nil {
		return nil, err
	}
	return e.call(), nil
}

func decodeEntry(r *timeline.Record) (*entry, error) {
	var e entry
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return nil, fmt.Errorf("read call %s: %w", r.Key, err)
	}
	if e.V != 1 {
		return nil, fmt.Errorf("read call %s: it is of version %d, this program knows 1", r.Key, e.V)
	}
	return &e, nil
}

func (e *entry) call() *Stored {
	return &Stored{
		Format: e.Format, Path: e.Path, Model: e.Model, Thread: e.Thread, Began: e.Began, FirstMS: e.FirstMS, MS: e.MS,
		Status: e.Status, Outcome: cmp.Or(e.Outcome, event.OutcomeOf(e.Error)), Error: e.Error,
		RetryAfter: e.RetryAfter, Stop: e.Stop, Tokens: e.Tokens, Came: cmp.Or(e.Came, e.Tokens), Usage: e.Usage,
		Repeats: e.Repeats, Would: e.Would, Diagnosis: e.Diagnosis,
		Tools: e.Tools, Before: e.Before, Head: e.Head, Plan: plan.IDOf(e.Plan), Profile: e.Profile, Wish: e.Wish,
		Hard: e.Hard, Managed: e.Managed,
	}
}

// ReadBody reads a body of the call, in the protocol in which the call was recorded.
func (c *Stored) ReadBody(body []byte) (*wire.Body, error) {
	f, _ := wire.ByName(c.Format)
	return wire.Read(body, f, wire.Limits{})
}

// Read reads a stored record of kind "call".
func Read(ctx context.Context, store timeline.Store, tenant string, r *timeline.Record) (*Stored, error) {
	e, err := decodeEntry(r)
	if err != nil {
		return nil, err
	}
	c := e.call()
	rd := reader{ctx: ctx, store: store, tenant: tenant}
	c.Partial = rd.content(e.Partial)
	c.Body = rd.body(e, r.At)
	if rd.err != nil {
		return nil, fmt.Errorf("read call %s: %w", r.Key, rd.err)
	}
	return c, nil
}

// reader reads contents until one fails.
type reader struct {
	ctx    context.Context
	store  timeline.Store
	tenant string
	err    error
}

func (r *reader) content(hash string) []byte {
	if hash == "" || r.err != nil {
		return nil
	}
	h, err := timeline.ParseHash(hash)
	if err != nil {
		r.err = err
		return nil
	}
	raw, err := r.store.Content(r.ctx, r.tenant, h)
	r.err = err
	return raw
}

// body restores a request.
func (r *reader) body(e *entry, at timeline.Place) []byte {
	var list [][]byte
	form, ok := wire.ByName(e.Format)
	if !ok {
		r.err = fmt.Errorf("its protocol is %q, which this program does not know", e.Format)
		return nil
	}
	system, name := form.Protocol().System, form.Protocol().List
	var top [][]byte
	for _, hash := range e.System[:min(e.Apart, len(e.System))] {
		top = append(top, r.content(hash))
	}
	for _, hash := range e.System[min(e.Apart, len(e.System)):] {
		list = append(list, r.content(hash))
	}
	history := r.messages(e, at)
	if r.err != nil {
		return nil
	}
	for _, hash := range e.Own {
		list = append(list, r.content(hash))
	}
	list = append(list, history[e.Before:]...)

	rest := r.rest(e.Rest)
	if whole := r.framed(e, rest, system, top, name, list); whole != nil || r.err != nil {
		return whole
	}
	var b bytes.Buffer
	b.WriteByte('{')
	field := func(name string, raw []byte) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", name)
		b.Write(raw)
	}
	b.Write(rest)
	switch {
	case len(top) == 1 && e.Plain:
		field(system, top[0])
	case len(top) > 0:
		field(system, array(top))
	}
	if e.Tools != "" {
		field("tools", r.content(e.Tools))
	}
	if isText(list) {
		field(name, list[0])
	} else {
		field(name, array(list))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// isText reports whether a list of messages is a plain text instead.
func isText(list [][]byte) bool { return len(list) == 1 && len(list[0]) > 0 && list[0][0] == '"' }

// framed restores a request in its own bytes; nil if there is no frame for it.
func (r *reader) framed(e *entry, rest []byte, system string, top [][]byte, name string, list [][]byte) []byte {
	frame := r.content(e.Frame)
	if frame == nil {
		return nil
	}
	members, lists := map[string][]byte{}, map[string][][]byte{}
	fields, err := rawjson.Parse(slices.Concat([]byte("{"), rest, []byte("}")), rawjson.Limits{})
	if err != nil {
		return nil
	}
	for k, v := range fields.Root().Members() {
		members[k.Str()] = v.Raw()
	}
	switch {
	case len(top) == 1 && e.Plain:
		members[system] = top[0]
	case len(top) > 0:
		lists[system] = top
	}
	if e.Tools != "" {
		members["tools"] = r.content(e.Tools)
	}
	if isText(list) {
		members[name] = list[0]
	} else {
		lists[name] = list
	}
	whole, err := wire.Fill(frame, members, lists)
	if err != nil {
		return nil
	}
	return whole
}

func array[E ~[]byte](elements []E) []byte {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// messages returns the messages of the history up to the call, each in the form in which
// it came.
func (r *reader) messages(e *entry, at timeline.Place) [][]byte {
	if r.err != nil {
		return nil
	}
	forms, err := timeline.ParseForms(e.Forms)
	if err != nil {
		r.err = err
		return nil
	}
	var out [][]byte
	r.err = timeline.ReadForms(r.ctx, r.store, r.tenant, at, forms, func(m *timeline.Entry) error {
		out = append(out, bytes.Clone(m.Raw))
		return nil
	})
	if r.err == nil && len(out) != e.Before+e.Messages {
		r.err = fmt.Errorf("%w: %d messages for a call of %d behind %d", timeline.ErrDamaged, len(out), e.Messages,
			e.Before)
	}
	return out
}

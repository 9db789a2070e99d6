package socket

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// maxResponses is how many responses of a connection can be continued. Clients continue the
// newest, or branch off a little before it.
const maxResponses = 32

// History is what one connection has said. It is not safe for concurrent use.
type History struct {
	// Take reserves memory for what is held and reports whether there is any; Give returns it.
	Take func(n int64) bool
	Give func(n int64)

	seed maphash.Seed
	// age counts the calls of Forget.
	age  int
	byID map[string]*response
	ids  []string // of byID, the oldest first
}

// NewHistory returns the history of a connection on which nothing was said.
func NewHistory(take func(n int64) bool, give func(n int64)) *History {
	return &History{Take: take, Give: give, seed: maphash.MakeSeed(), byID: map[string]*response{}}
}

// response is what one response added to the response that it continues.
type response struct {
	before *response
	items  []byte // input and output, separated by commas
	// sent are the hashes of all items that the provider has by the response's id.
	sent []uint64
	size int64
	uses int // by the history, and by responses that continue it
}

// Turn is one call.
type Turn struct {
	history *History
	frame   *Frame
	base    *response // that it continues; nil: none, or one that only the provider knows
	known   bool      // base is all that came before
	body    []byte
	sent    []uint64
	tries   int
	age     int
	ended   bool
}

// Turn returns the call that a message asks for.
func (h *History) Turn(f *Frame) *Turn {
	t := &Turn{history: h, frame: f, base: h.byID[f.previous], known: f.previous == "", age: h.age}
	skip := func(name string) bool { return envelope[name] }
	var set map[string][]byte
	if t.base != nil {
		t.known = true
		t.base.uses++
		skip = func(name string) bool { return envelope[name] || name == "previous_response_id" }
		set = map[string][]byte{"input": t.base.input(f.items)}
	}
	t.body = appendMembers([]byte{'{'}, f.root, skip, set)
	if t.base != nil && !f.root.Has("input") {
		if len(t.body) > 1 {
			t.body = append(t.body, ',')
		}
		t.body = append(append(t.body, `"input":`...), set["input"]...)
	}
	t.body = append(t.body, '}')
	return t
}

// input returns the whole input of a call that continues a response with items.
func (r *response) input(items [][]byte) []byte {
	all, size := []*response(nil), 2
	for at := r; at != nil; at = at.before {
		all = append(all, at)
		size += len(at.items) + 1
	}
	for _, item := range items {
		size += len(item) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for _, at := range slices.Backward(all) {
		out = appendItem(out, at.items)
	}
	for _, item := range items {
		out = appendItem(out, item)
	}
	return append(out, ']')
}

// appendItem appends items to a list that is not closed.
func appendItem(list, items []byte) []byte {
	if len(items) == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1] != '[' {
		list = append(list, ',')
	}
	return append(list, items...)
}

// Body returns the request as a body of POST /v1/responses, with the whole input as far as it is
// known.
func (t *Turn) Body() []byte { return t.body }

// Message returns the message that has the provider answer a body, which is that of the turn or
// was made from it.
func (t *Turn) Message(body []byte) []byte {
	doc, err := rawjson.Parse(body, rawjson.Limits{})
	if err != nil {
		return t.frame.raw
	}
	t.tries++
	input := doc.Root().Get("input")
	items := itemsOf(input)
	t.sent = t.sent[:0]
	for _, item := range items {
		t.sent = append(t.sent, maphash.Bytes(t.history.seed, item))
	}
	if t.base == nil {
		if bytes.Equal(body, t.body) {
			return t.frame.raw
		}
		return t.whole(doc.Root(), "", nil)
	}
	held := len(t.base.sent)
	// A provider that refused a call forgets the response that it was to continue.
	if t.tries > 1 || len(t.sent) < held || !slices.Equal(t.sent[:held], t.base.sent) {
		return t.whole(doc.Root(), "", nil)
	}
	fresh := items[held:]
	if slices.EqualFunc(fresh, t.frame.items, bytes.Equal) && t.sameBeside(body, input) {
		return t.frame.raw
	}
	list := []byte{'['}
	for _, item := range fresh {
		list = appendItem(list, item)
	}
	return t.whole(doc.Root(), t.frame.previous, append(list, ']'))
}

// Own returns the client's message, which continues what the provider holds: for a call without an
// engine.
func (t *Turn) Own() []byte {
	t.tries++
	t.sent = t.sent[:0]
	if t.base != nil {
		t.sent = append(t.sent, t.base.sent...)
	}
	for _, item := range t.frame.items {
		t.sent = append(t.sent, maphash.Bytes(t.history.seed, item))
	}
	return t.frame.raw
}

// sameBeside reports whether a body is that of the turn beside its input.
func (t *Turn) sameBeside(body []byte, input rawjson.Value) bool {
	doc, err := rawjson.Parse(t.body, rawjson.Limits{})
	if err != nil {
		return false
	}
	from, to := input.Span()
	ownFrom, ownTo := doc.Root().Get("input").Span()
	return bytes.Equal(body[:from], t.body[:ownFrom]) && bytes.Equal(body[to:], t.body[ownTo:])
}

// whole returns a message with the members of a body; with previous, it continues a response by
// the items of input.
func (t *Turn) whole(body rawjson.Value, previous string, input []byte) []byte {
	out := appendMembers([]byte{'{'}, t.frame.root, func(name string) bool {
		return !envelope[name] && (name != "previous_response_id" || previous == "")
	}, nil)
	var set map[string][]byte
	if input != nil {
		set = map[string][]byte{"input": input}
	}
	return append(appendMembers(out, body, func(string) bool { return false }, set), '}')
}

// Answered ends the turn: with its reply, or with nil if there is none to continue. Only the first
// Answered counts.
func (t *Turn) Answered(r *Reply) {
	h := t.history
	if t.ended {
		return
	}
	t.ended = true
	defer h.release(t.base)
	if r == nil || !r.whole || r.id == "" || !t.known || t.tries == 0 || t.age != h.age {
		return
	}
	output := r.output(!t.frame.stored)
	next := &response{before: t.base, sent: slices.Grow(t.sent[:len(t.sent):len(t.sent)], len(output)), uses: 1}
	size := 0
	for _, all := range [][][]byte{t.frame.items, output} {
		for _, item := range all {
			size += len(item) + 1
		}
	}
	next.size = int64(size + 8*(len(t.sent)+len(output)))
	if !h.Take(next.size) {
		h.Forget()
		return
	}
	next.items = make([]byte, 0, size)
	for _, item := range t.frame.items {
		next.items = appendItem(next.items, item)
	}
	for _, item := range output {
		next.items = appendItem(next.items, item)
		next.sent = append(next.sent, maphash.Bytes(h.seed, item))
	}
	if t.base != nil {
		t.base.uses++
	}
	h.keep(r.id, next)
}

// keep makes a response one that can be continued.
func (h *History) keep(id string, r *response) {
	if old := h.byID[id]; old != nil {
		h.release(old)
		h.ids = slices.DeleteFunc(h.ids, func(other string) bool { return other == id })
	}
	h.byID[id] = r
	if h.ids = append(h.ids, id); len(h.ids) > maxResponses {
		h.release(h.byID[h.ids[0]])
		delete(h.byID, h.ids[0])
		h.ids = slices.Delete(h.ids, 0, 1)
	}
}

// release ends a use of a response.
func (h *History) release(r *response) {
	for r != nil {
		if r.uses--; r.uses > 0 {
			return
		}
		h.Give(r.size)
		r = r.before
	}
}

// Forget makes all responses unknown: the client sent something that may have changed what the
// provider holds, or memory is short.
func (h *History) Forget() {
	h.age++
	for _, r := range h.byID {
		h.release(r)
	}
	clear(h.byID)
	h.ids = nil
}

// Known reports how many responses can be continued.
func (h *History) Known() int { return len(h.byID) }

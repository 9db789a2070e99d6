package socket

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Event is a message of the provider.
type Event struct {
	// Stream names the lane that it belongs to.
	Stream string
	// Reply reports that it belongs to a response. Others are about the connection or the
	// account.
	Reply bool
	// Last reports that no event of the response follows.
	Last bool
	// Status is the HTTP status of an error; 0 for any other event. RetryAfter is its header of
	// that name.
	Status     int
	RetryAfter string

	kind string
	raw  []byte
	root rawjson.Value
}

// last are the types of the events that end a response.
var last = []string{"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"}

// EventReader reads events. The zero value is ready for use.
type EventReader struct{ doc rawjson.Doc }

// Read reads an event, which is valid until the next Read and as long as raw does not change. An
// event that is not understood is the zero Event.
func (r *EventReader) Read(raw []byte) Event {
	if r.doc.Reset(raw, rawjson.Limits{}) != nil {
		return Event{}
	}
	root := r.doc.Root()
	e := Event{Stream: root.Get("stream_id").Str(), kind: root.Get("type").Str(), raw: raw, root: root}
	e.Reply = e.kind == "error" || strings.HasPrefix(e.kind, "response.") &&
		!strings.HasPrefix(e.kind, "response.steer.")
	e.Last = slices.Contains(last, e.kind)
	if e.kind == "error" {
		e.Status = http.StatusBadRequest
		for _, name := range []string{"status", "status_code"} {
			if n, ok := root.Get(name).Int(); ok && n >= 400 && n < 600 {
				e.Status = int(n)
			}
		}
		for name, v := range root.Get("headers").Members() {
			if strings.EqualFold(name.Str(), "Retry-After") {
				e.RetryAfter = strings.Trim(string(v.Raw()), `"`)
			}
		}
	}
	return e
}

// AppendSSE appends the event to dst as POST /v1/responses streams it.
func (e *Event) AppendSSE(dst []byte) []byte {
	dst = append(append(append(dst, "event: "...), e.kind...), "\ndata: "...)
	at := len(dst)
	dst = append(dst, e.raw...)
	for i, c := range dst[at:] { // between values only: a string has none
		if c == '\n' || c == '\r' {
			dst[at+i] = ' '
		}
	}
	return append(dst, "\n\n"...)
}

// Reply collects what a response adds to the history.
type Reply struct {
	id    string
	whole bool // it ended and can be continued
	items [][]byte
	size  int
	// final has the items of the last event, which some providers leave empty.
	final [][]byte
}

// Add adds an event of the response.
func (r *Reply) Add(e *Event) {
	switch e.kind {
	case "response.output_item.done":
		i, ok := e.root.Get("output_index").Int()
		item := e.root.Get("item")
		if !ok || i < 0 || i > 1<<16 || item.Kind() != rawjson.Object {
			return
		}
		for len(r.items) <= int(i) {
			r.items = append(r.items, nil)
		}
		r.items[i] = bytes.Clone(item.Raw())
		r.size += len(r.items[i])
	case "response.created":
		r.id = e.root.Get("response").Get("id").Str()
	case "response.completed", "response.incomplete":
		response := e.root.Get("response")
		if id := response.Get("id").Str(); id != "" {
			r.id = id
		}
		r.whole = true
		for item := range response.Get("output").Elems() {
			r.final = append(r.final, bytes.Clone(item.Raw()))
			r.size += len(item.Raw())
		}
	}
}

// Size returns how many bytes the reply holds.
func (r *Reply) Size() int { return r.size }

// output returns the items of the reply as an input has them. With unstored, reasoning that
// only the provider could look up is left out: it keeps no response of this kind.
func (r *Reply) output(unstored bool) (items [][]byte) {
	all := r.items
	if len(r.final) > 0 {
		all = r.final
	}
	for _, item := range all {
		if item == nil || unstored && !resendable(item) {
			continue
		}
		items = append(items, item)
	}
	return items
}

// resendable reports whether an item means something to a provider that has not kept it.
func resendable(item []byte) bool {
	doc, err := rawjson.Parse(item, rawjson.Limits{})
	if err != nil {
		return false
	}
	root := doc.Root()
	return !root.Get("type").EqualStr("reasoning") || root.Get("encrypted_content").Kind() == rawjson.String
}

package view

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// unbind takes the thinking out of the pieces from the first one on at which the view is
// another than it was. Newer models take a block of thinking only while nothing before
// it has changed, and refuse the whole request otherwise; what they would drop instead,
// if told to, is the same. Thinking that comes after the cut is bound to the view as it
// is from then on, and stays.
func (e *draft) unbind(first int) {
	if e.Body.Format != wire.Anthropic || !e.binds() {
		return
	}
	for k := first; k < len(e.pieces); k++ {
		m := e.message(e.pieces[k])
		if m.Role != chat.Assistant {
			continue
		}
		raw, err := e.bare(k)
		if err != nil {
			continue
		}
		if bare, err := wire.StripThinking(e.Body.Format, raw); err == nil && len(bare) != len(raw) {
			e.set(k, bare)
		}
	}
}

// rebind does so for a cut that was made when nobody knew that the model binds, and where
// the provider says that something is left: a reply to a request that was sent whole is
// bound to that.
func (e *draft) rebind() {
	if e.before == nil || e.before.ThinkingStripped && !e.Unbind || !e.binds() {
		return
	}
	first := len(e.pieces)
	for k, p := range slices.Backward(e.pieces) {
		d := e.depth(p.Index)
		if d > 0 && (p.Raw != nil || e.before.Dropped.Has(d-1)) {
			first = k
		}
	}
	e.unbind(first)
}

// sameBytes reports whether two slices are the very same.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// binds reports whether the model binds its thinking to what stands before it.
func (s *request) binds() bool { return s.model.Binds || s.v.o.Limits.Binds(s.asked(0)) }

package view

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// unbind strips thinking from the pieces after the first one at which the view
// changed. Newer models accept a thinking block only while nothing before it
// has changed, and otherwise refuse the whole request or, if told to, drop the
// same blocks. Thinking after the cut is bound to the view from then on, and
// stays.
func (e *draft) unbind(first int) {
	if !e.Body.Format.Protocol().BindsThinking() || !e.binds() {
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
		if bare, err := wire.WithoutThinking(e.Body.Format, raw); err == nil && len(bare) != len(raw) {
			e.set(k, bare)
		}
	}
}

// rebind strips thinking from an older cut that was made before it was known
// that the model binds its thinking, or after the provider has refused such a
// block: a reply to a request that was sent whole is bound to that request.
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

// lostThinking returns the thinking that messages lost although they are sent; nil if none did.
func (e *draft) lostThinking() *window.LostThinking {
	if !e.Body.Format.Protocol().BindsThinking() {
		return nil
	}
	var lost window.LostThinking
	for _, p := range e.pieces {
		if p.Raw != nil {
			lost.Add(e.counter, &e.Body.Messages[p.Index], e.message(p))
		}
	}
	if lost.Blocks == 0 {
		return nil
	}
	return &lost
}

// sameBytes reports whether two slices share their memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// binds reports whether the model binds its thinking to what precedes it.
func (s *request) binds() bool { return s.model.Binds || s.v.o.Limits.Binds(s.asked(0)) }

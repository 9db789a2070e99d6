package view

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// write makes the body that is sent. total is the size of the pieces without
// cache marks, which count in parts of unknown kind.
func (s *request) write(pieces []wire.Piece, total token.Breakdown) ([]byte, token.Breakdown, error) {
	marked, changed, err := s.remark(pieces)
	if err != nil {
		return nil, total, err
	}
	if changed {
		if with := s.count(marked); with.Total <= s.budget || total.Total > s.budget {
			pieces, total = marked, with
		}
	}
	body, err := s.Body.Write(pieces)
	return s.steady(body), total, err
}

// steady returns a body without what changes with every call, and asks for the cache, if the
// settings want that.
func (s *request) steady(body []byte) []byte {
	if s.PlainCache {
		body = s.Body.Steady(body)
	}
	if s.MarkCache {
		body = s.Body.AskCache(body)
	}
	return body
}

// askDrop returns a body that is sent by a cut with a request to drop thinking that lost its
// place. What the view took out of it is not all: the client may change what it sends, too.
func (s *request) askDrop(body []byte, cut *plan.Plan) (out []byte, beta string) {
	if !s.AskDrop || cut == nil || !cut.ThinkingStripped {
		return body, ""
	}
	return s.Body.AskDrop(body)
}

// changed reports whether a body differs from the original.
func (s *request) changed(body []byte) bool { return !sameBytes(body, s.Body.Data()) }

// remark moves the client's cache marks to where they belong now: to what
// replaces a message, and from a message that is left out to the nearest one
// before it that is sent.
func (s *request) remark(pieces []wire.Piece) (out []wire.Piece, changed bool, err error) {
	if !s.Body.Format.Protocol().MarksCache {
		return pieces, false, nil
	}
	out = slices.Clone(pieces)
	full := -1 // the last piece that has a mark, or accepts none
	k := 0
	for i := range s.Body.Messages {
		shown := k < len(out) && out[k].Index == i
		if shown {
			k++
		}
		if k == 0 || shown && out[k-1].Raw == nil || !cached(&s.Body.Messages[i]) {
			continue
		}
		p := &out[k-1]
		if !shown && (full == k-1 || cached(s.message(*p))) {
			full = k - 1
			continue
		}
		_, mark, err := wire.WithoutCacheMarks(s.Body.Format, s.Body.Messages[i].Raw)
		if err != nil {
			return nil, false, err
		}
		raw := p.Raw
		if raw == nil {
			raw = s.Body.Messages[p.Index].Raw
		}
		raw, ok, err := wire.PutMark(s.Body.Format, raw, mark)
		if err != nil {
			return nil, false, err
		}
		full = k - 1
		if ok {
			p.Raw, changed = raw, true
		}
	}
	return out, changed, nil
}

func cached(m *chat.Message) bool { return anyCached(m.Parts) }

func anyCached(parts []chat.Part) bool {
	return slices.ContainsFunc(parts, func(p chat.Part) bool { return p.Cached || anyCached(p.Parts) })
}

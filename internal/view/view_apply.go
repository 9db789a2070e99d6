package view

import (
	"errors"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/wire"
)

// Apply shows a request as the last call was shown, and decides nothing, for
// callers that only count.
func (v *Viewer) Apply(in *Input) (*Result, error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, err
	}
	if s.profile.Off || s.managed() {
		return s.leave(), nil
	}
	return s.again(s.usable(v.o.Index.PlansAt(in.Thread)))
}

// ApplyCut shows a request by the cut that was made for it, as the call was sent. It
// decides nothing and needs no index. A nil cut changes nothing. depths are the depths of
// the body's messages in the history, from 1 on, or 0 for those that have none.
func (v *Viewer) ApplyCut(in *Input, cut *plan.Plan) (r *Result, depths []int, err error) {
	s, err := v.newRequest(in)
	if err != nil {
		return nil, nil, err
	}
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pieces {
		depths = append(depths, s.depth(p.Index))
	}
	r, err = s.again(cut)
	return r, depths, err
}

// usable returns the first of the cuts found for a request by which it can be
// shown, or nil. A cut may have been made for a smaller budget; a client that
// trims its history may send too little of what a cut keeps; and the newest
// turn of a client that goes back may be what a cut dropped as old.
func (s *request) usable(found []*plan.Plan) *plan.Plan {
	if len(found) == 0 {
		return nil
	}
	came := chat.NewCuts(s.Body.Messages, s.Body.Rules())
	for _, cut := range found {
		if !s.void(cut) && s.shows(came, cut) {
			return cut
		}
	}
	return nil
}

// shows reports whether a request can be shown by a cut.
func (s *request) shows(came *chat.Cuts, cut *plan.Plan) bool {
	if last := s.depth(len(s.Body.Messages) - 1); cut.ExceptNewest && last > 0 && last <= cut.Covers {
		return false
	}
	pieces, err := s.apply(cut)
	return err == nil && s.sound(came, pieces)
}

// sound reports whether what is left of a request is no more broken than the
// request: no exchange has lost a part, and nothing comes before the first
// question.
func (s *request) sound(came *chat.Cuts, pieces []wire.Piece) bool {
	shown := make([]chat.Message, len(pieces))
	for i, p := range pieces {
		shown[i] = *s.message(p)
	}
	left := chat.NewCuts(shown, s.Body.Rules())
	return broken(left) <= broken(came) && (opens(left) == chat.Question || opens(came) != chat.Question)
}

func broken(c *chat.Cuts) int {
	n := 0
	for _, x := range c.Exchanges {
		if x.Broken != "" {
			n++
		}
	}
	return n
}

// opens returns the side that speaks first.
func opens(c *chat.Cuts) chat.Side {
	for _, x := range c.Exchanges {
		if x.First != chat.Preamble {
			return x.First
		}
	}
	return chat.Preamble
}

// again shows a request by a cut that was made before.
func (s *request) again(cut *plan.Plan) (*Result, error) {
	pieces, err := s.apply(cut)
	if err != nil {
		return nil, err
	}
	body, n, err := s.write(pieces, s.count(pieces))
	if err != nil {
		return nil, err
	}
	body, beta := s.askDrop(body, cut)
	return &Result{Body: body, Changed: s.changed(body), Beta: beta,
		Before: s.before.Total, After: n.Total, Local: n.Local,
		Action: action(cut), Cut: cut, Room: s.room(), Budget: s.hard, request: s, pieces: pieces}, nil
}

// apply does to the request what a cut did to an earlier one.
func (s *request) apply(cut *plan.Plan) ([]wire.Piece, error) {
	pieces := s.Body.Whole()
	if cut == nil {
		return pieces, nil
	}
	out := pieces[:0]
	for _, p := range pieces {
		d := s.depth(p.Index)
		if d > 0 && d <= cut.Covers {
			if cut.Dropped.Has(d) {
				continue
			}
			p.Raw = s.named(cut.Replaced[d])
		} else if d == 0 && p.Index >= s.lead && len(cut.ClientOwn) > 0 {
			raw, ok := cut.ClientOwn[s.identity(p.Index)]
			if ok && raw == nil {
				continue
			}
			p.Raw = s.named(raw)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("a cut leaves nothing of the request")
	}
	return out, nil
}

// named returns what is sent in place of a message. Its stubs and markers name Oriel's recall
// tool only if the request has it, also if the cut was made for one that had.
func (s *request) named(raw []byte) []byte {
	if raw == nil || s.recalls {
		return raw
	}
	return prompt.WithoutTool(raw)
}

// action returns what a plan does, for people; nil does nothing.
func action(cut *plan.Plan) string {
	if cut == nil {
		return "none"
	}
	did := cut.Action
	if len(cut.Recalled) > 0 {
		if did == "none" {
			return "recall"
		}
		did += "+recall"
	}
	return did
}

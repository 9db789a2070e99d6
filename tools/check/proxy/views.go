package proxy

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// views are the views of one session that the provider got.
type views struct {
	budget, plans int

	last         []timeline.Hash // identities of the messages
	plan         string
	conversation string
}

// judge checks the next view against the provider's rules, the budget and the
// last view.
func (v *views) judge(came, got []byte, h http.Header) (problems []string, err error) {
	b, err := wire.Read(got, wire.Auto, wire.Limits{})
	if err != nil {
		return nil, err
	}
	found, _ := kit.JudgeView(b.Format, came, got)
	for _, f := range found {
		problems = append(problems, fmt.Sprint(f))
	}
	if n := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{}).Request(&b.Request).Total; n > v.budget {
		problems = append(problems, fmt.Sprintf("%d tokens", n))
	}
	now := make([]timeline.Hash, len(b.Messages))
	for i := range b.Messages {
		now[i] = timeline.Identity(&b.Messages[i]) // the client encodes it anew each time
	}
	plan, conversation := h.Get("X-Oriel-Plan"), h.Get("X-Oriel-Conversation")
	stays := len(now) >= len(v.last) && slices.Equal(now[:len(v.last)], v.last)
	switch {
	case plan != v.plan:
		v.plans++
	case !stays && conversation == v.conversation:
		problems = append(problems, "another beginning without a new plan")
	}
	v.last, v.plan, v.conversation = now, plan, conversation
	return problems, nil
}

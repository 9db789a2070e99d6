package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// recallOrder is the body of a search.
type recallOrder struct {
	// Query is what to look for.
	Query string `json:"query"`
	// Conversation is where to begin; without it, everything of this user is searched.
	Conversation string `json:"conversation,omitempty"`
	// Scope is how far to look from there.
	Scope recall.Reach `json:"scope,omitempty"`
	// Budget is the most tokens of the text. Default 2048.
	Budget *int        `json:"budget,omitempty"`
	Mode   recall.Mode `json:"mode,omitempty"`
	// Top is the most passages; 0 for as many as fit.
	Top int `json:"top,omitempty"`
	// Floor is the lowest score that is shown; below 0 for none. Default 0.15, 0.3 for dense.
	Floor float64 `json:"floor,omitempty"`
	// Explain also returns what was not found, and why.
	Explain bool `json:"explain,omitempty"`
}

// Limits of a search.
const (
	maxQuery        = 20_000
	maxRecallBudget = 100_000
	maxTop          = 1000
)

// vectorWait is how long a search after the start of a server waits until the vectors of the
// history are read. People wait so long for an answer that is better.
const vectorWait = 3 * time.Second

func (o *recallOrder) check() error {
	switch {
	case strings.TrimSpace(o.Query) == "":
		return badRequest(`send {"query":"…"}`, "the body has no %q", "query")
	case utf8.RuneCountInString(o.Query) > maxQuery:
		return badRequest("ask something shorter", "member %q has more than %d characters", "query", maxQuery)
	case o.Scope != "" &&
		!slices.Contains([]recall.Reach{recall.ReachConversation, recall.ReachProject, recall.ReachUser}, o.Scope):
		return badRequest("give conversation, project or user", "member %q is %.40q", "scope", string(o.Scope))
	case o.Conversation == "" && o.Scope != "" && o.Scope != recall.ReachUser:
		return badRequest(`give "conversation", or the scope user`, "member %q is %.40q, and no conversation is named",
			"scope", string(o.Scope))
	case o.Mode != "" && !slices.Contains([]recall.Mode{recall.Hybrid, recall.Keyword, recall.Dense}, o.Mode):
		return badRequest("give hybrid, keyword or dense", "member %q is %.40q", "mode", string(o.Mode))
	case o.Budget != nil && (*o.Budget < 1 || *o.Budget > maxRecallBudget):
		return badRequest(fmt.Sprintf("give 1 to %d tokens", maxRecallBudget), "member %q is %d", "budget", *o.Budget)
	case o.Top < 0 || o.Top > maxTop:
		return badRequest(fmt.Sprintf("give 0 to %d passages", maxTop), "member %q is %d", "top", o.Top)
	case o.Floor > 1 || !number.Finite(o.Floor):
		return badRequest("scores are 0 to 1", "member %q is %g", "floor", o.Floor)
	}
	return nil
}

// found is what a search found, and why it did not find more, if that was asked for.
type found struct {
	report.Found
	Explain *explain `json:"explain,omitempty"`
}

// missed is a passage that was not shown.
type missed struct {
	report.Passage
	Why string `json:"why"`
}

// explain is why passages were found or not.
type explain struct {
	Floor float64 `json:"floor"`
	// How sure it is that the history has anything to say about the query; the score of a passage is
	// the geometric mean of it and of the passage's position.
	Certainty float64 `json:"certainty"`
	// The best of what was not shown.
	Missed []missed `json:"missed"`
}

func (q *request) recall(o *recallOrder) (*found, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	where := recall.Where{Reach: cmp.Or(o.Scope, recall.ReachConversation)}
	if o.Conversation == "" {
		all, err := report.Conversations(q.Context(), q.Store, q.tenant)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			nothing := &recall.Result{Query: o.Query, Mode: cmp.Or(o.Mode, recall.Hybrid)}
			return &found{Found: report.NewFound(nothing, "")}, nil
		}
		where.Conversation, where.Reach = all[0].Name, recall.ReachUser
	} else {
		c, err := q.findNamed(q.Context(), o.Conversation)
		if err != nil {
			return nil, err
		}
		where.Conversation = c.Name
	}
	options := recall.RecallOptions{VectorWait: vectorWait, Top: o.Top, Floor: o.Floor, Mode: o.Mode, Directives: -1,
		Budget: recall.DefaultBudget}
	if o.Budget != nil {
		options.Budget = *o.Budget
	}
	engine := q.Engine.ForTenant(q.tenant)
	r, err := engine.Recall(q.Context(), where, o.Query, options)
	if err != nil {
		return nil, err
	}
	out := &found{Found: report.NewFound(r, where.Conversation)}
	if !o.Explain {
		return out, nil
	}
	// The same search without a floor and with a large budget shows what is near and was
	// not shown.
	wide := options
	wide.Floor, wide.Top, wide.Budget = -1, explainTop, max(explainBudget, 2*options.Budget)
	all, err := engine.Recall(q.Context(), where, o.Query, wide)
	if err != nil {
		return nil, err
	}
	out.Explain = explained(r, all, &options, where.Conversation)
	return out, nil
}

// An explanation repeats the search with explainTop passages and explainBudget tokens, and lists
// at most maxMissed of the passages that were not shown.
const (
	explainTop    = 200
	explainBudget = 20_000
	maxMissed     = 30
)

// explained compares what a search showed with what it could have.
func explained(shown, all *recall.Result, o *recall.RecallOptions, own string) *explain {
	type key struct {
		block string
		part  int
	}
	e := &explain{Floor: o.Floor, Missed: []missed{}}
	if o.Floor == 0 {
		e.Floor = recall.DefaultFloor
		if all.Mode == recall.Dense {
			e.Floor = recall.DefaultDenseFloor
		}
	}
	words := report.NewMatcher(shown.Query)
	seen, best := map[key]bool{}, 0.0
	for _, p := range shown.Passages {
		seen[key{p.Block, p.Part}] = true
	}
	for _, p := range all.Passages {
		best = max(best, p.Score)
		if seen[key{p.Block, p.Part}] {
			continue
		}
		m := missed{Passage: words.Passage(p, own)}
		switch {
		case p.Score < e.Floor:
			m.Why = fmt.Sprintf("its score %.2f is below the floor of %.2f", p.Score, e.Floor)
		case o.Top > 0 && len(shown.Passages) >= o.Top:
			m.Why = fmt.Sprintf("%d passages were wanted, and others are nearer", o.Top)
		default:
			m.Why = fmt.Sprintf("no room: %d of %d tokens are used, and it has %d", shown.Tokens, o.Budget, p.Tokens)
		}
		e.Missed = append(e.Missed, m)
	}
	// The best passage has the position 1, so that its score is the root of the certainty.
	if e.Certainty = best * best; all.Mode == recall.Dense {
		e.Certainty = best
	}
	slices.SortStableFunc(e.Missed, func(a, b missed) int { return cmp.Compare(b.Score, a.Score) })
	e.Missed = e.Missed[:min(len(e.Missed), maxMissed)]
	return e
}

// fitOrder is the body of a request to fit another.
type fitOrder struct {
	// Body is the body of a request as a vendor takes it.
	Body json.RawMessage `json:"body"`
	// Format is the protocol of the body. Default auto.
	Format string `json:"format,omitempty"`
	// Model is the model that is meant. Default: the one that the body names.
	Model   string `json:"model,omitempty"`
	Window  int    `json:"window,omitempty"`
	Reserve int    `json:"reserve,omitempty"`
	// Budget is the most tokens of the request; 0 for what the model takes.
	Budget int    `json:"budget,omitempty"`
	Low    int    `json:"low,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Mode is when the request is cut. Default hard.
	Mode    window.Mode `json:"mode,omitempty"`
	Profile string      `json:"profile,omitempty"`
	// Query is what the request is about now, for the policy relevance.
	Query string `json:"query,omitempty"`
	// Pins are the indices of messages that stay.
	Pins []*int `json:"pins,omitempty"`
}

// fitted is a body that fits, and how it came to be.
type fitted struct {
	Body json.RawMessage `json:"body"`
	Plan *oriel.Plan     `json:"plan"`
}

func (q *request) fit(o *fitOrder) (*fitted, error) {
	if len(o.Body) == 0 || o.Body[0] != '{' {
		return nil, badRequest(`send {"body":{…},"budget":8000}`, "the body has no %q that is an object", "body")
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"window", o.Window}, {"reserve", o.Reserve}, {"budget", o.Budget}, {"low", o.Low}} {
		if n.value < 0 {
			return nil, badRequest("give a number of tokens above 0, or leave it out", "member %q is %d", n.name,
				n.value)
		}
	}
	var pins []int
	for _, p := range o.Pins {
		if p == nil || *p < 0 {
			return nil, badRequest("give indices of messages, from 0 on",
				"member %q has something that is not an index", "pins")
		}
		pins = append(pins, *p)
	}
	format, err := wire.ParseFormat(cmp.Or(o.Format, "auto"))
	if err != nil || format != wire.Auto && !format.IsProtocol() {
		return nil, badRequest("give auto, "+wire.ProtocolNames(), "member %q is %.40q", "format", o.Format)
	}
	options := oriel.FitOptions{
		Format: format, Model: o.Model, Window: o.Window, Reserve: o.Reserve, Budget: o.Budget, Low: o.Low,
		Policy: o.Policy, Mode: cmp.Or(o.Mode, window.Hard),
		Profile: o.Profile, Query: o.Query, Pins: pins, Models: q.models(), Now: q.Now(),
	}
	if l := q.Settings(); l != nil {
		options.Profiles, options.Margin = l.ProfileTable, l.WindowMargin()
	}
	body, p, err := oriel.Fit(q.Context(), o.Body, options)
	switch {
	case errors.Is(err, oriel.ErrCannotFit):
		return nil, newProblem(http.StatusUnprocessableEntity, "choose a larger budget, or send less", "%s",
			clip.To(err.Error(), clip.Text))
	case q.Context().Err() != nil:
		return nil, q.Context().Err()
	case err != nil: // of what was sent
		return nil, badRequest("GET "+Prefix+"openapi.json describes the body", "%s", clip.To(err.Error(), clip.Text))
	}
	return &fitted{body, p}, nil
}

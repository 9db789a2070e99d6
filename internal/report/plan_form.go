package report

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// PlanRow is a plan as a list shows it.
type PlanRow struct {
	// ID is the number of the plan in its conversation, such as p3.
	ID     string      `json:"id"`
	Time   time.Time   `json:"time"`
	Policy string      `json:"policy"`
	Mode   window.Mode `json:"mode"`
	Model  string      `json:"model"`
	// Budget is the most tokens that the request may have, Low what a cut goes down to.
	Budget int `json:"budget"`
	Low    int `json:"low"`
	// TokensBefore is the size of the request as it came.
	TokensBefore int `json:"tokens_before"`
	// TokensAfter is the size of what was sent.
	TokensAfter int `json:"tokens_after"`
	// Action is what was done: none, trim, mask, evict, digest, condense, recall.
	Action string `json:"action"`
	// Why says in words what the plan did, and what made it necessary.
	Why string `json:"why"`
	// Left are the messages that it took out of view or shortened and the plan before did not, such
	// as 24-37.
	Left string `json:"left"`
	// LeftTokens is what the window lost of them.
	LeftTokens int `json:"left_tokens"`
	// Back are the messages that it brought back.
	Back string `json:"back"`
	// Hidden counts the messages that are not sent as they came.
	Hidden int `json:"hidden"`
	// HiddenTokens is what the window lost of these messages.
	HiddenTokens int `json:"hidden_tokens"`
	// AddedTokens are the inserted texts, less what left of no message of the history: TokensBefore −
	// TokensAfter = HiddenTokens − AddedTokens.
	AddedTokens int `json:"added_tokens"`
	// Held reports that the plan is undone: what it took out is held in view.
	Held     bool     `json:"held"`
	Warnings []string `json:"warnings"`
}

// Plan is a plan with its reasons. Its JSON form is that of the API and of oriel show --plan.
type Plan struct {
	PlanRow
	// Blocks are the messages that are not sent as they came.
	Blocks []Block `json:"blocks"`
	// Inserted are the texts that Oriel put into messages.
	Inserted []Insertion `json:"inserted"`
	// Spans fold the blocks. In a list of several plans only the one that was asked for has
	// them.
	Spans   []Span         `json:"spans,omitzero"`
	Summary window.Summary `json:"summary"`
	// Thinking is the thinking that messages lost although they are sent, because the provider
	// accepts it only if nothing before it has changed.
	Thinking *window.LostThinking `json:"thinking,omitempty"`
	// Grown is why the budget exceeds that of the profile; nil if it does not.
	Grown *window.Growth `json:"grown,omitempty"`

	// LongID is the plan's in every conversation, which logs and headers have.
	LongID string `json:"-"`
	// LeftCount is how many messages Left has.
	LeftCount int `json:"-"`
	audience  string
}

// Row returns a plan as a list shows it. holds are those of the conversation.
func (p *Plan) Row(holds []timeline.Hold) PlanRow {
	row := p.PlanRow
	row.Held = p.held(holds)
	return row
}

// Detail returns a plan for people. holds are those of the conversation, spans those of the
// plan, or nil.
func (p *Plan) Detail(holds []timeline.Hold, spans []Span) Plan {
	out := *p
	out.Held, out.Spans = p.held(holds), spans
	return out
}

// held reports whether a plan is undone: what it took out is held in view.
func (p *Plan) held(holds []timeline.Hold) bool {
	return slices.ContainsFunc(holds, func(h timeline.Hold) bool {
		return h.Plan != "" && (h.Plan == p.LongID || h.Plan == p.ID)
	})
}

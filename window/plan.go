package window

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// Verdict is what became of one message.
type Verdict string

const (
	// Keep means that the message is sent unchanged.
	Keep Verdict = "keep"
	// Trim means that the middle of a text too large for the window is left
	// out.
	Trim Verdict = "trim"
	// Mask means that results of tools are replaced by stubs, or that the arguments of
	// their calls are emptied.
	Mask Verdict = "mask"
	// Fold means that the message left and a summary or digest represents it.
	Fold Verdict = "fold"
	// Evict means that the message left.
	Evict Verdict = "evict"
)

// Mode is how hard a policy must try (SPEC E4).
type Mode string

const (
	// Soft may decline a cut that would save less than a tenth.
	Soft Mode = "soft"
	// Hard must reach the target.
	Hard Mode = "hard"
	// Recovery follows a provider's refusal: it is deterministic and must save
	// at least a tenth.
	Recovery Mode = "recovery"
)

// Plan is the record of one decision: a verdict with a reason for every message
// and what was inserted. Everything that shows or counts anything reads plans.
type Plan struct {
	Policy       string `json:"policy"`
	Mode         Mode   `json:"mode"`
	Model        string `json:"model"`
	Budget       int    `json:"budget"`
	Low          int    `json:"low"`
	TokensBefore int    `json:"tokens_before"`
	TokensAfter  int    `json:"tokens_after"`
	// Action is the strongest action taken: none, recall, trim, mask, evict,
	// digest (rules wrote what represents the messages that left) or condense
	// (a model did).
	Action   string      `json:"action"`
	Blocks   []Block     `json:"blocks"`
	Inserted []Insertion `json:"inserted"`
	Summary  Summary     `json:"summary"`
	// Undo is the plan's id if there is a store.
	Undo string `json:"undo"`
	// Thinking is the thinking that messages lost although they are sent; nil if none did.
	Thinking *LostThinking `json:"thinking,omitempty"`
	// Trajectory counts what was removed and truncated, for the plan of a
	// trajectory (SPEC C4).
	Trajectory *TrajectoryReport `json:"trajectory,omitempty"`
	// Grown is why the budget exceeds that of the profile; nil if it does not.
	Grown *Growth `json:"grown,omitempty"`
	// Warnings list settings that were not used as given, and why.
	Warnings []string `json:"warnings,omitempty"`
}

// LostThinking is thinking that is not sent although its messages are: the provider accepts it
// only if nothing before it has changed.
type LostThinking struct {
	// Messages and Blocks count what lost thinking, and what was lost.
	Messages int `json:"messages"`
	Blocks   int `json:"blocks"`
	Tokens   int `json:"tokens"`
}

// NewPlan returns a plan that does nothing yet. Every plan is built by NewPlan, Judge,
// Insert and Raise, whatever it is about: a request, the items of a conversation or a
// trajectory. A plan that continues an earlier one, as views make them, also lists the
// verdicts of that one; its Action is what it did itself.
func NewPlan(policy, model string, budget, low int) *Plan {
	return &Plan{Policy: policy, Mode: Hard, Model: model, Budget: budget, Low: low, Action: "none", Blocks: []Block{},
		Inserted: []Insertion{}}
}

// Judge adds the verdict on a message and raises Action accordingly. Lost is all of a message
// that left.
func (p *Plan) Judge(b Block) {
	switch b.Verdict {
	case Keep:
		b.Lost = 0
	case Fold, Evict:
		b.Lost = b.Tokens
	}
	p.Blocks = append(p.Blocks, b)
	switch b.Verdict {
	case Fold:
		p.Raise("digest")
	case Trim, Mask, Evict:
		p.Raise(string(b.Verdict))
	}
}

// Insert adds a text that was inserted. A recalled passage raises Action.
func (p *Plan) Insert(in Insertion) {
	p.Inserted = append(p.Inserted, in)
	if in.Kind == "recall" {
		p.Raise("recall")
	}
}

// actions lists the values of Action from the weakest to the strongest.
var actions = []string{"none", "recall", "trim", "mask", "evict", "digest", "condense"}

// Raise sets Action to the given action if that is stronger.
func (p *Plan) Raise(action string) {
	if slices.Index(actions, action) > slices.Index(actions, p.Action) {
		p.Action = action
	}
}

// TrajectoryReport counts the changes to a trajectory (SPEC C4).
type TrajectoryReport struct {
	// Removed is the number of interactions that this call removed.
	Removed int `json:"removed"`
	// Truncated is the number of results that this call cut.
	Truncated int `json:"truncated"`
	// RemovedTotal is Removed and the number in an earlier note.
	RemovedTotal int `json:"removed_total"`
}

// Block is the verdict on one message.
type Block struct {
	Index int       `json:"index"`
	Role  chat.Role `json:"role"`
	// Tokens is the size of the message as it came, Lost what is not sent of it. Of plans
	// of earlier versions Tokens may be what earlier plans had left of it, and Lost is 0.
	Tokens  int     `json:"tokens"`
	Lost    int     `json:"lost,omitempty"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Pinned  bool    `json:"pinned"`
}

// Insertion is a text that Oriel put into a message.
type Insertion struct {
	// Kind is marker, summary, recall or digest.
	Kind string `json:"kind"`
	// Into is the message that holds it.
	Into   int    `json:"into"`
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
	// Block is the id of the item that a recall comes from, prefixed with the
	// conversation if it is another one: "support#17". A space separates several.
	Block string `json:"block,omitempty"`
	// Parts are the numbers of the passages in these items, from 0 on; empty means all of
	// each.
	Parts string `json:"parts,omitempty"`
}

// Summary is the result of condensing (SPEC B5).
type Summary struct {
	Text  string  `json:"text"`
	Cost  float64 `json:"cost"`
	Error string  `json:"error"`
}

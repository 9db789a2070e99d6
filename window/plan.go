package window

import "github.com/oriel-context/oriel/chat"

// Verdict is what became of one message.
type Verdict string

const (
	// Keep: the message is sent as it came.
	Keep Verdict = "keep"
	// Trim: the middle of a text too large for the window is left out.
	Trim Verdict = "trim"
	// Mask: results of tools are replaced by a stub.
	Mask Verdict = "mask"
	// Fold: the message left; a summary or digest stands for it.
	Fold Verdict = "fold"
	// Evict: the message left.
	Evict Verdict = "evict"
)

// Mode says how hard a policy must try (SPEC E4).
type Mode string

const (
	// Soft may decline: a cut that would save less than a tenth is not made.
	Soft Mode = "soft"
	// Hard must reach the target.
	Hard Mode = "hard"
	// Recovery follows a provider's refusal: deterministic, forced, smaller by a
	// tenth at least.
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
	// Action is the strongest thing that was done: none, trim, mask, evict, digest
	// (rules wrote what stands for the messages that left) or condense (a model did).
	Action   string      `json:"action"`
	Blocks   []Block     `json:"blocks"`
	Inserted []Insertion `json:"inserted"`
	Summary  Summary     `json:"summary"`
	// Undo is the plan's id where there is a store.
	Undo string `json:"undo"`
	// Trajectory counts what was removed and truncated, where the plan is a
	// trajectory's (SPEC C4).
	Trajectory *TrajectoryReport `json:"trajectory,omitempty"`
	// Grown says why the budget is larger than that of the profile; nil where it is
	// not.
	Grown *Growth `json:"grown,omitempty"`
	// Warnings are settings that were not used as given, and why.
	Warnings []string `json:"warnings,omitempty"`
}

// NewPlan returns a plan that does nothing yet. Every plan begins here, whatever it is
// about: a request, the items of a conversation or a trajectory.
func NewPlan(policy, model string, budget, low int) *Plan {
	return &Plan{Policy: policy, Mode: Hard, Model: model, Budget: budget, Low: low, Action: "none", Blocks: []Block{}, Inserted: []Insertion{}}
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
	// Tokens is what the message had before the plan.
	Tokens  int     `json:"tokens"`
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
	// Block is the id of the item that a recall is from; of another conversation,
	// with its name before it: "support#17".
	Block string `json:"block,omitempty"`
}

// Summary is what condensing gave (SPEC B5).
type Summary struct {
	Text  string  `json:"text"`
	Cost  float64 `json:"cost"`
	Error string  `json:"error"`
}

package oriel

import "github.com/oriel-context/oriel/window"

// Plan is the record of one decision: a verdict with a reason for every message, and what
// was inserted. It has the fields of window.Plan. In the plans of a conversation the Index
// of a block is the id of an item or message.
type Plan struct {
	Policy       string      `json:"policy"`
	Mode         window.Mode `json:"mode"`
	Model        string      `json:"model"`
	Budget       int         `json:"budget"`
	Low          int         `json:"low"`
	TokensBefore int         `json:"tokens_before"`
	TokensAfter  int         `json:"tokens_after"`
	// Action is the strongest action taken: none, recall, trim, mask, evict,
	// digest (rules wrote what represents the messages that left) or condense
	// (a model did).
	Action   string             `json:"action"`
	Blocks   []window.Block     `json:"blocks"`
	Inserted []window.Insertion `json:"inserted"`
	Summary  window.Summary     `json:"summary"`
	// Undo is the plan's id, for Conversation.Undo; empty for a plan of Fit.
	Undo string `json:"undo"`
	// Trajectory counts what was removed and truncated, for the plan of a
	// trajectory (SPEC C4).
	Trajectory *window.TrajectoryReport `json:"trajectory,omitempty"`
	// Grown is why the budget exceeds that of the profile; nil if it does not.
	Grown *window.Growth `json:"grown,omitempty"`
	// Warnings list settings that were not used as given, and why.
	Warnings []string `json:"warnings,omitempty"`
}

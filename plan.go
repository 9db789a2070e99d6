package oriel

import "github.com/oriel-context/oriel/window"

// Plan is the record of one decision: a verdict with a reason for every message, and what
// was inserted. In the plans of a conversation the Index of a block is the id of an item or
// message, and Undo is the plan's id, for Conversation.Undo.
type Plan = window.Plan

package report

import (
	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
)

// Undo is what an undo does, or would do. Its JSON form is that of the API and of oriel undo.
type Undo struct {
	Conversation string `json:"conversation"`
	// Plan is the id of the plan that is undone.
	Plan string `json:"plan"`
	// Preview reports that the undo was only asked for.
	Preview bool `json:"preview"`
	// Done reports that it was done.
	Done bool `json:"done"`
	// Back are the messages that come back and are held in view, such as 3-9,12.
	Back string `json:"back"`
	// BackIDs are the same, one by one.
	BackIDs []int64 `json:"back_ids"`
	// BackTokens is their size.
	BackTokens int `json:"back_tokens"`
	// Leaves are the messages that leave for them.
	Leaves string `json:"leaves"`
	// LeavesIDs are the same, one by one.
	LeavesIDs []int64 `json:"leaves_ids"`
	// LeavesTokens is what the window loses of all others, also of those that are only shortened.
	LeavesTokens int `json:"leaves_tokens"`
	// Newer reports that something leaves that is newer than what comes back.
	Newer bool `json:"newer"`
}

// NewUndo returns what an undo in a conversation would do.
func NewUndo(conversation string, would *oriel.Undoing) Undo {
	return Undo{
		Conversation: conversation, Plan: would.Plan, Newer: would.Newer(),
		Back: timeline.RangesOf(would.Back).String(), BackIDs: append([]int64{}, would.Back...),
		BackTokens: would.BackTokens,
		Leaves:     timeline.RangesOf(would.Leaves).String(), LeavesIDs: append([]int64{}, would.Leaves...),
		LeavesTokens: would.LeavesTokens,
	}
}

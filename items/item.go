package items

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/bpe"
)

// Source names the origin of an item. Callers may use sources of their own; those have
// the weight 0 unless Weights.Sources names them.
type Source string

const (
	SourceUser      Source = "user"
	SourceAssistant Source = "assistant"
	SourceSystem    Source = "system"
	SourceTool      Source = "tool"
	SourceFile      Source = "file"
	SourceGit       Source = "git"
	SourceError     Source = "error"
)

// Flag is a reason to keep an item. Callers may use flags of their own and give them a
// weight in Weights.Flags.
type Flag string

const (
	// FlagStarred marks pinned items. Window.Pin sets it, Window.Unpin removes it.
	FlagStarred  Flag = "starred"
	FlagError    Flag = "error"
	FlagCode     Flag = "code"
	FlagQuestion Flag = "question"
	FlagSolution Flag = "solution"
)

// Item is one message, tool result or file of a conversation (SPEC A1).
type Item struct {
	// ID is the item's number within its conversation. Ids rise. Window.Add replaces 0
	// with the next id.
	ID int64 `json:"id"`
	// Content is the text that a model reads.
	Content string `json:"content"`
	// Full is the whole text if Content lacks its middle, otherwise "".
	Full string `json:"full,omitempty"`
	// Time is when the content was written. Window.Add replaces the zero time with now.
	Time   time.Time `json:"time"`
	Source Source    `json:"source"`
	// Tokens is the size of Content. Window.Add counts it if it is 0.
	Tokens int `json:"tokens"`
	// Embedding is the vector of the content, nil if there is none.
	Embedding []float32 `json:"embedding,omitempty"`
	Flags     []Flag    `json:"flags,omitempty"`
	// Failed reports that the tool whose result this is failed.
	Failed bool `json:"failed,omitempty"`
	// Meta belongs to the caller. This package does not read it.
	Meta map[string]string `json:"meta,omitempty"`
}

// Has reports whether the item has a flag.
func (it *Item) Has(f Flag) bool { return slices.Contains(it.Flags, f) }

// Pinned reports whether the item has FlagStarred. A window evicts pinned items last.
func (it *Item) Pinned() bool { return it.Has(FlagStarred) }

// Whole returns the whole text: Full if it is set, otherwise Content.
func (it *Item) Whole() string {
	if it.Full != "" {
		return it.Full
	}
	return it.Content
}

// flagged returns flags with f if on is set, without f otherwise. It does not modify
// flags, because items that were returned earlier share the slice.
func flagged(flags []Flag, f Flag, on bool) []Flag {
	if slices.Contains(flags, f) == on {
		return flags
	}
	if on {
		return append(slices.Clip(flags), f)
	}
	return slices.DeleteFunc(slices.Clone(flags), func(g Flag) bool { return g == f })
}

func countOr(count func(string) int) func(string) int {
	if count == nil {
		return bpe.Count
	}
	return count
}

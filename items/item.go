package items

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/token/bpe"
)

// Source says where an item's content comes from. Other words than these are
// allowed and weigh nothing.
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

// Flag is a reason for an item to matter. Callers may use words of their own and
// give them a weight in Weights.Flags.
type Flag string

const (
	// FlagStarred marks what a person or program wants to stay: pinning an item
	// sets it, unpinning takes it away.
	FlagStarred  Flag = "starred"
	FlagError    Flag = "error"
	FlagCode     Flag = "code"
	FlagQuestion Flag = "question"
	FlagSolution Flag = "solution"
)

// Item is one thing that a window may show (SPEC A1).
type Item struct {
	// ID is the item's number within its conversation; ids only rise. 0 means
	// that the window gives it the next one.
	ID int64 `json:"id"`
	// Content is the text that is shown.
	Content string `json:"content"`
	// Full is the whole text where Content is an elision of it, else "".
	Full string `json:"full,omitempty"`
	// Time is when the content came into being; the zero time means now.
	Time   time.Time `json:"time"`
	Source Source    `json:"source"`
	// Tokens is the size of Content; 0 means that it is counted.
	Tokens int `json:"tokens"`
	// Embedding is the content's vector; nil where there is none (yet).
	Embedding []float32 `json:"embedding,omitempty"`
	Flags     []Flag    `json:"flags,omitempty"`
	// Failed says of a tool's result that the tool reported a failure.
	Failed bool `json:"failed,omitempty"`
	// Meta is the caller's own and is never read here.
	Meta map[string]string `json:"meta,omitempty"`
}

// Has reports whether the item has a flag.
func (it *Item) Has(f Flag) bool { return slices.Contains(it.Flags, f) }

// Pinned reports whether the item leaves only when nothing else is left to leave.
func (it *Item) Pinned() bool { return it.Has(FlagStarred) }

// Whole is all of the item's text, whether or not its middle is elided.
func (it *Item) Whole() string {
	if it.Full != "" {
		return it.Full
	}
	return it.Content
}

// flagged is the flags with f among them or not. It never changes the list that
// was given, since items that were handed out share it.
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

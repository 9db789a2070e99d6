package oriel

import (
	"time"

	"github.com/oriel-context/oriel/items"
)

// Item is one element of a conversation: a message, a tool's result, a file. All fields have
// useful zero values: an item without a Source is shown without a label and has no weight for
// its source. It has the fields of items.Item.
type Item struct {
	// ID is the item's number within its conversation: 1 for the first. Add sets it.
	ID int64 `json:"id"`
	// Content is the text that a model reads.
	Content string `json:"content"`
	// Full is the whole text if a view shows Content without its middle, otherwise "".
	Full string `json:"full,omitempty"`
	// Time is when the content was written. Add replaces the zero time with now.
	Time   time.Time    `json:"time"`
	Source items.Source `json:"source"`
	// Tokens is the size of Content. Add counts it if it is 0.
	Tokens int `json:"tokens"`
	// Embedding is the vector of the content, nil if there is none.
	Embedding []float32    `json:"embedding,omitempty"`
	Flags     []items.Flag `json:"flags,omitempty"`
	// Failed reports that the tool whose result this is failed.
	Failed bool `json:"failed,omitempty"`
	// Meta belongs to the caller. It is stored and returned as it is.
	Meta map[string]string `json:"meta,omitempty"`
}

// Pinned reports whether the item is pinned: it has the flag items.FlagStarred.
func (it *Item) Pinned() bool { return (*items.Item)(it).Pinned() }

// Whole returns the whole text: Full if it is set, otherwise Content.
func (it *Item) Whole() string { return (*items.Item)(it).Whole() }

// itemsOut converts items for callers.
func itemsOut(all []items.Item) []Item {
	if all == nil {
		return nil
	}
	out := make([]Item, len(all))
	for i := range all {
		out[i] = Item(all[i])
	}
	return out
}

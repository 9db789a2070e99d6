// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan says how
// the view was made.
//
// Open gives an Engine, an Engine has Conversations, and a Conversation takes
// Items and gives Views:
//
//	e, err := oriel.Open(ctx, oriel.Config{})
//	c, err := e.Conversation(ctx, "id")
//	id, evicted, err := c.Add(ctx, oriel.Item{Source: "user", Content: "…"})
//	view, err := c.Context(ctx, "the question", oriel.ContextOptions{})
//
// Fit needs none of these: it takes one request body and gives back one that fits.
//
// # What is guaranteed
//
//   - After every call a window holds at most its tokens and its items.
//   - The newest item is never the one to leave; pinned and held items leave only
//     when nothing else is left.
//   - Nothing is lost: what leaves a window stays in the history, whole, and
//     Conversation.Item reads it by its id.
//   - Whatever leaves is told: Add and Resize return it, and every call that takes
//     something out of view, whichever it is, leaves a plan in Conversation.Plans.
//   - Undo takes a plan back: what it left out returns and is held in view until
//     Release. What cannot fit is refused with the numbers, and nothing changes.
//   - The same calls with the same clock give the same results.
//   - Everything here is safe for concurrent use.
//
// # Caveats
//
// A history lives in memory and ends with the process: Config.Dir is refused until
// there is a store. Nothing is recalled yet: the relevant part of a view is what
// the caller gives in ContextOptions.Relevant. An item is counted when it is added;
// a view is counted as the text that it is, so that an item whose Tokens stand for
// a picture weighs in the window and not in the view.
//
// The rooms below are usable on their own: chat has the message model and the
// legal cuts, wire reads and writes request bodies byte for byte, token counts
// and knows the models, window decides. docs/architecture.md draws the whole.
package oriel

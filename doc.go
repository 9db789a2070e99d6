// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan says how
// the view was made.
//
// Open gives an Engine, an Engine has Conversations, and a Conversation takes
// Items and gives Views:
//
//	e, err := oriel.Open(ctx, oriel.Config{Dir: dir})  // or Config{}: in memory
//	c, err := e.Conversation(ctx, "id")
//	id, evicted, err := c.Add(ctx, oriel.Item{Source: "user", Content: "…"})
//	view, err := c.Context(ctx, "the question", oriel.ContextOptions{})
//	hits, err := c.Recall(ctx, "the question", oriel.RecallOptions{})
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
//   - What a call did is stored when it returns, all of it or nothing. After a
//     restart everything is as it was: items, pins, holds, plans, sizes, states and
//     what is in view. A call that fails changes nothing.
//   - Several processes may use the same folder and the same conversation: each
//     sees what the others did at its next call, and every id is given once.
//   - A call costs what its window is large, however long the history is; so does a
//     conversation in memory. Recall alone looks at all of the history: see below.
//   - Context brings back, on its own, what the history has to say about the query and
//     what the user wants from now on, within the budget, and nothing twice. It never
//     fails because recall does.
//   - Recall never crosses tenants, and other conversations only where that is asked
//     for.
//   - The same calls with the same clock give the same results. What was added before
//     is found by its words at once; its vectors count from when they are there, so who
//     wants the same scores, too, calls Engine.Wait, or sets NoEmbed.
//   - Everything here is safe for concurrent use.
//
// # Caveats
//
// Without Config.Dir a history ends with its engine. Of the settings only
// policy and sizes are stored: engines that share a conversation should agree on the
// others.
// Times are kept in microseconds. An item is counted when
// it is added; a view is counted as the text that it is, so that an item whose Tokens
// stand for a picture weighs in the window and not in the view.
//
// Add indexes nothing. The first Context or Recall of a conversation reads its whole
// history once, later ones what is new. The index is
// kept in memory up to Config.RecallMemory, the vectors with the history. Directives are
// found by rules for English. An engine that has recalled has goroutines: Close it.
//
// docs/format/timeline.md and docs/format/conversation.md tell what is stored.
//
// The rooms below are usable on their own: chat has the message model and the
// legal cuts, wire reads and writes request bodies byte for byte, token counts
// and knows the models, window decides, timeline keeps the history, recall searches
// it. docs/architecture.md draws the whole.
package oriel

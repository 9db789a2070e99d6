// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan records how
// the view was made.
//
// There are three ways to use it.
//
// Items: Open returns an Engine, and a Conversation of that engine stores Items and
// composes Views of them:
//
//	e, err := oriel.Open(ctx, oriel.Config{Dir: dir})  // or Config{}: in memory
//	c, err := e.Conversation(ctx, "id")
//	id, evicted, err := c.Add(ctx, oriel.Item{Source: "user", Content: "…"})
//	view, err := c.Context(ctx, "the question", oriel.ContextOptions{})
//	hits, err := c.Recall(ctx, "the question", oriel.RecallOptions{})
//
// Fit: one request body in, one that fits out, without an engine.
//
// Transport: Engine.Transport wraps an http.RoundTripper and does in this process what
// the proxy does: it stores each request and its reply, sends a view that fits, and
// brings back what the view left out. Engine.Begin is the same for programs that send
// requests in another way. Pins, plans and Undo apply to both kinds of conversation.
//
//	client := &http.Client{Transport: e.Transport(nil)}
//
// # What is guaranteed
//
//   - After every call a window holds at most its tokens and its items.
//   - The newest item never leaves; pinned and held items leave only
//     when nothing else is left.
//   - Nothing is lost: an item that leaves a window stays in the history unchanged, and
//     Conversation.Item returns it by its id.
//   - Add and Resize return the items that left, and every call that removes items from
//     the view adds a plan to Conversation.Plans.
//   - Undo reverses a plan: the items that it left out return and are held in view until
//     Release. If they cannot fit, Undo fails with the numbers and changes nothing.
//   - A call is stored as a whole before it returns. A restart preserves items, pins,
//     holds, plans, sizes, states and what is in view. A call that fails changes nothing.
//   - Several processes may use the same folder and the same conversation: each
//     sees the changes of the others at its next call, and no id is used twice.
//   - The time of a call and the memory of a conversation depend on the size of the
//     window, not on the length of the history. Only Recall reads all of the history.
//   - Context adds passages of the history that match the query and the standing
//     instructions of the user, within the budget and without duplicates. It does not
//     fail if recall fails.
//   - Recall never crosses tenants. It searches other conversations only on request.
//   - The same calls with the same clock give the same results. Items are
//     found by their words at once and by their vectors once these are computed; for
//     reproducible scores, call Engine.Wait first or set NoEmbed.
//   - Everything here is safe for concurrent use.
//
// # Caveats
//
// Without Config.Dir a history ends with its engine. Only the policy and the
// sizes are stored with a conversation: engines that share it should agree on the other
// settings. Times are stored in microseconds. The tokens of an item are counted when it is
// added. A view counts the text that it shows, so the Tokens of a picture count in the
// window but not in the view.
//
// Add indexes nothing. The first Context or Recall of a conversation reads its whole
// history; later ones read what is new. The index stays in memory, at most
// Config.RecallMemory bytes; the vectors are stored with the history. Directives are
// detected by rules for English only. Recall starts goroutines: close the engine.
//
// docs/format/timeline.md and docs/format/conversation.md describe what is stored.
//
// The packages below can be used on their own: chat has the message model and the
// legal cuts, wire reads and writes request bodies byte for byte, token counts
// and knows the models, window decides, timeline keeps the history, recall searches
// it. docs/architecture.md describes how they fit together.
package oriel

// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan records how
// the view was made. There are three ways to use it.
//
// Items: a Conversation of an Engine stores Items and composes Views of them:
//
//	e, err := oriel.Open(ctx, oriel.Config{Dir: dir})  // or Config{}: in memory
//	c, err := e.Conversation(ctx, "id")
//	id, evicted, err := c.Add(ctx, oriel.Item{Source: "user", Content: "…"})
//	view, err := c.Context(ctx, "the question", oriel.ContextOptions{})
//	hits, err := c.Recall(ctx, "the question", oriel.RecallOptions{})
//
// Fit: one request body in, one that fits out, without an engine.
//
// Transport: an http.RoundTripper that does in this process what the proxy does. It stores
// each request and its reply, sends a view that fits, and brings back what the view left
// out. Engine.Begin is the same for programs that send requests in another way. Pins,
// plans and Undo apply to both kinds of conversation.
//
//	client := &http.Client{Transport: e.Transport(nil)}
//
// # What is guaranteed
//
//   - A window never holds more than its tokens and its items. The newest item stays;
//     pinned and held items leave only when nothing else is left.
//   - Nothing is lost: an item that leaves a window stays in the history unchanged, and
//     Conversation.Item returns it by its id.
//   - Every call that removes items from the view adds a plan to Conversation.Plans. Undo
//     reverses a plan, or fails with the numbers and changes nothing.
//   - A call is stored as a whole before it returns; a call that fails changes nothing. A
//     restart preserves everything, including what is in view.
//   - Several processes may use the same folder and the same conversation.
//   - The time of a call and the memory of a conversation depend on the size of the
//     window, not on the length of the history. Only Recall reads all of the history.
//   - Context does not fail if recall fails. Recall never crosses tenants, and searches
//     other conversations only on request.
//   - The same calls with the same clock give the same results; for reproducible scores,
//     call Engine.Wait first or set NoEmbed.
//   - Everything here is safe for concurrent use.
//
// # Caveats
//
// Without Config.Dir a history ends with its engine. Only the policy and the sizes are
// stored with a conversation: engines that share it should agree on the other settings.
// Times are stored in microseconds. The tokens of an item are counted when it is added; a
// view counts the text that it shows, so the Tokens of a picture count in the window but
// not in the view.
//
// The first Context or Recall of a conversation reads its whole history, later ones what
// is new. The index stays in memory, at most Config.RecallMemory bytes. Directives are
// detected by rules for English only. Recall starts goroutines: close the engine.
//
// docs/architecture.md describes the packages below this one, which can be used on their
// own; docs/format describes what is stored.
package oriel

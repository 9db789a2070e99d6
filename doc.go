// Package oriel keeps a language-model agent's context bounded without losing its
// history: history is append-only, a window is a view of it, and a plan records how the
// view was made. There are three ways to use it.
//
// Items: a [Conversation] of an [Engine] stores Items and composes Views of them. (One that
// consists of calls has the same methods, as far as they make sense there.)
//
//	e, err := oriel.Open(ctx, oriel.Config{Dir: dir})  // or Config{}: in memory
//	c, err := e.Conversation(ctx, "id")
//	id, evicted, err := c.Add(ctx, oriel.Item{Source: "user", Content: "…"})
//	view, err := c.Context(ctx, "the question", oriel.ContextOptions{})
//
// [Fit]: one request body in, one that fits out, without an engine.
//
// [Engine.Transport]: an [http.RoundTripper] that does in this process what the proxy
// does. It stores each request and its reply, sends a view that fits, and brings back what
// the view left out. Pins, plans and Undo apply to its conversations, too.
//
//	client := &http.Client{Transport: e.Transport(nil)}
//
// # Guarantees
//
//   - A window never holds more than its tokens and its items. The newest item stays;
//     pinned and held items leave only when nothing else is left.
//   - Nothing is lost: an item that leaves a window stays in the history unchanged, and
//     [Conversation.Item] returns it. Undo reverses a plan, or fails with the numbers.
//   - A call is stored as a whole before it returns; a call that fails changes nothing. A
//     restart preserves everything, including what is in view.
//   - Several processes may use the same folder and the same conversation. Everything
//     here is safe for concurrent use.
//   - Time and memory depend on the size of the window, not on the length of the history;
//     only recall reads all of it, into an index of at most Config.RecallMemory bytes.
//   - Context does not fail if recall fails. Recall never crosses tenants.
//   - The same calls with the same clock give the same results; for reproducible scores,
//     call [Engine.Wait] first or set NoEmbed.
//
// Without Config.Dir a history ends with its engine. Only the policy and the sizes are
// stored with a conversation: engines that share it should agree on the other settings.
// Directives are detected by rules for English only. docs/architecture.md describes the
// packages below this one, docs/reference/format what is stored.
package oriel

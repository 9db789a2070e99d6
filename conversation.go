package oriel

import (
	"context"

	"github.com/oriel-context/oriel/internal/engine"
)

// Conversation is a history with a window on it. It consists of items or of calls, as its
// first write decides. Add, Context, Resize and Clear are for items: on a conversation of
// calls they fail with ErrOfCalls, because its window is what the calls send. All other
// methods work on both; pins and undos take effect at the next call. A call that names a
// conversation of items gets another conversation, "NAME~2" for example.
//
// The ids of items and messages are sequence numbers: the first is 1, and each is one higher
// than the one before, also after Clear. A Conversation is safe for concurrent use, and
// several processes may use the same one.
type Conversation struct{ c *engine.Conversation }

// ID returns the conversation's id.
func (c *Conversation) ID() string { return c.c.ID() }

// Add appends an item to the history and puts it into the window. It returns the item's
// id and the items that left the window for it, oldest first. They are in the newest plan
// of Plans, so that Undo can bring them back. All of that is stored when Add returns.
//
// The item's ID must be 0. Its time is stored in microseconds. An item larger than the
// whole window is shown without its middle; the history has all of it. An item with the
// flag "starred" is pinned.
func (c *Conversation) Add(ctx context.Context, it Item) (id int64, evicted []Item, err error) {
	return c.c.Add(ctx, it)
}

// Context returns the view for a query: pinned and held items, the newest items, what is
// relevant, and the query, within the budget. If anything since the last Clear is not
// shown, the view begins with what tells the model so: a digest of the items that have left
// the window, made by rules or, with CallOptions.Condense, by a model; a marker where there
// is none, or where items of the window are not shown. The digest has the same bytes until
// more items have left, where there is room for all of it and nothing that it quotes is shown.
//
// Relevant are the items that the caller gives, standing instructions of the user
// (Directives), and what the history has about the query (Recall), without what is in
// view. If an item is in view without its middle, the middle can be recalled. Recall gets
// half of the time until the deadline of ctx and uses what it has by then. If it fails,
// the view is made without it and the plan has a warning.
//
// The query need not be added before. If the newest item is the query itself, it is not
// repeated. With a blank query, the messages end with the newest item. A query over the
// budget loses its middle, and the plan has a warning; if no part of it fits, Context
// fails with the numbers.
//
// Context adds nothing to the history and removes nothing from the window. If it fails,
// it changes nothing.
func (c *Conversation) Context(ctx context.Context, query string, o ContextOptions) (View, error) {
	return c.c.Context(ctx, query, o)
}

// Recall returns what the history has about a query, in view or not, found by words and
// by meaning, within a budget. Items can be found by their words as soon as they are
// added. Their vectors are made in the background and used from then on; see Engine.Wait.
// If the history has nothing about the query, the result is empty. Engine.Recall and
// Engine.Search search without a conversation's state, and other places than its head.
func (c *Conversation) Recall(ctx context.Context, query string, o RecallOptions) (*Hits, error) {
	return c.c.Recall(ctx, query, o)
}

// Items returns the newest items of the window in the order in which they were added, at
// most limit of them; limit 0 means all. In a conversation of calls they are its messages, in
// view or not.
func (c *Conversation) Items(ctx context.Context, limit int) ([]Item, error) {
	return c.c.Items(ctx, limit)
}

// Item returns any item of the history, in view or not: whole, as it was added, with its
// id, time, tokens and flags.
func (c *Conversation) Item(ctx context.Context, id int64) (Item, error) { return c.c.Item(ctx, id) }

// Pin keeps an item in view as long as anything else can leave. If the item has left the
// window, it comes back, and others leave for it under a plan of their own. If it does
// not fit beside the pinned, the held and the newest items, Pin fails with the numbers
// and changes nothing.
func (c *Conversation) Pin(ctx context.Context, id int64) error { return c.c.Pin(ctx, id) }

// Unpin lets an item leave in its turn. Items that are not in view or not pinned may be
// unpinned, too. An item that Undo holds stays until Release.
func (c *Conversation) Unpin(ctx context.Context, id int64) error { return c.c.Unpin(ctx, id) }

// Plans returns the newest plans that removed something from view, at most limit of them,
// oldest first; limit 0 means all. It omits plans of branches that the conversation has
// left. The Undo field of a plan is the id for Conversation.Undo. Its blocks are the
// items that left or were left out, with the reason; View.Plan also lists what stayed.
//
// Add, Pin, Undo, Resize and Clear make a plan if items leave the window, Context if it
// has no room for items of the window.
func (c *Conversation) Plans(ctx context.Context, limit int) ([]Plan, error) {
	return c.c.Plans(ctx, limit)
}

// WouldUndo reports what Undo would do, and changes nothing.
func (c *Conversation) WouldUndo(ctx context.Context, planID string) (Undoing, error) {
	return c.c.WouldUndo(ctx, planID)
}

// Undo reverses a plan, the newest if planID is empty. Everything that the plan left out
// comes back and is held in view, like pinned items, until Release; in a conversation of
// calls from its next call on. The oldest items leave for it, and none for which there is
// room in the end, under a plan of their own; WouldUndo lists them. Held items also take
// precedence in views, within their budget.
//
// If not all of it fits beside the pinned, the held and the newest items, Undo fails with
// the numbers and changes nothing; Pin then brings back single items. Undoing a plan that
// left nothing out, or undoing a plan twice, is not an error.
func (c *Conversation) Undo(ctx context.Context, planID string) error { return c.c.Undo(ctx, planID) }

// Release ends all holds: what Undo brought back may leave in its turn, unless it is
// pinned. Nothing leaves at once.
func (c *Conversation) Release(ctx context.Context) error { return c.c.Release(ctx) }

// Status returns the state of the window; in a conversation of calls that is what was really
// sent of the latest one.
func (c *Conversation) Status(ctx context.Context) (Status, error) { return c.c.Status(ctx) }

// Resize sets the size of the window, which overrides Config.Adaptive; 0 restores the
// window's own size, step by step if it is adaptive. The size never exceeds what
// Config.Model accepts. Resize returns the items that no longer fit, oldest first.
func (c *Conversation) Resize(ctx context.Context, tokens int) (evicted []Item, err error) {
	return c.c.Resize(ctx, tokens)
}

// Clear removes every item from view, including pinned ones. It ends all holds and resets
// the digest, the state of the conversation and the adaptive size. History, ids, pins and
// the size set by Resize stay. Undo of the plan that Clear makes brings everything back.
func (c *Conversation) Clear(ctx context.Context) error { return c.c.Clear(ctx) }

// Directives returns the standing instructions and preferences of the conversation that
// are not dismissed, oldest first. Views show the newest of them, with their times,
// within Config.DirectiveTokens. Engine.Directives returns those of a project or a user.
func (c *Conversation) Directives(ctx context.Context) ([]Directive, error) {
	return c.c.Directives(ctx)
}

// Dismiss ends the directives of an item, edited or not. The item stays in the history and
// can be recalled. Dismissing an item twice is not an error.
func (c *Conversation) Dismiss(ctx context.Context, id int64) error { return c.c.Dismiss(ctx, id) }

// EditDirective replaces all directives of an item by one text, also if they were dismissed
// before. Views and calls are offered the text from then on; the item stays as it was said.
// It is an error if the item contains no directive.
func (c *Conversation) EditDirective(ctx context.Context, id int64, text string) error {
	return c.c.EditDirective(ctx, id, text)
}

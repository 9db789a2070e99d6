package oriel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

type (
	// Item is one thing that a conversation holds: a message, a tool's result, a
	// file. Content and Source are enough; the rest has useful zero values.
	Item = items.Item
	// Plan is the record of one decision. In the plans of a conversation a
	// Block's Index is the id of an item, and Undo is the id to give to
	// Conversation.Undo.
	Plan = window.Plan
	// FitOptions are the settings of Fit.
	FitOptions = window.Options
)

// Causes of an *Error.
var (
	// ErrConfig: a setting cannot be used.
	ErrConfig = errors.New("not a valid setting")
	// ErrClosed: the engine has been closed.
	ErrClosed = errors.New("the engine is closed")
	// ErrNoConversation: a conversation needs an id.
	ErrNoConversation = errors.New("no conversation has an empty id")
	// ErrItem: an item cannot be added.
	ErrItem = items.ErrItem
	// ErrNoItem: the conversation never had an item with this id.
	ErrNoItem = errors.New("no such item")
	// ErrNoPlan: the conversation never had a plan with this id.
	ErrNoPlan = errors.New("no such plan")
	// ErrCannotFit: what must be shown is larger than the budget. Fit returns it, too.
	ErrCannotFit = window.ErrCannotFit
)

// Error says what failed, where, why and what to do about it.
type Error struct {
	// Op is what was to be done, with the id of what it was to be done to.
	Op string
	// Conversation is the id of the conversation; empty where there is none.
	Conversation string
	// Err is the cause: one of the errors above, or that of a context or store.
	Err error
	// Hint is what to do; it may be empty.
	Hint string
}

func (e *Error) Error() string {
	s := e.Op
	if e.Conversation != "" {
		s += fmt.Sprintf(" in conversation %q", e.Conversation)
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Config says how an engine keeps its conversations. The zero value keeps them in
// memory, each with a window of 8,000 tokens and 100 items. Engines of different
// settings may share a history: each shows it through windows of its own sizes.
type Config struct {
	// Dir is the folder of the history; it is made if it is not there. Several
	// processes may share it. Empty keeps the history in memory.
	Dir string
	// Store, if it is not nil, keeps the history instead of a database in Dir; Dir then
	// keeps only what was learnt about providers. The caller closes its own.
	Store timeline.Store
	// Sync says what is durable when a call returns: with "normal" (the default)
	// it survives the death of the process, with "full" the loss of power, too.
	Sync string
	// Tenant is whose history it is; no call reaches another's. Default: the
	// machine's own user.
	Tenant string
	// Retention says which conversations are deleted when the engine is opened.
	// Default: none.
	Retention Retention
	// MaxTokens is the size of a window. Default: what the conversation had when
	// it was last used, 8,000 for a new one. With Adaptive it is the size to start
	// from. Never more than Model takes is used.
	MaxTokens int
	// MaxItems is the most items of a window. Default: what the conversation had,
	// 100 for a new one, for "fifo" 50.
	MaxItems int
	// Policy says which item leaves a full window: the least relevant,
	// "relevance", or the oldest, "fifo". Default: what the conversation had,
	// "relevance" for a new one.
	Policy string
	// Adaptive lets the size of a window follow what its conversation is busy
	// with and how complex that is, between half of MaxTokens and four times it,
	// a quarter of it at a step. Conversation.Resize overrides it.
	Adaptive bool
	// Model names the model that is shown the windows. It bounds every size (its
	// context window less Margin and Reserve) and counts. Default: none, no bound.
	Model string
	// Reserve is what Model's window keeps for the reply. Default 8,192.
	Reserve int
	// Margin is the share of Model's window that is left free: 0 means a tenth,
	// window.NoMargin nothing (SPEC B1).
	Margin float64
	// Models is the table in which Model is looked up. Default: the built-in one.
	Models *token.Models
	// Weights are those of relevance. Default: recency 0.3 with a half-life of 24
	// hours, cosine 0.4, and those of flags and sources.
	Weights items.Weights
	// NoAutoFlags leaves an item's flags to the caller; otherwise errors, code,
	// questions and solutions are found and flagged as they come.
	NoAutoFlags bool
	// Count counts the tokens of a text. It must be safe for concurrent use.
	// Default: as Model counts, o200k_base where none is named.
	Count func(string) int
	// Now is the clock; nothing else is asked for the time. It must be safe for
	// concurrent use. Default: time.Now.
	Now func() time.Time
	// Project is what new conversations of calls, and conversations of items without a
	// project, belong to, for recall that reaches across a project. Default: none.
	Project string
	// Embed makes the vectors of recall. Default: all-MiniLM-L6-v2 in this program,
	// begun when it is first needed; none where the program was built with the tag
	// oriel_nomodel. The caller closes its own.
	Embed embed.Model
	// NoEmbed recalls by words alone, and relevance knows no meaning but by vectors
	// that the caller gives.
	NoEmbed bool
	// NoEmbedItems leaves meaning out of relevance, unless the caller gives vectors:
	// otherwise items and the newest query of Context are embedded by Embed, items in
	// the background. An eviction uses what is there and never waits.
	NoEmbedItems bool
	// RecallMemory is the most bytes that recall keeps of all conversations
	// together; what was not used for the longest time is read again when it is
	// needed. Default: recall.DefaultMemory.
	RecallMemory int64
	// DirectiveTokens is how many tokens of standing instructions and preferences
	// a view shows. Default: a sixteenth of the view's budget; a negative number
	// shows none.
	DirectiveTokens int
	// Calls says what is sent of requests: see Engine.Begin and Engine.Transport.
	Calls CallOptions
	// Waits bounds what a call may wait for.
	Waits Waits
	// Events, if set, receives everything that happens: what leaves a window, every
	// resize, pin, unpin, undo and recall, every call. It may be called while a
	// conversation is locked: it must not call back, and must be quick.
	Events func(Event)
	// Log receives what goes wrong with calls and in the background, and what is upgraded.
	// Default: nobody.
	Log *slog.Logger
}

// Retention says how long and how much history is kept. It deletes conversations
// wholly, those first whose last message is the oldest.
type Retention struct {
	// OlderThan deletes conversations whose last message is older than this; 0 keeps
	// them for ever.
	OlderThan time.Duration
	// MaxBytes deletes until the contents have no more bytes than this; 0 is no
	// limit.
	MaxBytes int64
}

// Open makes an engine. Close it when it is no longer needed.
func Open(ctx context.Context, config Config) (*Engine, error) {
	const op = "open"
	if ctx.Err() != nil {
		return nil, &Error{Op: op, Err: context.Cause(ctx)}
	}
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"MaxTokens", int64(config.MaxTokens)}, {"MaxItems", int64(config.MaxItems)}, {"Reserve", int64(config.Reserve)},
		{"Retention.OlderThan", int64(config.Retention.OlderThan)}, {"Retention.MaxBytes", config.Retention.MaxBytes},
		{"RecallMemory", config.RecallMemory},
	} {
		if limit.n < 0 {
			return nil, &Error{Op: op, Err: fmt.Errorf("%w: %s %d", ErrConfig, limit.name, limit.n), Hint: "give a number above 0, or 0 for the default"}
		}
	}
	switch items.Policy(config.Policy) {
	case "", items.ByRelevance, items.ByAge:
	default:
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: Policy %q", ErrConfig, config.Policy), Hint: `use "relevance" or "fifo"`}
	}
	switch config.Sync {
	case "", "normal", "full":
	default:
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: Sync %q", ErrConfig, config.Sync), Hint: `use "normal" or "full"`}
	}
	if config.Project != "" {
		if err := checkID(config.Project); err != nil {
			return nil, &Error{Op: op, Err: fmt.Errorf("%w: Project: %w", ErrConfig, err)}
		}
	}
	if err := errors.Join(config.Weights.Check(), window.CheckMargin(config.Margin)); err != nil {
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: %w", ErrConfig, err)}
	}
	if err := config.Calls.check(); err != nil {
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: %w", ErrConfig, err)}
	}
	e := newEngine(config)
	if err := e.complete(); err != nil {
		return nil, &Error{Op: op, Err: fmt.Errorf("%w: Model %q: %w", ErrConfig, config.Model, err)}
	}
	if err := e.openStore(ctx); err != nil {
		return nil, e.storeError(ctx, strings.TrimSpace(op+" "+config.Dir), "", err)
	}
	e.openLibrary()
	e.openCalls()
	return e, nil
}

// complete fills in the defaults.
func (e *Engine) complete() error {
	c := &e.config
	if c.Tenant == "" {
		c.Tenant = timeline.Local
	}
	if c.Policy == "" {
		c.Policy = string(items.ByRelevance)
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = items.DefaultMaxTokens
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Weights.Flags = maps.Clone(c.Weights.Flags)
	c.Weights.Sources = maps.Clone(c.Weights.Sources)
	model := token.Model{Encoding: "o200k_base", Exact: true}
	if c.Model != "" {
		if c.Models == nil {
			c.Models = token.Builtin()
		}
		model = c.Models.Lookup(c.Model)
		budget, err := window.BudgetOf(window.Bounds{Model: model, Reserve: cmp.Or(c.Reserve, window.DefaultReserve), Margin: c.Margin})
		if err != nil {
			return err
		}
		e.allowed = budget.Allowed
	}
	if c.Count == nil {
		counter := token.NewCounter(model, token.Options{})
		c.Count = func(s string) int { return counter.Text(s).Tokens }
	}
	return nil
}

// bounded is a size that the model takes.
func (e *Engine) bounded(tokens int) int {
	if e.allowed > 0 {
		return min(tokens, e.allowed)
	}
	return tokens
}

// Fit fits one request body to its model, without any state: it gives back a body
// that is valid and within the budget, and the plan that says why each message
// stayed or left.
//
// Fit never changes the bytes that it is given. So undoing a plan of Fit is to drop
// it and to send the body that was given. Where nothing has to change, the body
// that comes back is that body itself, not a copy.
func Fit(ctx context.Context, body []byte, o FitOptions) ([]byte, *Plan, error) {
	if ctx.Err() != nil {
		return nil, nil, &Error{Op: "fit", Err: context.Cause(ctx)}
	}
	return window.Fit(ctx, body, o)
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// Config configures an engine. The zero value stores conversations in memory, each with a
// window of 8,000 tokens and 100 items. Engines with different settings may share a
// history: each has windows of its own sizes.
type Config struct {
	// Dir is the folder of the history, which Open creates if it is missing. Several
	// processes may share it. Empty keeps the history in memory.
	Dir string
	// Store, if not nil, stores the history instead of a database in Dir; Dir then holds
	// only what was learnt about providers. The caller closes Store.
	Store timeline.Store
	// Sync is what a stored call survives: with "normal" (the default) a crash of the
	// process, with "full" also a loss of power.
	Sync string
	// Spool is a folder on this machine's disk for calls that the store does not accept:
	// they are written when it does, in their order, by this engine or by the next one
	// that has this folder. It is made when it is needed, and bounded to 1 GiB. Several
	// processes may share it if they have the same store. Empty: what the store does not
	// accept after some attempts is lost.
	Spool string
	// Shared reports that other processes serve calls of the same store. A call then ends
	// when it is stored, or a second later, so that whichever process has the next call of
	// the conversation finds it, and what another process stored is read before a call
	// that continues from it.
	Shared bool
	// Learnt is where limits and counts that providers taught are kept, for servers that
	// share them. Nil: the file learnt.json in Dir.
	Learnt token.LearntPlace
	// Tenant is the owner of the history; no call reaches another tenant's. Default: the
	// user of this machine.
	Tenant string
	// Retention selects conversations that Open deletes.
	// Default: none.
	Retention Retention
	// MaxTokens is the size of a window, bounded by what Model accepts. With Adaptive it
	// is the initial size. Default: the conversation's last size, 8,000 for a new one.
	MaxTokens int
	// MaxItems is the most items of a window. Default: the conversation's last number,
	// 100 for a new one, 50 with "fifo".
	MaxItems int
	// Policy selects the item that leaves a full window: "relevance" the least relevant,
	// "fifo" the oldest. Default: the conversation's last policy, "relevance" for a new
	// one.
	Policy string
	// Adaptive lets the size of a window follow the state and the complexity of its
	// conversation, by Sizing. Conversation.Resize overrides it.
	Adaptive bool
	// Sizing are the multipliers by state, the bounds and the step of adaptive sizes, also
	// of those of calls under the profile chat. Default: between half of MaxTokens and four
	// times it, in steps of a quarter.
	Sizing items.Sizing
	// Model names the model that gets the windows. It bounds every size, by its context
	// window less Margin and Reserve, and selects how tokens are counted. Default: none,
	// without a bound.
	Model string
	// Reserve is the part of Model's window for the reply. Default 8,192.
	Reserve int
	// Margin is the share of Model's window that is left free: 0 means a tenth,
	// window.NoMargin nothing (SPEC B1).
	Margin float64
	// Models is the table in which Model is looked up. Default: the built-in one.
	Models *token.Models
	// Weights are those of relevance. Default: recency 0.3 with a half-life of 24
	// hours, cosine 0.4, and those of flags and sources.
	Weights items.Weights
	// NoAutoFlags leaves an item's flags to the caller. Otherwise Add detects and flags
	// errors, code, questions and solutions.
	NoAutoFlags bool
	// Count counts the tokens of a text. It must be safe for concurrent use.
	// Default: as Model counts, o200k_base where none is named.
	Count func(string) int
	// Now is the only clock. It must be safe for concurrent use. Default: time.Now.
	Now func() time.Time
	// Project is what new conversations of calls, and conversations of items without a
	// project, belong to, for recall that reaches across a project. Default: for calls the
	// folder that an agent tells its model, if it does; for items none.
	Project string
	// Embed computes the vectors of recall. Default: all-MiniLM-L6-v2 in this process,
	// loaded when it is first needed; none in a program built with the tag
	// oriel_nomodel. The caller closes Embed.
	Embed embed.Model
	// NoEmbed makes recall search by words alone, and relevance use no vectors except the
	// caller's.
	NoEmbed bool
	// NoEmbedItems makes relevance use no vectors except the caller's. Otherwise Embed
	// embeds the newest query of Context and, in the background, items. An eviction uses
	// the vectors that are there and never waits.
	NoEmbedItems bool
	// RecallMemory bounds the bytes that recall keeps of all conversations together. It
	// drops what was not used for the longest time, and reads it again when needed.
	// Default: recall.DefaultMemory.
	RecallMemory int64
	// DirectiveTokens is the most tokens of standing instructions and preferences in a
	// view. Default: a sixteenth of the view's budget; a negative number shows none.
	DirectiveTokens int
	// Calls controls what is sent of requests: see Engine.Transport.
	Calls call.Options
	// Events, if set, receives every event: what leaves a window, every resize, pin,
	// unpin, undo, recall and call. It may run while a conversation is locked: it must
	// return quickly and not call the engine.
	Events func(event.Event)
	// Log receives what goes wrong with calls and in the background, and what is upgraded.
	// Default: nobody.
	Log *slog.Logger
}

// Retention limits the age and the size of a history. It deletes whole conversations,
// those first whose last message is the oldest.
type Retention struct {
	// OlderThan deletes conversations whose last message is older than this; 0 keeps
	// them for ever.
	OlderThan time.Duration
	// MaxBytes deletes until the contents have no more bytes than this; 0 is no
	// limit.
	MaxBytes int64
}

// Open returns an engine. Close it when it is no longer needed.
func Open(ctx context.Context, config Config) (*Engine, error) {
	const op = "open"
	if ctx.Err() != nil {
		return nil, &fault.Error{Op: op, Err: context.Cause(ctx)}
	}
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"MaxTokens", int64(config.MaxTokens)}, {"MaxItems", int64(config.MaxItems)},
		{"Reserve", int64(config.Reserve)},
		{"Retention.OlderThan", int64(config.Retention.OlderThan)}, {"Retention.MaxBytes", config.Retention.MaxBytes},
		{"RecallMemory", config.RecallMemory},
	} {
		if limit.n < 0 {
			return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: %s %d", fault.ErrConfig, limit.name, limit.n),
				Hint: "give a number above 0, or 0 for the default"}
		}
	}
	switch items.Policy(config.Policy) {
	case "", items.ByRelevance, items.ByAge:
	default:
		return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: Policy %q", fault.ErrConfig, config.Policy),
			Hint: `use "relevance" or "fifo"`}
	}
	switch config.Sync {
	case "", "normal", "full":
	default:
		return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: Sync %q", fault.ErrConfig, config.Sync),
			Hint: `use "normal" or "full"`}
	}
	if config.Project != "" {
		if err := fault.CheckID(config.Project); err != nil {
			return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: Project: %w", fault.ErrConfig, err)}
		}
	}
	if err := errors.Join(config.Weights.Check(), config.Sizing.Check(),
		window.CheckMargin(config.Margin)); err != nil {
		return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: %w", fault.ErrConfig, err)}
	}
	if err := config.Calls.Check(); err != nil {
		return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: %w", fault.ErrConfig, err)}
	}
	e := newEngine(config)
	if err := e.complete(); err != nil {
		return nil, &fault.Error{Op: op, Err: fmt.Errorf("%w: Model %q: %w", fault.ErrConfig, config.Model, err)}
	}
	if err := e.openStore(ctx); err != nil {
		return nil, e.storeError(ctx, strings.TrimSpace(op+" "+config.Dir), "", err)
	}
	e.openLibrary(call.InsideOf(ctx))
	e.openCalls(ctx)
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
	c.Sizing.Multipliers = maps.Clone(c.Sizing.Multipliers)
	model := token.Model{Encoding: "o200k_base", Exact: true}
	if c.Model != "" {
		if c.Models == nil {
			c.Models = token.Builtin()
		}
		model = c.Models.Lookup(c.Model)
		budget, err := window.BudgetOf(window.Bounds{Model: model, Reserve: cmp.Or(c.Reserve, window.DefaultReserve),
			Margin: c.Margin})
		if err != nil {
			return err
		}
		e.allowed = budget.Allowed
	}
	if c.Count == nil {
		// What counts nothing does not read the table of an encoding.
		counter := sync.OnceValue(func() *token.Counter { return token.NewCounter(model, token.Options{}) })
		c.Count = func(s string) int { return counter().Text(s).Tokens }
	}
	return nil
}

// bounded returns a size that the model accepts.
func (e *Engine) bounded(tokens int) int {
	if e.allowed > 0 {
		return min(tokens, e.allowed)
	}
	return tokens
}

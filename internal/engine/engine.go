package engine

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"weak"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

// Engine stores conversations, composes views of them, and handles calls. It is safe for
// concurrent use.
type Engine struct {
	facade
	config Config
	// given holds the sizes and the policy that Config sets for every window; 0 and ""
	// if each conversation keeps its own.
	given struct {
		tokens, items int
		policy        string
	}
	// allowed is the most tokens that the model accepts; 0 if Config names none.
	allowed int
	store   timeline.Store
	library *recall.Library
	// calls handles requests; learnt holds what they taught about providers, and is nil
	// without Config.Dir.
	calls  *call.Engine
	learnt *token.Learnt
	// handle gives Oriel's own programs calls.
	handle
	// model is the built-in model; nil if Config has another one or none.
	model *builtinModel
	// meanings are the vectors of items, for relevance.
	meanings meanings
	// parent is the engine that this one shares its store, library and calls with; nil if
	// they are its own.
	parent *Engine
	// keep is how many conversations stay in memory even if no caller has them.
	keep int
	// upgraded runs once, when a conversation of an earlier version was stored.
	upgraded sync.Once

	mu sync.Mutex // protects what follows
	// conversations are those that a caller has, so that the same id returns the same
	// conversation. recent lists recently used ones, the latest first.
	conversations map[string]weak.Pointer[Conversation]
	recent        *list.List
	tenants       map[string]*Engine
	closed        bool
}

type handle = call.Handle

// keepConversations is the number of recently used conversations that stay in memory,
// each with the items in view. Others are read again at their next use.
const keepConversations = 256

func newEngine(config Config) *Engine {
	e := &Engine{config: config, keep: keepConversations, conversations: map[string]weak.Pointer[Conversation]{},
		recent: list.New()}
	e.given.tokens, e.given.items, e.given.policy = config.MaxTokens, config.MaxItems, config.Policy
	return e
}

// openStore opens the history and applies Config.Retention.
func (e *Engine) openStore(ctx context.Context) error {
	c := &e.config
	switch {
	case c.Store != nil:
		e.store = c.Store
		return e.prune(ctx)
	case c.Dir == "":
		e.store = memory.New()
		return nil
	}
	var o sqlite.Options
	if c.Sync == "full" {
		o.Sync = sqlite.Full
	}
	store, err := sqlite.Open(ctx, c.Dir, o)
	if err != nil {
		return err
	}
	e.store = store
	if err := e.prune(ctx); err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

// prune deletes the conversations that Config.Retention does not keep.
func (e *Engine) prune(ctx context.Context) error {
	c := &e.config
	if c.Retention == (Retention{}) {
		return nil
	}
	if _, err := timeline.Prune(ctx, e.store, c.Tenant, timeline.Policy(c.Retention), c.Now()); err != nil {
		return fmt.Errorf("delete what need not be kept: %w", err)
	}
	return nil
}

// openLibrary prepares recall. It reads nothing and loads no model before they are needed.
func (e *Engine) openLibrary(in call.Inside) {
	o := recall.LibraryOptions{
		Model: e.config.Embed, Memory: e.config.RecallMemory, Count: e.config.Count, OnDemand: in.SearchFor,
		Report: in.RecallFailed,
	}
	if o.Report == nil {
		o.Report = func(err error) {
			e.config.Log.Warn("recall failed in the background; it is tried again with a later call", "error", err)
		}
	}
	switch {
	case e.config.NoEmbed:
		o.Model = nil
	case o.Model == nil && hasModel:
		e.model = &builtinModel{}
		o.Model = e.model
	}
	e.library = recall.NewLibrary(e.store, o)
	if !e.config.NoEmbedItems {
		e.meanings.model = o.Model
	}
}

// Conversation implements oriel.Engine.Conversation.
func (e *Engine) Conversation(ctx context.Context, id string) (*Conversation, error) {
	const op = "open conversation"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &fault.Error{Op: op, Conversation: id, Err: err}
	}
	if err := fault.CheckID(id); err != nil {
		return nil, &fault.Error{Op: op, Conversation: id, Err: err,
			Hint: "give it a name that lasts, such as that of the task"}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.conversations[id].Value()
	if c == nil {
		c = &Conversation{id: id, tenant: e.config.Tenant, engine: e}
		e.conversations[id] = weak.Make(c)
		runtime.AddCleanup(c, e.forget, id)
	}
	e.touch(c)
	return c, nil
}

// hasItems reports whether items were added to a conversation that is in memory.
func (e *Engine) hasItems(tenant, id string) bool {
	e.mu.Lock()
	t, c := e.tenants[tenant], e.conversations[id].Value()
	e.mu.Unlock()
	if tenant != e.config.Tenant {
		return t != nil && t.hasItems(tenant, id)
	}
	return c != nil && c.hasItems.Load()
}

// forget removes the entry of a conversation that no caller holds any more.
func (e *Engine) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conversations[id].Value() == nil {
		delete(e.conversations, id)
	}
}

// touch marks a conversation as the latest used, and unloads the one that was not used
// for the longest time if there are too many. Callers may still use that one. The caller
// holds mu.
func (e *Engine) touch(c *Conversation) {
	if c.place != nil {
		e.recent.MoveToFront(c.place)
		return
	}
	c.place = e.recent.PushFront(c)
	for e.recent.Len() > e.keep {
		old := e.recent.Remove(e.recent.Back()).(*Conversation)
		old.place = nil
		old.unload()
	}
}

// Conversations implements oriel.Engine.Conversations.
func (e *Engine) Conversations(ctx context.Context) ([]string, error) {
	const op = "list conversations"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &fault.Error{Op: op, Err: err}
	}
	stored, err := e.store.Conversations(ctx, e.config.Tenant)
	if err != nil {
		return nil, e.storeError(ctx, op, "", err)
	}
	all := make(map[string]bool, len(stored))
	for i := range stored {
		all[stored[i].Name] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for el := e.recent.Front(); el != nil; el = el.Next() {
		if c := el.Value.(*Conversation); !c.begun.Load() {
			all[c.id] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// Delete implements oriel.Engine.Delete. It returns what is gone.
func (e *Engine) Delete(ctx context.Context, id string) (timeline.Deleted, error) {
	const op = "delete"
	if err := e.enter(ctx, nil); err != nil {
		return timeline.Deleted{}, &fault.Error{Op: op, Conversation: id, Err: err}
	}
	e.mu.Lock()
	c := e.conversations[id].Value()
	if c != nil && c.place != nil {
		e.recent.Remove(c.place)
		c.place = nil
	}
	e.mu.Unlock()
	if c != nil { // nobody uses it meanwhile
		c.mu.Lock()
		defer c.mu.Unlock()
		c.loaded = nil
		c.hasItems.Store(false)
	}
	gone, err := e.store.Delete(ctx, e.config.Tenant, id, nil)
	if err != nil {
		return gone, e.storeError(ctx, op, id, err)
	}
	e.library.Forget(e.config.Tenant, id)
	return gone, nil
}

// Wait implements oriel.Engine.Wait.
func (e *Engine) Wait(ctx context.Context) error {
	const op = "wait for calls and vectors"
	if err := e.enter(ctx, nil); err != nil {
		return &fault.Error{Op: op, Err: err}
	}
	if err := errors.Join(e.calls.Wait(ctx), e.library.Wait(ctx), e.meanings.wait(ctx)); err != nil {
		return e.storeError(ctx, op, "", err)
	}
	return nil
}

// Close implements oriel.Engine.Close.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	tenants := slices.Collect(maps.Values(e.tenants))
	e.mu.Unlock()
	if e.parent != nil {
		e.meanings.shutDown()
		return nil
	}
	for _, t := range tenants {
		t.Close()
	}
	e.closeCalls()
	e.meanings.shutDown()
	err := e.library.Close()
	if e.model != nil {
		e.model.release()
	}
	if e.config.Store == nil {
		err = errors.Join(err, e.store.Close())
	}
	if err != nil {
		return e.storeError(context.Background(), "close", "", err)
	}
	return nil
}

// enter returns an error if ctx has ended or the engine is closed. It marks c, if not nil,
// as used.
func (e *Engine) enter(ctx context.Context, c *Conversation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.parent != nil {
		if err := e.parent.enter(ctx, nil); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.ErrClosed
	}
	if c != nil {
		e.touch(c)
	}
	return nil
}

// storeError wraps an error of the store with a hint.
func (e *Engine) storeError(ctx context.Context, op, conversation string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	out := &fault.Error{Op: op, Conversation: conversation, Err: err}
	switch {
	case ctx.Err() != nil:
		out.Err = context.Cause(ctx)
	case errors.Is(err, timeline.ErrClosed), errors.Is(err, recall.ErrClosed):
		out.Err = fault.ErrClosed
	case errors.Is(err, timeline.ErrNoConversation):
		out.Hint = "Engine.Conversations lists those that there are"
	case errors.Is(err, timeline.ErrChanged):
		out.Hint = "others keep changing it: try again"
	case errors.Is(err, timeline.ErrNewer):
		out.Hint = "use the newest version of this program"
	case errors.Is(err, timeline.ErrDamaged):
		out.Hint = "run \"oriel verify\" to see what is wrong, and restore a backup"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		out.Hint = "give this user the right to write to the folder"
	default:
		out.Hint = "nothing was changed: check that the folder of the history can be written to and that its disk has room, then try again"
	}
	return out
}

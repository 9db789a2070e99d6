package oriel

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"
	"weak"

	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

// Engine has conversations. It is safe for concurrent use.
type Engine struct {
	config Config
	// given is what the caller wants for every window; 0 and "" where each
	// conversation goes on with what it had.
	given struct {
		tokens, items int
		policy        string
	}
	// allowed is the most tokens that the model takes; 0 when none is named.
	allowed int
	store   timeline.Store
	library *recall.Library
	// calls takes requests; learnt is what they taught about providers, nil without
	// Config.Dir.
	calls  *calls
	learnt *token.Learnt
	// model is our own, and nil where the caller has one or wants none.
	model *builtinModel
	// meanings are the vectors of items, for relevance.
	meanings meanings
	// keep is how many conversations are kept in memory though nobody may have
	// them any more.
	keep int
	// upgraded is done once a conversation of an earlier version was stored.
	upgraded sync.Once

	mu sync.Mutex // protects what follows
	// conversations are all that anybody has, so that the same id gives the same
	// conversation. Those of recent were used last, the latest first.
	conversations map[string]weak.Pointer[Conversation]
	recent        *list.List
	closed        bool
}

// keepConversations is how many conversations that were used last stay in memory,
// each with as much as its window shows. All others are read again when they are
// next used.
const keepConversations = 256

func newEngine(config Config) *Engine {
	e := &Engine{config: config, keep: keepConversations, conversations: map[string]weak.Pointer[Conversation]{}, recent: list.New()}
	e.given.tokens, e.given.items, e.given.policy = config.MaxTokens, config.MaxItems, config.Policy
	return e
}

// openStore opens the history and deletes what it need not keep.
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

// prune deletes what need not be kept.
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

// openLibrary gets recall ready; nothing is read, and no model begun, before the
// first need.
func (e *Engine) openLibrary() {
	o := recall.LibraryOptions{Model: e.config.Embed, Memory: e.config.RecallMemory, Count: e.config.Count, Report: func(err error) {
		e.config.Log.Warn("recall failed in the background; it is tried again with a later call", "error", err)
	}}
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

// Conversation gives the conversation with an id; it begins when it is first asked
// for. The same id gives the same conversation. It is stored with the first thing
// that happens to it.
func (e *Engine) Conversation(ctx context.Context, id string) (*Conversation, error) {
	const op = "open conversation"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &Error{Op: op, Conversation: id, Err: err}
	}
	if err := checkID(id); err != nil {
		return nil, &Error{Op: op, Conversation: id, Err: err, Hint: "give it a name that lasts, such as that of the task"}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.conversations[id].Value()
	if c == nil {
		c = &Conversation{id: id, engine: e}
		e.conversations[id] = weak.Make(c)
		runtime.AddCleanup(c, e.forget, id)
	}
	e.touch(c)
	return c, nil
}

// checkID refuses a name that no store takes.
func checkID(id string) error {
	switch {
	case id == "":
		return ErrNoConversation
	case len(id) > timeline.MaxName:
		return fmt.Errorf("%w: an id of %d bytes, at most %d are stored", ErrConfig, len(id), timeline.MaxName)
	case !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0:
		return fmt.Errorf("%w: an id that is no text", ErrConfig)
	}
	return nil
}

// forget is called when nobody has a conversation any more.
func (e *Engine) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conversations[id].Value() == nil {
		delete(e.conversations, id)
	}
}

// touch makes a conversation the one that was used last, with the lock held. Of too
// many the one that was used before all others is let go: who has it may go on
// using it.
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

// Conversations are the ids of all conversations, sorted.
func (e *Engine) Conversations(ctx context.Context) ([]string, error) {
	const op = "list conversations"
	if err := e.enter(ctx, nil); err != nil {
		return nil, &Error{Op: op, Err: err}
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

// Delete removes a conversation with everything that is known of it, and whatever
// of its contents no other conversation has. Whoever has it may go on using it: it
// then begins anew.
func (e *Engine) Delete(ctx context.Context, id string) error {
	const op = "delete"
	if err := e.enter(ctx, nil); err != nil {
		return &Error{Op: op, Conversation: id, Err: err}
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
		c.present = nil
	}
	if _, err := e.store.Delete(ctx, e.config.Tenant, id, nil); err != nil {
		return e.storeError(ctx, op, id, err)
	}
	e.library.Forget(e.config.Tenant, id)
	return nil
}

// Wait waits until the calls that have ended are stored, and everything that recall and
// relevance have looked at has its vectors. Programs that want the same views from the same
// calls, to the last score, wait before each.
func (e *Engine) Wait(ctx context.Context) error {
	const op = "wait for calls and vectors"
	if err := e.enter(ctx, nil); err != nil {
		return &Error{Op: op, Err: err}
	}
	if err := errors.Join(e.calls.queue.wait(ctx), e.library.Wait(ctx), e.meanings.wait(ctx)); err != nil {
		return e.storeError(ctx, op, "", err)
	}
	return nil
}

// Close ends the engine: calls that come after it fail with ErrClosed. A history
// in memory ends with it.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
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

// enter is asked before anything is done; c is the conversation that it is done to.
func (e *Engine) enter(ctx context.Context, c *Conversation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	if c != nil {
		e.touch(c)
	}
	return nil
}

// storeError says what failed in words that help.
func (e *Engine) storeError(ctx context.Context, op, conversation string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	out := &Error{Op: op, Conversation: conversation, Err: err}
	switch {
	case ctx.Err() != nil:
		out.Err = context.Cause(ctx)
	case errors.Is(err, timeline.ErrClosed), errors.Is(err, recall.ErrClosed):
		out.Err = ErrClosed
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
		out.Hint = "nothing was changed: see whether the folder of the history can be written to and its disk has room, then try again"
	}
	return out
}

package call

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// callState is the state of a conversation beside its history.
type callState struct {
	mu      sync.Mutex // protects what follows
	changed int64      // Store.Changed when it was read; less than 0: this process has changed it since
	marks   int64      // how often it has
	read    bool
	notes   viewNotes

	// asked is when each model was last asked; before is when another process last wrote
	// to the conversation. Both tell what a provider's cache may hold.
	asked  map[string]time.Time
	before time.Time

	sized   bool // the adaptive size was read
	sizer   items.Sizer
	tracker items.Tracker
	seen    int // messages that the tracker has seen
}

// states holds the states of recently used conversations.
type states struct {
	mu    sync.Mutex
	known map[string]*callState
}

// maxStates is the number of states at which states is emptied.
const maxStates = 4096

func (t *states) of(tenant, conversation string) *callState {
	key := tenant + "\x00" + conversation
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[key]
	if k == nil {
		if t.known == nil || len(t.known) >= maxStates {
			t.known = map[string]*callState{} // it is read again
		}
		k = &callState{}
		t.known[key] = k
	}
	return k
}

// changed makes the next call of a conversation read its notes again, because this
// process has changed them, which Store.Changed does not report.
func (t *states) changed(tenant, conversation string) {
	k := t.of(tenant, conversation)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.marks++
	k.changed = -k.marks
}

// pinned returns the pinned and held messages for the view of a call, by depth, and the
// kinds of events that report what is new among them. It reads the records if another
// process has changed anything. If they cannot be read, the last known ones apply.
func (c *Call) pinned(ctx context.Context) (pins []int, news []string, err error) {
	r, t := c.engine, c.thread
	k := r.states.of(t.Tenant, t.Conversation)
	k.mu.Lock()
	read, was := k.read, k.changed
	k.mu.Unlock()
	if was < 0 {
		c.stored = r.index.Snapshot(t) // what Find has read may be older than the change
	}
	store := c.stored
	now, err := limit.Do(ctx, &r.reads, func(ctx context.Context) (*freshNotes, error) {
		return r.refreshNotes(ctx, store, t, read, was)
	})
	r.noteStore(err)
	if err == nil && len(now.decided) > 0 {
		r.index.TakePlans(t, now.decided)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// If another call has read them meanwhile, its result counts; if this process has
	// changed them meanwhile, the next call reads them again.
	if err == nil && now.fresh && (k.changed == was || k.changed < 0) {
		if k.read {
			news = now.notes.differ(&k.notes)
		}
		if k.changed == was && (now.failed == nil || errors.Is(now.failed, plan.ErrNewer)) {
			k.changed = now.changed
		}
		k.notes, k.read, err = now.notes, true, now.failed
	}
	return k.notes.on(t), news, err
}

// freshNotes is the result of refreshNotes.
type freshNotes struct {
	changed int64
	fresh   bool // notes were read
	notes   viewNotes
	// decided are plans of others that are not stored yet.
	decided []*plan.Plan
	failed  error // of reading the plans of others
}

// refreshNotes reads the notes of a conversation, unless read is set and nothing has
// changed since was. A notification may come later than the call that follows the change:
// what another process has answered is read in any case. It may outlive its call: it uses only
// those fields of t that never change.
func (r *Engine) refreshNotes(ctx context.Context, store timeline.Store, t *thread.Thread, read bool,
	was int64) (*freshNotes, error) {
	changed, err := store.Changed(ctx)
	now := &freshNotes{changed: changed}
	if err != nil || read && was == changed && !t.Elsewhere {
		return now, err
	}
	if t.Kind != thread.New || read {
		if now.notes, err = readViewNotes(ctx, store, t.Tenant, t.Conversation); err != nil {
			return nil, err
		}
	}
	var newer error // the other plans hold
	if read {
		now.failed = r.index.Refresh(ctx, store, t) // another server may have made a plan
		if errors.Is(now.failed, plan.ErrNewer) {
			newer, now.failed = now.failed, nil
		}
	}
	if r.o.Shared && t.Kind != thread.New && now.failed == nil {
		now.decided, now.failed = r.followOthers(ctx, store, t)
	}
	if now.failed == nil {
		now.failed = newer
	}
	now.fresh = true
	return now, nil
}

// followOthers returns the plans of other processes that are not stored yet, and reads the
// summaries that they have written since.
func (r *Engine) followOthers(ctx context.Context, store timeline.Store, t *thread.Thread) ([]*plan.Plan, error) {
	notes := timeline.Notes{Store: store, Tenant: t.Tenant, Conversation: t.Conversation}
	decisions, err := store.Records(ctx, t.Tenant, t.Conversation, timeline.KindDecision, "")
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := plan.ReadSummaries(ctx, notes, r.index.Plans(t)); err != nil {
		return nil, err
	}
	return plan.ReadDecisions(ctx, notes, decisions, t.Path, r.index.KnownPlans(t))
}

// worthTelling reports whether a problem of the store should be reported again: at most
// once a minute, however many calls there are.
func (r *Engine) worthTelling(now time.Time) bool {
	last := r.slow.Load()
	return (last == 0 || now.Unix()-last >= 60) && r.slow.CompareAndSwap(last, now.Unix())
}

// cold reports whether the provider's cache has nothing left of a conversation: the model
// was not asked within the cache's lifetime, or only other models were. It notes that the
// model is asked now.
func (r *Engine) cold(ctx context.Context, store timeline.Store, t *thread.Thread, model token.Model, b *wire.Body,
	now time.Time) bool {
	k := r.states.of(t.Tenant, t.Conversation)
	k.mu.Lock()
	first := k.asked == nil
	k.mu.Unlock()
	var before time.Time
	if (first || t.Elsewhere) && t.Kind != thread.New {
		c, err := limit.Do(ctx, &r.reads, func(ctx context.Context) (timeline.Conversation, error) {
			return store.Conversation(ctx, t.Tenant, t.Conversation)
		})
		if err == nil {
			before = c.Updated
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	last, known := k.asked[model.ID]
	if k.asked == nil {
		k.asked = map[string]time.Time{}
	}
	if !before.IsZero() {
		k.before = before
	}
	if !known && len(k.asked) >= maxModels {
		return false // it is not followed when it was asked
	}
	// The other process may have asked this model.
	switched := !known && len(k.asked) > 0 && k.before.IsZero()
	k.asked[model.ID] = now
	lifetime := view.Lifetime(model, b)
	if lifetime == 0 {
		return false
	}
	if k.before.After(last) {
		last = k.before
	}
	if last.IsZero() {
		return switched
	}
	return switched || now.Sub(last) >= lifetime
}

// maxModels is the most models of a conversation whose times are kept.
const maxModels = 16

// adapt returns the adaptive size of a conversation's window for a call (SPEC D6), the
// size before it, and the record to store, or nil if nothing is new.
func (r *Engine) adapt(ctx context.Context, store timeline.Store, t *thread.Thread, chain []chat.Message,
	allowed int) (size, was int, stored *timeline.Record, err error) {
	k := r.states.of(t.Tenant, t.Conversation)
	k.mu.Lock()
	sized := k.sized
	k.mu.Unlock()
	var kept *timeline.Size
	if (!sized || t.Elsewhere) && t.Kind != thread.New {
		kept, err = limit.Do(ctx, &r.reads,
			func(ctx context.Context) (*timeline.Size, error) { return readSize(ctx, store, t) })
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sizer.Sizing = r.o.Sizing
	if err != nil && !k.sized {
		return k.sizer.Size(), k.sizer.Size(), nil, err
	}
	if !k.sized || kept != nil && kept.Seen > k.seen { // another process has gone on with it
		k.resume(kept)
		k.sized = true
	}
	was = k.sizer.Size()
	if t.Depth() <= k.seen || t.Stay {
		return was, was, nil, nil
	}
	for i := range chain {
		if depth := len(t.Before) + i - t.From + 1; i >= t.From && depth > k.seen {
			if text := said(&chain[i]); text != "" {
				k.tracker.Observe(text)
			}
		}
	}
	k.seen = t.Depth()
	size = k.sizer.Next(k.tracker.Complexity(), k.tracker.State(), allowed, 0)
	tracker, err := json.Marshal(k.tracker.Save())
	if err != nil {
		return size, was, nil, err
	}
	record, err := timeline.Size{Size: size, Seen: k.seen, Tracker: tracker}.Record()
	return size, was, &record, err
}

// readSize returns the stored adaptive size of a conversation, or nil.
func readSize(ctx context.Context, store timeline.Store, t *thread.Thread) (*timeline.Size, error) {
	s, ok, err := timeline.Notes{Store: store, Tenant: t.Tenant, Conversation: t.Conversation}.Size(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return &s, nil
}

// resume restores a stored size, unless it is nil or damaged. The caller holds mu.
func (k *callState) resume(s *timeline.Size) {
	var tracked items.Tracked
	if s != nil && json.Unmarshal(s.Tracker, &tracked) == nil {
		k.sizer.Resume(s.Size)
		k.tracker.Resume(tracked)
		k.seen = s.Seen
	}
}

// said returns the text of a message.
func said(m *chat.Message) string {
	var out []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == chat.Text {
			out = append(out, p.Text.String())
		}
	}
	return strings.Join(out, "\n")
}

// standing returns the standing instructions and preferences of the conversations of a
// project that are not dismissed, oldest first.
func (r *Engine) standing(ctx context.Context, tenant, project string) ([]recall.Directive, error) {
	if r.o.Recall == nil {
		return nil, nil
	}
	said, _, err := r.o.Recall.Directives(ctx,
		recall.Where{Tenant: tenant, Project: project, Reach: recall.ReachProject})
	return said, err
}

// dismissed returns the notes about standing instructions in a conversation.
func (r *Engine) dismissed(ctx context.Context, tenant, conversation string) ([]view.Dismissed, error) {
	notes, err := timeline.Notes{Store: r.o.Store, Tenant: tenant, Conversation: conversation}.Dismissed(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.Dismissed
	for i := range notes {
		d := view.Dismissed{Depth: int(notes[i].ID), Text: notes[i].Text}
		if d.Identity, err = identityAt(ctx, r.o.Store, tenant, notes[i].At); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

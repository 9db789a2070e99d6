package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

const (
	// maxTries is how often an operation is tried if other writers are faster.
	maxTries = 60
	// readAcross is the most unneeded items that are read to save a query.
	readAcross = 8
)

// current returns the conversation as the store has it: the one in memory if nobody else
// has changed it.
func (c *Conversation) current(ctx context.Context) (*loaded, error) {
	p := c.loaded
	if p == nil || p.spoiled {
		return c.load(ctx)
	}
	seen, err := c.engine.store.Changed(ctx)
	if err != nil || seen == p.seen && c.hasItems.Load() { // calls of this process change others
		return p, err
	}
	now, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	if now.Revision != p.stored.Revision || !now.Created.Equal(p.stored.Created) {
		return c.load(ctx)
	}
	p.seen = seen
	return p, nil
}

// stored returns the store's conversation, or the zero value if there is none.
func (c *Conversation) stored(ctx context.Context) (timeline.Conversation, error) {
	now, err := c.engine.store.Conversation(ctx, c.tenant, c.id)
	if errors.Is(err, timeline.ErrNoConversation) {
		return timeline.Conversation{}, nil
	}
	return now, err
}

// load reads the conversation from the store. It applies what others did since the
// conversation was last used, and stores the result if something leaves the view.
func (c *Conversation) load(ctx context.Context) (*loaded, error) {
	old := c.loaded
	c.loaded = nil
	for range maxTries {
		p, err := c.build(ctx, old)
		if err == nil && p.touched() {
			err = p.commit(ctx)
		}
		if errors.Is(err, timeline.ErrChanged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.loaded = p
		c.hasItems.Store(p.hasItems)
		if p.stored.Revision > 0 {
			c.begun.Store(true)
		}
		return p, nil
	}
	return nil, timeline.ErrChanged
}

// build reads everything. It returns ErrChanged if another writer interfered.
func (c *Conversation) build(ctx context.Context, old *loaded) (p *loaded, err error) {
	e := c.engine
	p = &loaded{id: c.id, tenant: c.tenant, engine: e, held: map[int64]bool{}, pinned: map[int64]bool{},
		cuts: map[int64]string{}, savedUpTo: -1}
	if p.seen, err = e.store.Changed(ctx); err != nil {
		return nil, err
	}
	if p.stored, err = c.stored(ctx); err != nil {
		return nil, err
	}
	if p.stored.Revision == 0 {
		p.begin(nil)
		return p, nil
	}
	if old != nil && (old.ofCalls || !old.stored.Created.Equal(p.stored.Created)) {
		old = nil // it was deleted meanwhile
	}
	p.hasItems = old != nil && old.hasItems
	if p.ofCalls, err = call.HasCalls(ctx, e.store, c.tenant, c.id); err == nil && !p.ofCalls {
		err = p.restore(ctx, old)
	}
	if err == nil {
		now, failed := c.stored(ctx)
		if failed != nil {
			return nil, failed
		}
		if now.Revision == p.stored.Revision && now.Created.Equal(p.stored.Created) {
			return p, nil
		}
		return nil, timeline.ErrChanged
	}
	if now, failed := c.stored(ctx); failed == nil && now.Revision != p.stored.Revision {
		return nil, timeline.ErrChanged // so no wonder
	}
	return nil, err
}

// begin makes an empty window of the stored sizes.
func (p *loaded) begin(s *savedState) {
	e := p.engine
	if s == nil {
		s = &savedState{}
	}
	p.policy = cmp.Or(e.given.policy, s.Policy, e.config.Policy)
	p.base = cmp.Or(e.given.tokens, s.Base, e.config.MaxTokens)
	p.override, p.cleared, p.lastPlan, p.lastKept = s.Override, s.Cleared, s.Plan, s.Kept
	p.query = bytesVector(s.Query)
	p.tracker.Resume(s.Tracker)
	p.sizer = items.Sizer{Base: p.base, Sizing: p.engine.config.Sizing}
	if s.Size != s.Base {
		p.sizer.Resume(s.Size)
	}
	tokens := cmp.Or(p.override, p.base)
	if s.Tokens > 0 && (e.config.Adaptive || e.given.tokens == 0) {
		tokens = s.Tokens
	}
	p.window = p.emptyWindow(e.bounded(tokens), cmp.Or(e.given.items, s.Items))
}

// restore reads the state, and applies what has happened since it was stored.
func (p *loaded) restore(ctx context.Context, old *loaded) error {
	pins, unsettled, err := p.pins(ctx)
	if err != nil {
		return err
	}
	s, savedUpTo, err := p.state(ctx)
	if err != nil {
		return err
	}
	p.begin(s)
	if err := p.readHolds(ctx); err != nil {
		return err
	}
	if s == nil || savedUpTo < 0 {
		p.cleared = min(p.cleared, p.last())
		cuts, err := p.readCuts(ctx)
		if err != nil {
			return err
		}
		for id, cut := range cuts { // of a branch that was left: to be removed
			p.cuts[id] = cut.Content
		}
		if err := p.newest(ctx, pins); err != nil {
			return err
		}
		p.heldInView()
		p.older()
		p.folding.changed = s != nil // a digest of the branch that was left is not of this one
	} else {
		p.savedUpTo = savedUpTo
		if err := p.readDigest(ctx, s); err != nil {
			return err
		}
		if err := p.reopen(ctx, s, pins, old); err != nil {
			return err
		}
		if err := p.catchUp(ctx, pins); err != nil {
			return err
		}
		if !s.Digest {
			p.older()
		}
	}
	return p.settle(ctx, unsettled)
}

// pins returns the pins on the way to the head. unsettled are those that other programs
// have set, oldest first.
func (p *loaded) pins(ctx context.Context) (pins map[int64]bool, unsettled []int64, err error) {
	here, err := p.pinsHere(ctx, 0)
	pins = make(map[int64]bool, len(here))
	for i := range here {
		pins[here[i].ID] = true
		if !here[i].Settled {
			unsettled = append(unsettled, here[i].ID)
		}
	}
	return pins, unsettled, err
}

func (p *loaded) records(ctx context.Context, kind string) ([]timeline.Record, error) {
	return p.engine.store.Records(ctx, p.tenant, p.id, kind, "")
}

// state returns the stored state, or nil. savedUpTo is the newest item that the state
// covers, or -1 if that item is no longer on the way to the head.
func (p *loaded) state(ctx context.Context) (s *savedState, savedUpTo int64, err error) {
	records, err := p.engine.store.Records(ctx, p.tenant, p.id, kindState, stateKey)
	if err != nil || len(records) == 0 {
		return nil, -1, err
	}
	s = new(savedState)
	if err := json.Unmarshal(records[0].Data, s); err != nil {
		return nil, -1, fmt.Errorf("%w: state: %w", timeline.ErrDamaged, err)
	}
	if s.Version > stateVersion {
		return nil, -1, fmt.Errorf("%w: its state has version %d, this program knows %d", timeline.ErrNewer, s.Version,
			stateVersion)
	}
	p.version = s.Version
	at := records[0].At
	on, err := p.passes(ctx, at)
	if err != nil || !on {
		return s, -1, err
	}
	return s, at.Depth, nil
}

// reopen fills the window with the items that it held when the state was stored. It does
// not read items that old has.
func (p *loaded) reopen(ctx context.Context, s *savedState, pins map[int64]bool, old *loaded) error {
	shown, err := parseIDs(s.Shown)
	if err != nil {
		return fmt.Errorf("%w: state: shown: %w", timeline.ErrDamaged, err)
	}
	held, err := parseIDs(s.Held)
	if err != nil {
		return fmt.Errorf("%w: state: held: %w", timeline.ErrDamaged, err)
	}
	cuts, err := p.readCuts(ctx)
	if err != nil {
		return err
	}
	items, err := p.collect(ctx, shown, old)
	if err != nil {
		return err
	}
	for _, id := range held {
		p.held[id] = true
	}
	total := 0
	for i := range items {
		it := &items[i]
		if pins[it.ID] {
			p.pinned[it.ID] = true
		}
		it.Flags = starred(it.Flags, p.pinned[it.ID] || p.held[it.ID])
		if cut, ok := cuts[it.ID]; ok {
			it.Full, it.Content, it.Tokens = it.Whole(), cut.Content, cut.Tokens
			p.cuts[it.ID] = cut.Content
		}
		total += it.Tokens
	}
	maxTokens, maxItems := p.window.Limits()
	out, err := p.fill(items, maxTokens, maxItems)
	if err != nil {
		return err
	}
	p.heldInView()
	if len(out) > 0 {
		if _, err := p.left(ctx, out, total,
			p.victims(fmt.Sprintf("the window was opened with %d tokens and %d items", maxTokens,
				maxItems))); err != nil {
			return err
		}
	}
	return nil
}

// readHolds reads the holds that are valid on the way to the head.
func (p *loaded) readHolds(ctx context.Context) error {
	holds, err := p.notes().Holds(ctx)
	if err != nil || len(holds) == 0 {
		return err
	}
	for _, h := range holds {
		on, err := p.passes(ctx, h.At)
		if err != nil {
			return err
		}
		if !on {
			continue
		}
		p.holds = append(p.holds, h)
		for id := range h.Held.All() {
			p.held[int64(id)] = true
		}
	}
	return nil
}

// heldInView ends the holds of items that are not in view.
func (p *loaded) heldInView() {
	for id := range p.held {
		if _, ok := p.window.Get(id); !ok {
			delete(p.held, id)
		}
	}
}

// parseIDs parses ids that were stored as ranges.
func parseIDs(text string) ([]int64, error) {
	r, err := timeline.ParseRanges(text)
	ids := make([]int64, 0, r.Len())
	for id := range r.All() {
		ids = append(ids, int64(id))
	}
	return ids, err
}

func (p *loaded) readCuts(ctx context.Context) (map[int64]savedCut, error) {
	records, err := p.records(ctx, kindCut)
	cuts := make(map[int64]savedCut, len(records))
	for i := range records {
		id, err := strconv.ParseInt(records[i].Key, 10, 64)
		var cut savedCut
		if err == nil {
			err = json.Unmarshal(records[i].Data, &cut)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: cut %q: %w", timeline.ErrDamaged, records[i].Key, err)
		}
		cuts[id] = cut
	}
	return cuts, err
}

// collect returns items of the history by their rising ids.
func (p *loaded) collect(ctx context.Context, ids []int64, old *loaded) ([]items.Item, error) {
	// Both heads are on the same trunk, so that the ways to them are the same up to the
	// old head.
	trusted := int64(0)
	if old != nil && old.stored.Created.Equal(p.stored.Created) && old.stored.Head.Trunk == p.stored.Head.Trunk {
		trusted = min(old.last(), p.last())
	}
	items := make([]items.Item, 0, len(ids))
	missing := make([]int64, 0, len(ids))
	for _, id := range ids {
		if id <= trusted {
			if it, ok := old.window.Get(id); ok && it.Full == "" {
				items = append(items, it)
				continue
			}
		}
		missing = append(missing, id)
	}
	for i := 0; i < len(missing); {
		j := i
		for j+1 < len(missing) && missing[j+1]-missing[j] <= readAcross {
			j++
		}
		read, err := p.read(ctx, missing[i], missing[j])
		if err != nil {
			return nil, err
		}
		for _, r := range read {
			if _, ok := slices.BinarySearch(missing[i:j+1], r.ID); ok {
				items = append(items, r.Item)
			}
		}
		i = j + 1
	}
	if len(items) != len(ids) {
		return nil, fmt.Errorf("%w: the window shows %d items, of which %d are missing", timeline.ErrDamaged, len(ids),
			len(ids)-len(items))
	}
	slices.SortFunc(items, byID)
	return items, nil
}

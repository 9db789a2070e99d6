package thread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// The record that identifies a conversation after a restart.
const (
	recordKind = "thread"
	recordKey  = "who"
)

// who is the data of that record.
type who struct {
	Space string   `json:"space,omitempty"`
	Pairs int      `json:"pairs,omitempty"`
	Least []uint32 `json:"least,omitempty"`
}

// Record returns the record that identifies the conversation after a restart,
// and false if it is stored already.
func (t *Thread) Record() (timeline.Record, bool) {
	w := who{Pairs: t.sketch.Pairs}
	if t.space != (space{}) {
		w.Space = timeline.Hash(t.space).String()
	}
	if t.sketch.Pairs > 0 {
		w.Least = t.sketch.Least[:]
	}
	data, err := json.Marshal(w)
	if err != nil {
		panic(err) // numbers and hex always encode
	}
	return timeline.Record{Kind: recordKind, Key: recordKey, Data: data}, !t.stored
}

// storedConversation is a conversation as it was read.
type storedConversation struct {
	conversation // without branches and plans
	space        space
	read         *timeline.Snapshot
	paths        []*storedPath
	marks        []plan.Stored
	// ofItems reports that nothing of it was recorded from calls, and that programs added
	// items to it.
	ofItems bool
}

// storedPath is a path through a stored conversation.
type storedPath struct {
	steps  []step
	places []timeline.Place
	forms  map[int][]timeline.Hash // by depth
	items  bool                    // it ends with an item
}

// insert adds a conversation that was read, unless it is in memory.
func (t *tenant) insert(s *storedConversation) {
	k := t.conversations[s.name]
	if k != nil && (!k.assumed || k.space.key != s.space) || len(s.paths) == 0 {
		return
	}
	if fresh := k == nil; fresh {
		k = new(conversation)
		*k = s.conversation
		k.space = t.namespace(s.space)
		defer t.enter(k)
	}
	k.assumed = false
	n := k.space
	for _, path := range s.paths {
		tip, added := n.extend(place{}, path.steps)
		t.grow(added)
		b := &branch{of: k, sketch: k.sketch}
		t.move(b, asked(tip), tip, nil)
		b.stored, b.common = path.places[len(path.places)-1], tip.depth
		k.branches = append(k.branches, b)
		tip.use(k)
		for depth, forms := range path.forms {
			n.form(tip.up(depth), forms)
		}
	}
	for _, m := range s.marks {
		for i, path := range s.paths {
			if d := m.At.Depth; m.Plan != nil && d > 0 && d <= int64(len(path.places)) && path.places[d-1] == m.At {
				t.seq++
				at := k.branches[len(k.branches)-len(s.paths)+i].tip.up(int(d))
				t.keepPlan(k, &anchor{Plan: m.Plan, at: at, seq: t.seq})
				break
			}
		}
	}
}

// asked returns where the last request ended on a path that ends with the
// model's reply.
func asked(tip place) place {
	p := tip
	for p.depth > 1 && p.last().model {
		p = p.before()
	}
	return p
}

// maxChains is how many histories of one session are read: its own and the
// latest of its sub-agents.
const maxChains = 32

// loadSession reads the conversations of the request's session, and the names
// in use.
func (b *Index) loadSession(ctx context.Context,
	r *Request) (found []*storedConversation, names map[string]bool, err error) {
	all, err := b.family(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	names = map[string]bool{}
	var mine []timeline.Conversation
	for _, c := range all {
		if c.Name == r.Hints.Session || strings.HasPrefix(c.Name, r.Hints.Session+"~") {
			names[c.Name] = true
			mine = append(mine, c)
		}
	}
	slices.SortStableFunc(mine, func(a, c timeline.Conversation) int { return c.Updated.Compare(a.Updated) })
	unnamed := r.Hints
	unnamed.Session = ""
	for i := range mine[:min(len(mine), maxChains)] {
		s, err := b.read(ctx, r.Tenant, &mine[i])
		if err != nil {
			return found, nil, err
		}
		if s.ofItems {
			continue // its name is taken: calls are not written among items
		}
		if s.session = r.Hints.Session; !s.stored {
			s.space, s.imported = r.Hints.space(), true // it was created by other means
		} else if s.space == unnamed.space() {
			s.session = "" // its client has not named it so far; see adopt
		}
		found = append(found, s)
	}
	return found, names, nil
}

// family returns the conversations of a tenant, or those of the request's session alone.
func (b *Index) family(ctx context.Context, r *Request) ([]timeline.Conversation, error) {
	if d, ok := b.store.(timeline.Distant); ok {
		all, err := d.Family(ctx, r.Tenant, r.Hints.Session)
		if !errors.Is(err, errors.ErrUnsupported) {
			return all, err
		}
	}
	all, _, err := b.tenant(r.Tenant).list(ctx, true, time.Now())
	return all, err
}

// Limits of the search for conversations that begin like a request.
const (
	maxWalk   = 4096 // messages by which they are looked for
	maxLooked = 64   // conversations that are considered
	maxRoots  = 16   // how many of those are read
)

// loadRoot reads the latest conversations that have the longest beginning in
// common with a request.
func (b *Index) loadRoot(ctx context.Context, r *Request) (found []*storedConversation, err error) {
	way, ending, err := b.way(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(way) == 0 {
		return b.loadLinked(ctx, r)
	}
	// Of a history with a reply, only conversations that end on its trunk are of interest. A
	// first message that many begin with is another matter.
	if slices.ContainsFunc(r.Messages[:len(way)], func(m chat.Message) bool { return m.Role == chat.Assistant }) {
		found, ends, err := b.passing(ctx, r, ending, way)
		if err != nil || ends {
			return found, err
		}
	}
	t := b.tenant(r.Tenant)
	began := time.Now()
	for _, fresh := range []bool{false, true} {
		all, whole, err := t.list(ctx, fresh, began)
		if err != nil {
			return nil, err
		}
		found, ends, err := b.passing(ctx, r, all, way)
		if err != nil || ends || whole {
			return found, err
		}
	}
	return nil, nil
}

// maxLinked is how many conversations are read for a request whose first
// message is not known. Of further ones, up to maxLooked, only the last messages
// are read, and not of a shared store, which is distant.
const maxLinked = 8

// loadLinked reads the latest conversations whose last messages a request has,
// if it has tool calls by whose ids it may belong to them.
func (b *Index) loadLinked(ctx context.Context, r *Request) (found []*storedConversation, err error) {
	if r.links(0, len(r.Messages)) < leastLinked {
		return nil, nil
	}
	all, _, err := b.tenant(r.Tenant).list(ctx, false, time.Now())
	if err != nil {
		return nil, err
	}
	for i, c := range nearest(all, timeline.Place{}) {
		if i >= maxLinked {
			if b.shared {
				break
			}
			ends, err := b.endsIn(ctx, r, c.Head)
			if err != nil {
				return found, err
			}
			if !ends {
				continue
			}
		}
		s, err := b.read(ctx, r.Tenant, &c)
		if err != nil {
			return found, err
		}
		ends := slices.ContainsFunc(s.paths, func(p *storedPath) bool {
			last := p.steps[max(0, len(p.steps)-maxItems):]
			return slices.ContainsFunc(last, func(s step) bool { return slices.Contains(r.identities, s.identity) })
		})
		if ends && (s.space == r.Hints.space() || r.anybody) {
			found = append(found, s)
		}
	}
	return found, nil
}

// endsIn reports whether a request has one of the last messages on the way to a place.
func (b *Index) endsIn(ctx context.Context, r *Request, head timeline.Place) (ends bool, err error) {
	err = b.store.Messages(ctx, r.Tenant, head, head.Depth-maxItems+1, head.Depth, true, func(e *timeline.Entry) error {
		ends = ends || slices.Contains(r.identities, e.Identity)
		return nil
	})
	if unusable(err) || errors.Is(err, timeline.ErrNoPlace) {
		return false, nil
	}
	return ends, err
}

// passing reads the conversations that begin like a request, whose first
// messages have the places in way. ends reports whether one of them ends where
// the request leaves what is stored.
func (b *Index) passing(ctx context.Context, r *Request, all []timeline.Conversation,
	way []timeline.Place) (found []*storedConversation, ends bool, err error) {
	last := way[len(way)-1]
	for _, c := range nearest(all, last) {
		passes, err := near(&c, last) == 1, error(nil) // whatever ends on the trunk of a place passes its beginning
		if !passes {
			passes, err = timeline.Passes(ctx, b.store, r.Tenant, c.Head, way[0])
		}
		if err != nil && !errors.Is(err, timeline.ErrNoPlace) {
			return found, ends, err
		}
		if !passes {
			continue
		}
		s, err := b.read(ctx, r.Tenant, &c)
		if err != nil {
			return found, ends, err
		}
		if s.space == r.Hints.space() || r.anybody {
			ends = ends || near(&c, last) == 1
			if found = append(found, s); len(found) == maxRoots {
				break
			}
		}
	}
	return found, ends, nil
}

// nearest returns the conversations to consider for one that passes a place:
// those that end on its trunk, and then the latest.
func nearest(all []timeline.Conversation, at timeline.Place) []timeline.Conversation {
	order := func(a, c timeline.Conversation) int {
		return cmp.Or(cmp.Compare(near(&c, at), near(&a, at)), c.Updated.Compare(a.Updated))
	}
	best := make([]timeline.Conversation, 0, maxLooked+1)
	for i := range all {
		if len(best) == maxLooked && order(all[i], best[maxLooked-1]) >= 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(best, all[i], order)
		best = slices.Insert(best, k, all[i])
		best = best[:min(len(best), maxLooked)]
	}
	return best
}

// listAge is how old a list of conversations may be. The list is read for
// histories that are not in memory, which after a restart are all of them.
// Newer conversations are in memory until they are forgotten.
const listAge = 2 * time.Second

// list returns the conversations of a tenant, and whether the list is
// complete: unless fresh is set, one that began and was forgotten since the
// list was read may be missing. In a shared store, so may one that another process
// began since; a list that was read after began is complete. The result must not be
// modified.
func (t *tenant) list(ctx context.Context, fresh bool,
	began time.Time) (all []timeline.Conversation, whole bool, err error) {
	changed, err := t.index.store.Changed(ctx)
	if err != nil {
		return nil, false, err
	}
	t.listing.Lock() // others wait for the same list
	defer t.listing.Unlock()
	drops := t.drops.Load()
	if l := t.listed; l != nil && l.changed == changed && time.Since(l.read) < listAge {
		if whole := l.drops == drops && (!t.index.shared || l.read.After(began)); whole || !fresh {
			return l.all, whole, nil
		}
	}
	read := time.Now()
	all, err = t.index.store.Conversations(ctx, t.name)
	if err != nil {
		return nil, false, err
	}
	t.listed = &conversationList{all: all, changed: changed, drops: drops, read: read}
	return all, true, nil
}

// conversationList is a list of conversations and when it was read.
type conversationList struct {
	all []timeline.Conversation
	// changed and drops show whether it is still valid.
	changed, drops int64
	read           time.Time
}

// near returns 1 for a conversation that ends on the trunk of a place, else 0.
func near(c *timeline.Conversation, at timeline.Place) int {
	if c.Head.Trunk == at.Trunk {
		return 1
	}
	return 0
}

// maxBare is how often a distant store is asked for messages without the texts in them that
// look like Oriel's: as many of them come back in a view, and a few more.
const maxBare = 4

// way returns the places of a request's first messages, as far as they are
// stored, and, of a distant store, the latest conversations that end on the
// trunk of the last of them.
func (b *Index) way(ctx context.Context, r *Request) (way []timeline.Place, ending []timeline.Conversation, err error) {
	identity := func(i int) timeline.Hash {
		if says := r.identities[i]; says != (timeline.Hash{}) {
			return says
		}
		return timeline.Identity(&r.Messages[i])
	}
	bare := func(i int) (timeline.Hash, bool) {
		rest, ok := r.withoutInserted(i)
		if !ok {
			return timeline.Hash{}, false
		}
		return timeline.Identity(&rest), true
	}
	if d, ok := b.store.(timeline.Distant); ok {
		identities := make([]timeline.Hash, len(r.identities))
		for i := range identities {
			identities[i] = identity(i)
		}
		for range maxBare {
			way, ending, err = d.Follow(ctx, r.Tenant, identities)
			if errors.Is(err, errors.ErrUnsupported) {
				break
			}
			if err != nil || len(way) == len(identities) {
				return way, ending, err
			}
			other, ok := bare(len(way))
			if !ok || other == identities[len(way)] {
				return way, ending, nil
			}
			identities[len(way)] = other
		}
		if err == nil {
			return way, ending, nil
		}
	}
	at := timeline.Place{}
	for i := range r.identities {
		next, ok, err := b.store.Under(ctx, r.Tenant, at, identity(i))
		if other, some := bare(i); err == nil && !ok && some {
			next, ok, err = b.store.Under(ctx, r.Tenant, at, other)
		}
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			break
		}
		at = next
		way = append(way, at)
	}
	return way, nil, nil
}

// read reads a stored conversation.
func (b *Index) read(ctx context.Context, tenant string, c *timeline.Conversation) (*storedConversation, error) {
	store := timeline.NewSnapshot(b.store, tenant, c.Name, timeline.Wanted{Messages: true})
	s := &storedConversation{conversation: conversation{name: c.Name, used: c.Updated, continues: c.Continues},
		read: store}
	records, err := store.Records(ctx, tenant, c.Name, recordKind, recordKey)
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := s.recognise(records[i].Data); err != nil {
			return nil, fmt.Errorf("read the record of conversation %q: %w", c.Name, err)
		}
	}
	heads, err := store.Heads(ctx, tenant, c.Name)
	if err != nil {
		return nil, err
	}
	if b.plans != nil {
		if s.marks, err = b.plans(ctx, timeline.Notes{Store: store, Tenant: tenant, Conversation: c.Name},
			nil); err != nil && !errors.Is(err, plan.ErrNewer) {
			return nil, err
		}
	}
	for _, head := range heads[:min(len(heads), maxHeads)] {
		p, err := readPath(ctx, store, tenant, head)
		if err != nil {
			return nil, err
		}
		if len(p.steps) > 0 {
			s.paths = append(s.paths, p)
		}
		if head == c.Head {
			s.ofItems = p.items && !s.stored
		}
	}
	return s, nil
}

// maxHeads is how many branches of a conversation are read.
const maxHeads = 4

// readPath reads the path to a place.
func readPath(ctx context.Context, store timeline.Store, tenant string, to timeline.Place) (*storedPath, error) {
	p := &storedPath{}
	err := store.Messages(ctx, tenant, to, 1, math.MaxInt64, true, func(e *timeline.Entry) error {
		p.steps = append(p.steps, step{identity: e.Identity, core: coreOf(e.Identity),
			assistant: e.Role == string(chat.Assistant), model: e.Ref != ""})
		p.places = append(p.places, e.Place)
		p.items = e.Format == timeline.FormatItem
		if len(e.Variants) > 0 {
			if p.forms == nil {
				p.forms = map[int][]timeline.Hash{}
			}
			p.forms[len(p.steps)] = append([]timeline.Hash{e.Content}, e.Variants...)
		}
		return nil
	})
	return p, err
}

// recognise decodes the record of a conversation.
func (k *storedConversation) recognise(data []byte) error {
	var w who
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	k.stored = true
	if w.Space != "" {
		h, err := timeline.ParseHash(w.Space)
		if err != nil {
			return err
		}
		k.space = space(h)
	}
	if len(w.Least) == buckets {
		k.sketch.Pairs = w.Pairs
		copy(k.sketch.Least[:], w.Least)
	}
	return nil
}

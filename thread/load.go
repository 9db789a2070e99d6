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
	"github.com/oriel-context/oriel/timeline"
)

// The record by which a conversation is recognised after a restart.
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

// Record is what a conversation is recognised by after a restart; false where it is
// stored already.
func (t *Thread) Record() (timeline.Record, bool) {
	w := who{Pairs: t.lane.Pairs}
	if t.space != (space{}) {
		w.Space = timeline.Hash(t.space).String()
	}
	if t.lane.Pairs > 0 {
		w.Least = t.lane.Least[:]
	}
	data, err := json.Marshal(w)
	if err != nil {
		panic(err) // numbers and hex
	}
	return timeline.Record{Kind: recordKind, Key: recordKey, Data: data}, !t.stored
}

// loaded is what was found in the store: conversations, and of a session the names
// that are taken.
type loaded struct {
	talks []*talk
	names map[string]bool
}

// load reads the conversations that a request may belong to.
func (b *Book) load(ctx context.Context, r *Request) (*loaded, error) {
	if r.Hints.Session != "" {
		return b.loadSession(ctx, r)
	}
	talks, err := b.loadRoot(ctx, r)
	return &loaded{talks: talks}, err
}

// maxChains is how many histories of one session are read: its own and the latest of
// its helpers'.
const maxChains = 32

// loadSession reads what has the session's name.
func (b *Book) loadSession(ctx context.Context, r *Request) (*loaded, error) {
	all, err := b.list(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	out := &loaded{names: map[string]bool{}}
	var found []timeline.Conversation
	for _, c := range all {
		if c.Name == r.Hints.Session || strings.HasPrefix(c.Name, r.Hints.Session+"~") {
			out.names[c.Name] = true
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, c timeline.Conversation) int { return c.Updated.Compare(a.Updated) })
	for i := range found[:min(len(found), maxChains)] {
		k, err := b.read(ctx, r.Tenant, &found[i])
		if err != nil {
			return nil, err
		}
		if k.session = r.Hints.Session; !k.stored {
			k.space = r.Hints.space() // one that was made by other means
		}
		out.talks = append(out.talks, k)
	}
	return out, nil
}

// Limits of the search for conversations that begin like a request.
const (
	maxWalk  = 64 // messages by which they are looked for
	maxRoots = 16 // conversations that are read
)

// loadRoot reads the latest conversations that begin like a request for longest.
func (b *Book) loadRoot(ctx context.Context, r *Request) ([]*talk, error) {
	way, err := b.walk(ctx, r)
	if err != nil || len(way) == 0 {
		return nil, err
	}
	all, err := b.list(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	conversations := slices.Clone(all)
	end := way[len(way)-1]
	slices.SortFunc(conversations, func(a, c timeline.Conversation) int {
		return cmp.Or(cmp.Compare(near(&c, end), near(&a, end)), c.Updated.Compare(a.Updated))
	})
	var talks []*talk
	for i := range conversations[:min(len(conversations), 4*maxRoots)] {
		c := &conversations[i]
		passes, err := b.passes(ctx, r.Tenant, c.Head, way[0])
		if err != nil {
			return nil, err
		}
		if !passes {
			continue
		}
		k, err := b.read(ctx, r.Tenant, c)
		if err != nil {
			return nil, err
		}
		if k.space == r.Hints.space() || r.anybody {
			if talks = append(talks, k); len(talks) == maxRoots {
				break
			}
		}
	}
	return talks, nil
}

// listAge is how old a list of conversations may be. It is read for histories that are
// not in memory, which after a restart are all; those that came since then are, until
// one of them is forgotten.
const listAge = 2 * time.Second

// list are the conversations of a tenant; what it returns must not be changed.
func (b *Book) list(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	changed, err := b.store.Changed(ctx)
	if err != nil {
		return nil, err
	}
	b.listing.Lock() // others wait for the same list
	defer b.listing.Unlock()
	drops := b.drops.Load()
	if l := b.lists[tenant]; l != nil && l.changed == changed && l.drops == drops && time.Since(l.read) < listAge {
		return l.all, nil
	}
	all, err := b.store.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	b.lists[tenant] = &conversationList{all: all, changed: changed, drops: drops, read: time.Now()}
	return all, nil
}

// conversationList is what Conversations gave, and when.
type conversationList struct {
	all []timeline.Conversation
	// changed and drops tell whether it still holds.
	changed, drops int64
	read           time.Time
}

// passes reports whether the way to a head leads through a place.
func (b *Book) passes(ctx context.Context, tenant string, head, at timeline.Place) (bool, error) {
	passes := false
	err := b.store.Messages(ctx, tenant, head, at.Depth, at.Depth, true, func(e *timeline.Entry) error {
		passes = e.Place == at
		return nil
	})
	if errors.Is(err, timeline.ErrNoPlace) {
		return false, nil
	}
	return passes, err
}

// near is 1 for a conversation that ends on the trunk of a place.
func near(c *timeline.Conversation, at timeline.Place) int {
	if c.Head.Trunk == at.Trunk {
		return 1
	}
	return 0
}

// walk finds the places of a request's first messages, as far as they are stored.
func (b *Book) walk(ctx context.Context, r *Request) (way []timeline.Place, err error) {
	at := timeline.Place{}
	for _, says := range r.said {
		next, ok, err := b.store.Under(ctx, r.Tenant, at, says)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		at = next
		way = append(way, at)
	}
	return way, nil
}

// read makes a talk of what is stored.
func (b *Book) read(ctx context.Context, tenant string, c *timeline.Conversation) (*talk, error) {
	k := &talk{name: c.Name, used: c.Updated}
	records, err := b.store.Records(ctx, tenant, c.Name, recordKind, recordKey)
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := k.recognise(records[i].Data); err != nil {
			return nil, fmt.Errorf("read who talks in conversation %q: %w", c.Name, err)
		}
	}
	k.continues = c.Continues
	heads, err := b.store.Heads(ctx, tenant, c.Name)
	if err != nil {
		return nil, err
	}
	var marks []StoredMark
	if b.marks != nil {
		if marks, err = b.marks(ctx, b.store, tenant, c.Name, nil); err != nil {
			return nil, err
		}
	}
	marked := make([]bool, len(marks))
	for _, head := range heads[:min(len(heads), maxHeads)] {
		l, places, err := b.readLine(ctx, tenant, head)
		if err != nil {
			return nil, err
		}
		if len(l.steps) == 0 {
			continue
		}
		l.talk, l.lane = k, k.lane
		k.lines = append(k.lines, l)
		for i, m := range marks {
			if n := m.At.Depth; !marked[i] && n > 0 && n <= int64(len(places)) && places[n-1] == m.At {
				marked[i] = true
				k.mark(&mark{m.Name, l.saysTo(int(n)), m.Whose, m.Value})
			}
		}
	}
	return k, nil
}

// maxHeads is how many branches of a conversation are read.
const maxHeads = 4

// readLine reads the way to a place.
func (b *Book) readLine(ctx context.Context, tenant string, to timeline.Place) (*line, []timeline.Place, error) {
	l := &line{}
	var places []timeline.Place
	err := b.store.Messages(ctx, tenant, to, 1, math.MaxInt64, true, func(e *timeline.Entry) error {
		s := step{says: e.Says, assistant: e.Role == string(chat.Assistant), model: e.Ref != ""}
		if len(e.Variants) > 0 {
			if l.forms == nil {
				l.forms = map[int][]timeline.Hash{}
			}
			l.forms[len(l.steps)] = append([]timeline.Hash{e.Content}, e.Variants...)
		}
		l.steps = append(l.steps, s)
		places = append(places, e.Place)
		return nil
	})
	return l, places, err
}

// recognise reads the record of a conversation.
func (k *talk) recognise(data []byte) error {
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
		k.lane.Pairs = w.Pairs
		copy(k.lane.Least[:], w.Least)
	}
	return nil
}

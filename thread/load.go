package thread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

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

// Record is to be kept with a conversation that begins with this request.
func (t *Thread) Record() (timeline.Record, bool) {
	if t.Kind != New && t.Kind != Compacted {
		return timeline.Record{}, false
	}
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
	return timeline.Record{Kind: recordKind, Key: recordKey, Data: data}, true
}

// load reads the conversations that a request may belong to. chains is how many its
// session has, with those that were not read.
func (b *Book) load(ctx context.Context, r *Request) (all []*talk, chains int, err error) {
	if r.Hints.Session != "" {
		return b.loadSession(ctx, r)
	}
	all, err = b.loadRoot(ctx, r)
	return all, 0, err
}

// maxChains is how many histories of one session are read: its own and the latest of
// its helpers'.
const maxChains = 32

// loadSession reads what has the session's name.
func (b *Book) loadSession(ctx context.Context, r *Request) (all []*talk, chains int, err error) {
	var found []timeline.Conversation
	for {
		c, err := b.store.Conversation(ctx, r.Tenant, chainName(r.Hints.Session, chains+1))
		if errors.Is(err, timeline.ErrNoConversation) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		found = append(found, c)
		chains++
	}
	slices.SortStableFunc(found, func(a, c timeline.Conversation) int { return c.Updated.Compare(a.Updated) })
	for i := range found[:min(len(found), maxChains)] {
		k, err := b.read(ctx, r.Tenant, &found[i])
		if err != nil {
			return nil, 0, err
		}
		k.space = r.Hints.space() // also one that was made by other means
		all = append(all, k)
	}
	return all, chains, nil
}

// maxRoots is how many conversations are read that begin like a request.
const maxRoots = 16

// loadRoot reads the latest conversations that pass the deepest known place of a
// request.
func (b *Book) loadRoot(ctx context.Context, r *Request) ([]*talk, error) {
	at, err := b.walk(ctx, r)
	if err != nil || at == (timeline.Place{}) {
		return nil, err
	}
	conversations, err := b.store.Conversations(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(conversations, func(a, c timeline.Conversation) int {
		return cmp.Or(cmp.Compare(near(&c, at), near(&a, at)), c.Updated.Compare(a.Updated))
	})
	var all []*talk
	for i := range conversations[:min(len(conversations), 4*maxRoots)] {
		c := &conversations[i]
		passes := false
		err := b.store.Messages(ctx, r.Tenant, c.Head, at.Depth, at.Depth, true, func(e *timeline.Entry) error {
			passes = e.Place == at
			return nil
		})
		if errors.Is(err, timeline.ErrNoPlace) || err == nil && !passes {
			continue
		}
		if err != nil {
			return nil, err
		}
		k, err := b.read(ctx, r.Tenant, c)
		if err != nil {
			return nil, err
		}
		if k.space == r.Hints.space() {
			if all = append(all, k); len(all) == maxRoots {
				break
			}
		}
	}
	return all, nil
}

// near is 1 for a conversation that ends on the trunk of a place.
func near(c *timeline.Conversation, at timeline.Place) int {
	if c.Head.Trunk == at.Trunk {
		return 1
	}
	return 0
}

// walk finds the deepest place of a request that is stored.
func (b *Book) walk(ctx context.Context, r *Request) (at timeline.Place, err error) {
	for i := range r.Messages {
		next, ok, err := b.store.Under(ctx, r.Tenant, at, r.says(i))
		if err != nil {
			return at, err
		}
		if !ok {
			break
		}
		at = next
	}
	return at, nil
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
	l := &line{talk: k, lane: k.lane}
	var places []timeline.Place
	err = b.store.Messages(ctx, tenant, c.Head, 1, math.MaxInt64, true, func(e *timeline.Entry) error {
		s := step{says: e.Says, assistant: e.Role == string(chat.Assistant)}
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
	if err != nil {
		return nil, err
	}
	if len(l.steps) > 0 {
		k.lines = []*line{l}
	}
	if b.marks == nil {
		return k, nil
	}
	marks, err := b.marks(ctx, b.store, tenant, c.Name)
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		if n := m.At.Depth; n > 0 && n <= int64(len(places)) && places[n-1] == m.At { // else of another branch
			k.mark(&mark{l.saysTo(int(n)), m.Value})
		}
	}
	return k, nil
}

// recognise reads the record of a conversation.
func (k *talk) recognise(data []byte) error {
	var w who
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
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

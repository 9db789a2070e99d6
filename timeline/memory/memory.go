/*
Package memory is a timeline.Store in RAM, for tests and for histories that end with
their program.

It returns the same answers as every store and is the reference in tests of the
others. A change costs time for its new part only, however long the history is.
Nothing survives the process, and Backup is not supported. Contents are not
compressed.
*/
package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Store keeps histories in RAM. Use New to create one.
type Store struct {
	mu      sync.RWMutex // protects all below
	closed  bool
	tenants map[string]*tenant
	tokens  map[timeline.TokenHash]timeline.AccessToken
	trunks  int64 // the last number assigned
	deletes int64
}

var _ timeline.Store = (*Store)(nil)

type tenant struct {
	contents map[timeline.Hash]*content
	trunks   map[int64]*trunk
	// begins maps a place and an identity to the trunk that begins after that
	// place with that message.
	begins        map[beginning]*trunk
	conversations map[string]*conversation

	messages, variants, records, bytes int64
	derived, derivedBytes              int64
}

type content struct {
	data    []byte // never changed
	refs    int    // of messages, variants and records
	derived map[string]derived
}

type beginning struct {
	under    timeline.Place
	identity timeline.Hash
}

type trunk struct {
	number   int64
	origin   timeline.Place
	messages []message // the first has depth origin.Depth+1
	users    map[*conversation]struct{}
}

type message struct {
	identity, content, chain timeline.Hash
	format, role, ref        string
	time                     time.Time
	variants                 []timeline.Hash
}

type conversation struct {
	timeline.Conversation
	// used maps each used trunk to the deepest depth used, and each trunk on the
	// way to the depth where the way leaves it.
	used    map[int64]int64
	records map[string]map[string]*record // by kind and key
	written int64                         // number of the last record written
}

type record struct {
	timeline.Record
	number int64
}

// New returns an empty store.
func New() *Store {
	return &Store{tenants: map[string]*tenant{}, tokens: map[timeline.TokenHash]timeline.AccessToken{}}
}

func newTenant() *tenant {
	return &tenant{
		contents:      map[timeline.Hash]*content{},
		trunks:        map[int64]*trunk{},
		begins:        map[beginning]*trunk{},
		conversations: map[string]*conversation{},
	}
}

// empty is the history of a tenant that was never written to.
var empty = newTenant()

// read takes the read lock; if err is nil, the caller must release it.
func (s *Store) read(ctx context.Context, tenant string) (*tenant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, timeline.ErrClosed
	}
	if t := s.tenants[tenant]; t != nil {
		return t, nil
	}
	return empty, nil
}

func (t *tenant) conversation(name string) (*conversation, error) {
	if c := t.conversations[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%w: %q", timeline.ErrNoConversation, name)
}

// at returns the message at a place, or nil.
func (t *tenant) at(p timeline.Place) *message {
	k := t.trunks[p.Trunk]
	if k == nil || p.Depth <= k.origin.Depth || p.Depth > k.tip().Depth {
		return nil
	}
	return &k.messages[p.Depth-k.origin.Depth-1]
}

func (t *tenant) has(p timeline.Place) bool { return p == timeline.Place{} || t.at(p) != nil }

// under returns the place of the message with an identity directly after an
// existing place.
func (t *tenant) under(p timeline.Place, identity timeline.Hash) (timeline.Place, bool) {
	next := timeline.Place{Trunk: p.Trunk, Depth: p.Depth + 1}
	if m := t.at(next); m != nil && m.identity == identity {
		return next, true
	}
	if k := t.begins[beginning{p, identity}]; k != nil {
		return timeline.Place{Trunk: k.number, Depth: next.Depth}, true
	}
	return timeline.Place{}, false
}

// tip returns the last place of a trunk.
func (k *trunk) tip() timeline.Place {
	return timeline.Place{Trunk: k.number, Depth: k.origin.Depth + int64(len(k.messages))}
}

func (c *conversation) record(k timeline.Key) *record { return c.records[k.Kind][k.Key] }

// copied returns a copy of a record that shares nothing with the store.
func copied(r *timeline.Record) timeline.Record {
	c := *r
	c.Data = slices.Clone(r.Data)
	c.Contents = slices.Clone(r.Contents)
	return c
}

// Conversation implements timeline.Store.
func (s *Store) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return timeline.Conversation{}, err
	}
	defer s.mu.RUnlock()
	c, err := t.conversation(name)
	if err != nil {
		return timeline.Conversation{}, err
	}
	return c.Conversation, nil
}

// Conversations implements timeline.Store.
func (s *Store) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	all := make([]timeline.Conversation, 0, len(t.conversations))
	for _, c := range t.conversations {
		all = append(all, c.Conversation)
	}
	slices.SortFunc(all, func(a, b timeline.Conversation) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Heads implements timeline.Store.
func (s *Store) Heads(ctx context.Context, tenant, name string) ([]timeline.Place, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	c, err := t.conversation(name)
	if err != nil {
		return nil, err
	}
	left := make(map[timeline.Place]bool, len(c.used)) // places where another of its trunks begins
	for number := range c.used {
		left[t.trunks[number].origin] = true
	}
	heads := []timeline.Place{c.Head}
	for _, number := range slices.Sorted(maps.Keys(c.used)) {
		if p := (timeline.Place{Trunk: number, Depth: c.used[number]}); p != c.Head && !left[p] {
			heads = append(heads, p)
		}
	}
	return heads, nil
}

// Under implements timeline.Store.
func (s *Store) Under(ctx context.Context, tenant string, at timeline.Place,
	identity timeline.Hash) (timeline.Place, bool, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return timeline.Place{}, false, err
	}
	defer s.mu.RUnlock()
	if !t.has(at) {
		return timeline.Place{}, false, fmt.Errorf("%w: %v", timeline.ErrNoPlace, at)
	}
	p, found := t.under(at, identity)
	return p, found, nil
}

// Content implements timeline.Store.
func (s *Store) Content(ctx context.Context, tenant string, h timeline.Hash) ([]byte, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	if c := t.contents[h]; c != nil {
		return slices.Clone(c.data), nil
	}
	return nil, fmt.Errorf("%w: %v", timeline.ErrNoContent, h)
}

// ordered returns the records of a kind in the order in which they were first written.
func (c *conversation) ordered(kind string) []*record {
	return slices.SortedFunc(maps.Values(c.records[kind]), func(a, b *record) int { return int(a.number - b.number) })
}

// RecordKeys implements timeline.Store.
func (s *Store) RecordKeys(ctx context.Context, tenant, conversation, kind string) (keys []string, err error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	c, err := t.conversation(conversation)
	if err != nil {
		return nil, err
	}
	for _, r := range c.ordered(kind) {
		keys = append(keys, r.Key)
	}
	return keys, nil
}

// Records implements timeline.Store.
func (s *Store) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	c, err := t.conversation(conversation)
	if err != nil {
		return nil, err
	}
	var found []*record
	if key == "" {
		found = c.ordered(kind)
	} else if r := c.records[kind][key]; r != nil {
		found = []*record{r}
	}
	all := make([]timeline.Record, len(found))
	for i, r := range found {
		all[i] = copied(&r.Record)
	}
	return all, nil
}

// Changed implements timeline.Store. There are no other writers of a store in
// RAM.
func (s *Store) Changed(ctx context.Context) (int64, error) {
	if _, err := s.read(ctx, ""); err != nil {
		return 0, err
	}
	defer s.mu.RUnlock()
	return s.deletes, nil
}

// Stats implements timeline.Store.
func (s *Store) Stats(ctx context.Context, tenant string) (timeline.Stats, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return timeline.Stats{}, err
	}
	defer s.mu.RUnlock()
	st := timeline.Stats{
		Conversations: int64(len(t.conversations)),
		Messages:      t.messages,
		Variants:      t.variants,
		Records:       t.records,
		Contents:      int64(len(t.contents)),
		Bytes:         t.bytes,
		Stored:        t.bytes,
		Derived:       t.derived,
		DerivedBytes:  t.derivedBytes,
	}
	for _, k := range t.trunks {
		if k.origin != (timeline.Place{}) {
			st.Branches++
		}
	}
	return st, nil
}

// Backup implements timeline.Store. It always returns errors.ErrUnsupported.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := s.read(ctx, ""); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	return fmt.Errorf("back up a history in memory: %w", errors.ErrUnsupported)
}

// Close implements timeline.Store. It frees all data.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.tenants, s.tokens = true, nil, nil
	return nil
}

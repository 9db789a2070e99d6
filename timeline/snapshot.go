package timeline

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
)

// Snapshot is a view of a store in which one conversation stands still: all that calls ask
// about it is read from a Distant store at the first question, in one round trip. Everything
// else, and a store that is not distant, is asked as it is. A snapshot does not show changes that
// come later. It is safe for concurrent use.
type Snapshot struct {
	Store
	tenant, conversation string
	want                 Wanted

	mu      sync.Mutex // protects what follows; held while the store is asked
	distant Distant    // nil: the store is asked as it is
	found   *Gathered  // nil: not read
	none    error      // why nothing was found
	changed int64      // Store.Changed before it was read
}

// NewSnapshot returns a snapshot of a conversation. Nothing is read yet.
func NewSnapshot(s Store, tenant, conversation string, w Wanted) *Snapshot {
	d, _ := s.(Distant)
	return &Snapshot{Store: s, tenant: tenant, conversation: conversation, want: w, distant: d}
}

// gather returns what the conversation has, or nil if the store is to be asked.
func (s *Snapshot) gather(ctx context.Context, tenant, conversation string) (*Gathered, error) {
	if tenant != s.tenant || conversation != s.conversation {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.distant == nil || s.found != nil || s.none != nil {
		return s.found, s.none
	}
	changed, err := s.Store.Changed(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.distant.Gather(ctx, tenant, conversation, s.want)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.distant = nil
		return nil, nil
	case errors.Is(err, ErrNoConversation):
		s.none, s.changed = err, changed
	case err == nil:
		s.found, s.changed = found, changed
	}
	return found, err
}

// Changed implements Store. If the conversation has been read, it returns the number of the
// moment before that.
func (s *Snapshot) Changed(ctx context.Context) (int64, error) {
	s.mu.Lock()
	changed, read := s.changed, s.found != nil || s.none != nil
	s.mu.Unlock()
	if read {
		return changed, nil
	}
	return s.Store.Changed(ctx)
}

// Conversation implements Store.
func (s *Snapshot) Conversation(ctx context.Context, tenant, name string) (Conversation, error) {
	g, err := s.gather(ctx, tenant, name)
	if err != nil {
		return Conversation{}, err
	}
	if g == nil {
		return s.Store.Conversation(ctx, tenant, name)
	}
	return g.Conversation, nil
}

// Heads implements Store.
func (s *Snapshot) Heads(ctx context.Context, tenant, name string) ([]Place, error) {
	g, err := s.gather(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return s.Store.Heads(ctx, tenant, name)
	}
	return slices.Clone(g.Heads), nil
}

// Records implements Store. Plans that were left out have no data unless they are asked for
// by their key.
func (s *Snapshot) Records(ctx context.Context, tenant, conversation, kind, key string) ([]Record, error) {
	g, err := s.gatherKind(ctx, tenant, conversation, kind)
	if err != nil {
		return nil, err
	}
	records := []Record{}
	for i := range g.records() {
		r := &g.Records[i]
		if r.Kind != kind || key != "" && r.Key != key {
			continue
		}
		if key != "" && r.Data == nil {
			g = nil
			break
		}
		own := *r
		own.Data, own.Contents = bytes.Clone(r.Data), slices.Clone(r.Contents)
		records = append(records, own)
	}
	if g == nil {
		return s.Store.Records(ctx, tenant, conversation, kind, key)
	}
	return records, nil
}

// records returns the records, none of nil.
func (g *Gathered) records() []Record {
	if g == nil {
		return nil
	}
	return g.Records
}

// gatherKind is gather for records of a kind.
func (s *Snapshot) gatherKind(ctx context.Context, tenant, conversation, kind string) (*Gathered, error) {
	if !slices.Contains(GatheredKinds, kind) {
		return nil, nil
	}
	return s.gather(ctx, tenant, conversation)
}

// RecordKeys implements Store.
func (s *Snapshot) RecordKeys(ctx context.Context, tenant, conversation, kind string) (keys []string, err error) {
	g, err := s.gatherKind(ctx, tenant, conversation, kind)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return s.Store.RecordKeys(ctx, tenant, conversation, kind)
	}
	for i := range g.Records {
		if g.Records[i].Kind == kind {
			keys = append(keys, g.Records[i].Key)
		}
	}
	return keys, nil
}

// Content implements Store.
func (s *Snapshot) Content(ctx context.Context, tenant string, h Hash) ([]byte, error) {
	s.mu.Lock()
	g := s.found
	s.mu.Unlock()
	if g != nil && tenant == s.tenant {
		if raw, ok := g.Contents[h]; ok {
			return append([]byte{}, raw...), nil
		}
	}
	return s.Store.Content(ctx, tenant, h)
}

// Messages implements Store.
func (s *Snapshot) Messages(ctx context.Context, tenant string, to Place, first, last int64, hashes bool,
	visit func(*Entry) error) error {
	s.mu.Lock()
	g := s.found
	s.mu.Unlock()
	if !hashes || g == nil || tenant != s.tenant || to == (Place{}) {
		return s.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
	}
	trunks, ok := g.way(to)
	if !ok {
		return s.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
	}
	last = min(last, to.Depth)
	for i, t := range slices.Backward(trunks) {
		end := to.Depth
		if i > 0 {
			end = trunks[i-1].Origin.Depth
		}
		for d := max(first, t.Origin.Depth+1); d <= min(end, last); d++ {
			e := t.Entries[d-t.Origin.Depth-1]
			if err := visit(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Identity returns the identity of the message at the place of a pin or a hold, and false if
// the store is to be asked.
func (s *Snapshot) Identity(at Place) (identity Hash, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		identity, ok = s.found.Identities[at]
	}
	return identity, ok
}

// Seen returns the conversation as the snapshot has it, and false if it has not read it.
func (s *Snapshot) Seen() (c Conversation, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		c = s.found.Conversation
	}
	return c, c.Revision > 0
}

// has reports whether the way to a place needs no question.
func (s *Snapshot) has(to Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		return false
	}
	_, ok := s.found.way(to)
	return ok
}

package memory

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// derived is data derived from a content, one per family.
type derived struct {
	kind string
	data []byte // never changed
}

// dropDerived removes the derived data of one family from a content.
func (t *tenant) dropDerived(c *content, family string) {
	if d, ok := c.derived[family]; ok {
		delete(c.derived, family)
		t.derived--
		t.derivedBytes -= int64(len(d.data))
	}
}

// KeepDerived implements timeline.Store.
func (s *Store) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	if err := timeline.CheckDerived(tenant, kind, data); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return timeline.ErrClosed
	}
	t := s.tenants[tenant]
	if t == nil {
		return nil
	}
	family := timeline.Family(kind)
	for _, d := range data {
		c := t.contents[d.Content]
		if c == nil {
			continue
		}
		t.dropDerived(c, family)
		if c.derived == nil {
			c.derived = map[string]derived{}
		}
		c.derived[family] = derived{kind, slices.Clone(d.Data)}
		t.derived++
		t.derivedBytes += int64(len(d.Data))
	}
	return nil
}

// Derived implements timeline.Store.
func (s *Store) Derived(ctx context.Context, tenant, kind string, contents []timeline.Hash,
	visit func(timeline.Hash, []byte) error) error {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return err
	}
	family := timeline.Family(kind)
	found := make([]timeline.Derived, 0, len(contents))
	for _, h := range contents {
		if c := t.contents[h]; c != nil && c.derived != nil {
			if d, ok := c.derived[family]; ok && d.kind == kind {
				found = append(found, timeline.Derived{Content: h, Data: slices.Clip(d.data)})
			}
		}
	}
	s.mu.RUnlock()
	for _, d := range found {
		if err := visit(d.Content, d.Data); err != nil {
			return err
		}
	}
	return nil
}

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// chunk is the number of messages read under one lock, so that a long read does
// not block writers.
const chunk = 256

// span is a part of a trunk: the messages of depth first to last.
type span struct{ trunk, first, last int64 }

// Messages implements timeline.Store.
func (s *Store) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	way, err := s.way(ctx, tenant, to, max(first, 1), min(last, to.Depth))
	if err != nil {
		return err
	}
	var buffer []timeline.Entry
	for _, p := range way {
		for p.first <= p.last {
			part := p
			part.last = min(p.last, p.first+chunk-1)
			if buffer, err = s.entries(ctx, tenant, part, hashes, buffer[:0]); err != nil {
				return err
			}
			for i := range buffer {
				if err := visit(&buffer[i]); err != nil {
					return err
				}
			}
			p.first = part.last + 1
		}
	}
	return nil
}

// way returns the spans of trunks that lead to a place, clipped to a range of
// depths.
func (s *Store) way(ctx context.Context, tenant string, to timeline.Place, first, last int64) ([]span, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	if !t.has(to) {
		return nil, fmt.Errorf("%w: %v", timeline.ErrNoPlace, to)
	}
	var way []span
	for p := to; p.Depth >= first && p.Trunk != 0; {
		origin := t.trunks[p.Trunk].origin
		if part := (span{p.Trunk, max(first, origin.Depth+1), min(last, p.Depth)}); part.first <= part.last {
			way = append(way, part)
		}
		p = origin
	}
	slices.Reverse(way)
	return way, nil
}

// entries appends the messages of a span to buffer. It returns ErrNoPlace if they
// were deleted in the meantime.
func (s *Store) entries(ctx context.Context, tenant string, p span, hashes bool,
	buffer []timeline.Entry) ([]timeline.Entry, error) {
	t, err := s.read(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	for d := p.first; d <= p.last; d++ {
		place := timeline.Place{Trunk: p.trunk, Depth: d}
		m := t.at(place)
		if m == nil {
			return nil, fmt.Errorf("%w: %v", timeline.ErrNoPlace, place)
		}
		e := timeline.Entry{
			Place:    place,
			Message:  timeline.Message{Identity: m.identity, Format: m.format, Role: m.role, Time: m.time, Ref: m.ref},
			Content:  m.content,
			Variants: slices.Clip(m.variants),
		}
		if !hashes {
			e.Raw = slices.Clip(t.contents[m.content].data)
		}
		buffer = append(buffer, e)
	}
	return buffer, nil
}

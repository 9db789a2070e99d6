package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
)

// span is a part of a trunk: the messages of depth first to last.
type span struct{ trunk, first, last int64 }

// Messages implements timeline.Store. The visitor sees one snapshot, and may call
// the store.
func (s *Store) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	var failed error
	err := s.view(ctx, func(c *conn) error {
		way, err := c.way(tenant, to, max(first, 1), min(last, to.Depth))
		if err != nil {
			return err
		}
		v := visitor{s: s, ctx: ctx, c: c, hashes: hashes, visit: visit}
		for _, part := range way {
			if err := v.part(part); err != nil {
				failed = v.failed
				return err
			}
		}
		return nil
	})
	if failed != nil {
		return failed // the visitor's own error, unchanged
	}
	return err
}

// way returns the parts of trunks that lead to a place, clipped to a range of
// depths.
func (c *conn) way(tenant string, to timeline.Place, first, last int64) ([]span, error) {
	if to == (timeline.Place{}) {
		return nil, nil
	}
	id, err := c.tenantID(tenant)
	if err != nil {
		return nil, err
	}
	_, found, err := c.number("SELECT 1 FROM message WHERE trunk = ? AND depth = ?", to.Trunk, to.Depth)
	if err == nil && !found {
		err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, to)
	}
	if err != nil {
		return nil, err
	}
	var way []span
	for p := to; p.Trunk != 0 && (p == to || p.Depth >= first); { // check the tenant at least once
		origin, known, err := c.trunkOrigin(p.Trunk, id)
		if err == nil && !known {
			err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, p)
		}
		if err == nil && p.Depth <= origin.Depth {
			err = fmt.Errorf("%w: trunk %d begins below %v", timeline.ErrDamaged, p.Trunk, p)
		}
		if err != nil {
			return nil, err
		}
		if part := (span{p.Trunk, max(first, origin.Depth+1), min(last, p.Depth)}); part.first <= part.last {
			way = append(way, part)
		}
		p = origin
	}
	slices.Reverse(way)
	return way, nil
}

// trunkOrigin returns the place after which a trunk of a tenant begins.
// Numbers of trunks rise, so a way whose trunk numbers do not fall towards its
// beginning was tampered with, and might never end.
func (c *conn) trunkOrigin(trunk, tenant int64) (origin timeline.Place, known bool, err error) {
	known, err = c.one("SELECT origin, origin_depth FROM trunk WHERE id = ? AND tenant = ?", func(r *rows) {
		origin = timeline.Place{Trunk: r.integer(0), Depth: r.integer(1)}
	}, trunk, tenant)
	if err == nil && known && (origin.Trunk >= trunk || origin.Trunk < 0 || origin.Depth < 0 ||
		(origin.Trunk == 0) != (origin.Depth == 0)) {
		err = fmt.Errorf("%w: trunk %d begins under %v", timeline.ErrDamaged, trunk, origin)
	}
	return origin, known, err
}

// visitor passes the messages of a span to the caller.
type visitor struct {
	s      *Store
	ctx    context.Context
	c      *conn
	hashes bool
	visit  func(*timeline.Entry) error
	failed error // error of visit

	entry    timeline.Entry
	buffer   []byte
	variants []timeline.Hash
}

func (v *visitor) part(p span) (err error) {
	// Variants are few: they are read in parallel with the messages, in the
	// same order.
	forms, err := v.c.query(`SELECT v.depth, c.hash FROM variant v JOIN content c ON c.id = v.content
		WHERE v.trunk = ? AND v.depth BETWEEN ? AND ? ORDER BY v.depth, v.n`, p.trunk, p.first, p.last)
	if err != nil {
		return err
	}
	defer forms.end(&err)
	more := forms.next()

	columns := "c.codec, c.size, c.data"
	if v.hashes {
		columns = "0, 0, NULL"
	}
	messages, err := v.c.query(`SELECT m.depth, m.says, m.format, m.role, m.time, m.ref, c.hash, `+columns+`
		FROM message m JOIN content c ON c.id = m.content WHERE m.trunk = ? AND m.depth BETWEEN ? AND ? ORDER BY m.depth`, p.trunk, p.first, p.last)
	if err != nil {
		return err
	}
	defer messages.end(&err)

	next := p.first
	for next <= p.last && messages.next() {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if err := v.readEntry(p.trunk, messages); err != nil {
			return err
		}
		v.variants = v.variants[:0]
		for more && forms.integer(0) <= v.entry.Place.Depth {
			if forms.integer(0) == v.entry.Place.Depth {
				v.variants = append(v.variants, forms.hash(1))
			}
			more = forms.next()
		}
		if err := forms.failed(); err != nil {
			return err
		}
		if v.entry.Variants = nil; len(v.variants) > 0 {
			v.entry.Variants = v.variants
		}
		if v.entry.Place.Depth != next {
			break
		}
		if v.failed = v.visit(&v.entry); v.failed != nil {
			return v.failed
		}
		next++
	}
	if messages.failed() == nil && next <= p.last {
		return fmt.Errorf("%w: message %d:%d is missing", timeline.ErrDamaged, p.trunk, next)
	}
	return nil
}

// readEntry reads a row into the entry.
func (v *visitor) readEntry(trunk int64, r *rows) error {
	e := &v.entry
	e.Place = timeline.Place{Trunk: trunk, Depth: r.integer(0)}
	e.Identity = r.hash(1)
	e.Format, e.Role, e.Ref = r.text(2), r.text(3), r.text(5)
	e.Time = time.UnixMicro(r.integer(4)).UTC()
	e.Content = r.hash(6)
	if err := r.failed(); err != nil || v.hashes {
		return err
	}
	how := r.integer(7)
	raw, err := v.s.expand(e.Content, how, r.integer(8), r.bytes(9), v.buffer)
	if err != nil {
		return err
	}
	if how != codec.Raw {
		v.buffer = raw
	}
	e.Raw = raw
	return nil
}

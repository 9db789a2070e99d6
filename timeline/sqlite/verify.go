package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// Verify implements timeline.Store. It checks a snapshot of the file; others
// may write meanwhile.
func (s *Store) Verify(ctx context.Context, report func(timeline.Problem)) error {
	c, err := s.own(ctx)
	if err != nil {
		return explain("verify", s.path, err)
	}
	v := verifier{conn: c, ctx: ctx, codec: s.codec, report: report, refs: map[int64]int64{},
		tenants: map[int64]string{}}
	err = errors.Join(v.run(), c.shut())
	if moved := s.moved(); moved != nil {
		return moved
	}
	return explain("verify", s.path, err)
}

// verifier checks a whole file.
type verifier struct {
	*conn
	ctx     context.Context
	codec   *codec.Codecs
	report  func(timeline.Problem)
	refs    map[int64]int64 // counted references by content
	tenants map[int64]string
}

func (v *verifier) problem(tenant int64, conversation string, at timeline.Place, format string, args ...any) {
	v.report(timeline.Problem{Tenant: v.tenants[tenant], Conversation: conversation, Place: at,
		What: fmt.Sprintf(format, args...)})
}

func (v *verifier) run() error {
	if _, err := v.exec("BEGIN"); err != nil {
		return err
	}
	for _, step := range []func() error{v.structure, v.schema, v.settings, v.names, v.trunks, v.variants,
		v.conversations, v.records, v.contents, v.derived, v.extracts, v.tokens} {
		// Report a part that cannot be read like other problems, and check the
		// rest.
		if err := step(); errors.Is(explain("verify", "", err), timeline.ErrDamaged) {
			v.problem(0, "", timeline.Place{}, "the file is damaged: %v", err)
		} else if err != nil {
			return err
		}
		if err := v.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// scan calls row for every row of a query that may take long.
func (v *verifier) scan(query string, row func(*rows) error, args ...any) error {
	r, err := v.queryContext(v.ctx, query, args...)
	if err != nil {
		return err
	}
	for r.next() {
		if err := errors.Join(v.ctx.Err(), row(r)); err != nil {
			return errors.Join(err, r.shut())
		}
	}
	return r.shut()
}

// structure lets SQLite check the structure of the file.
func (v *verifier) structure() error {
	err := v.scan("PRAGMA integrity_check", func(r *rows) error {
		if what := r.text(0); what != "ok" {
			v.problem(0, "", timeline.Place{}, "the file is damaged: %s", what)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.scan("PRAGMA foreign_key_check", func(r *rows) error {
		v.problem(0, "", timeline.Place{}, "a row of %s refers to one of %s that is not there", r.text(0), r.text(2))
		return nil
	})
}

// schema compares the tables and indexes with those that the migrations
// create.
func (v *verifier) schema() error {
	made, err := madeSchema()
	if err != nil {
		return err
	}
	want := maps.Clone(made)
	err = v.each(schemaQuery, func(r *rows) {
		name, sql := r.text(0), r.text(1)
		made, known := want[name]
		delete(want, name)
		switch {
		case !known && strings.HasPrefix(name, "table sqlite_stat"): // created by ANALYZE
		case !known:
			v.problem(0, "", timeline.Place{}, "the %s does not belong to it", name)
		case made != sql:
			v.problem(0, "", timeline.Place{}, "the %s is not as it was made", name)
		}
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		v.problem(0, "", timeline.Place{}, "the %s is missing", name)
	}
	return nil
}

func (v *verifier) settings() error {
	epoch, found, err := v.number("SELECT value FROM setting WHERE name = 'epoch'")
	if err == nil && (!found || epoch < 1) {
		v.problem(0, "", timeline.Place{}, "it has no epoch: other processes would not notice a deletion")
	}
	return err
}

func (v *verifier) names() error {
	return v.scan("SELECT id, name FROM tenant", func(r *rows) error {
		v.tenants[r.integer(0)] = r.text(1)
		return nil
	})
}

// trunk is a row of that table.
type trunk struct {
	id, tenant int64
	origin     timeline.Place
	says       timeline.Hash
	used       int64 // the deepest place that a conversation used
}

// trunks walks every trunk and checks every chain.
func (v *verifier) trunks() error {
	var all []trunk
	err := v.scan(`SELECT t.id, t.tenant, t.origin, t.origin_depth, t.says,
		(SELECT coalesce(max(depth), 0) FROM conversation_trunk WHERE trunk = t.id) FROM trunk t ORDER BY t.id`,
		func(r *rows) error {
			t := trunk{id: r.integer(0), tenant: r.integer(1),
				origin: timeline.Place{Trunk: r.integer(2), Depth: r.integer(3)}, used: r.integer(5)}
			copy(t.says[:], r.bytes(4))
			all = append(all, t)
			return nil
		})
	if err != nil {
		return err
	}
	for i := range all {
		if err := v.trunk(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) trunk(t *trunk) error {
	var before timeline.Hash
	if t.origin != (timeline.Place{}) {
		found, err := v.one("SELECT m.hash FROM trunk t JOIN message m ON m.trunk = t.id WHERE t.id = ? AND t.tenant = ? AND m.depth = ?", func(r *rows) {
			copy(before[:], r.bytes(0))
		}, t.origin.Trunk, t.tenant, t.origin.Depth)
		if err != nil {
			return err
		}
		if !found || t.origin.Trunk >= t.id {
			v.problem(t.tenant, "", t.origin, "trunk %d begins where nothing is", t.id)
		}
	}
	at := timeline.Place{Trunk: t.id, Depth: t.origin.Depth}
	err := v.scan(`SELECT m.depth, m.hash, m.says, m.content, m.format, m.role, m.time, m.ref, c.hash, c.tenant
		FROM message m LEFT JOIN content c ON c.id = m.content WHERE m.trunk = ? ORDER BY m.depth`,
		func(r *rows) error {
			at.Depth++
			if r.integer(0) != at.Depth {
				v.problem(t.tenant, "", at, "messages up to %d are missing", r.integer(0)-1)
				at.Depth = r.integer(0)
			}
			v.refs[r.integer(3)]++
			var content, chain timeline.Hash
			copy(content[:], r.bytes(8))
			copy(chain[:], r.bytes(1))
			m := timeline.Message{Format: r.text(4), Role: r.text(5), Time: time.UnixMicro(r.integer(6)),
				Ref: r.text(7)}
			copy(m.Identity[:], r.bytes(2))
			switch {
			case r.bytes(8) == nil:
				v.problem(t.tenant, "", at, "its content is missing")
			case r.integer(9) != t.tenant:
				v.problem(t.tenant, "", at, "its content belongs to another tenant")
			case timeline.Chain(before, &m, content) != chain:
				v.problem(t.tenant, "", at,
					"the chain is broken: the message, or one before it, is not what was stored")
			}
			if at.Depth == t.origin.Depth+1 && m.Identity != t.says {
				v.problem(t.tenant, "", at, "the trunk is not found by its first message")
			}
			before = chain
			return nil
		}, t.id)
	if err == nil && (at.Depth == t.origin.Depth || t.used != at.Depth) {
		v.problem(t.tenant, "", at, "conversations use the trunk up to depth %d", t.used)
	}
	return err
}

func (v *verifier) variants() error {
	last, n := timeline.Place{}, int64(0)
	return v.scan(`SELECT v.trunk, v.depth, v.n, v.content, t.tenant, c.tenant, m.hash, c.hash, v.hash FROM variant v
		LEFT JOIN trunk t ON t.id = v.trunk LEFT JOIN message m ON m.trunk = v.trunk AND m.depth = v.depth
		LEFT JOIN content c ON c.id = v.content ORDER BY v.trunk, v.depth, v.n`, func(r *rows) error {
		at := timeline.Place{Trunk: r.integer(0), Depth: r.integer(1)}
		if at != last {
			last, n = at, 0
		}
		if n++; r.integer(2) != n {
			v.problem(r.integer(4), "", at, "form %d is missing", n)
			n = r.integer(2)
		}
		switch {
		case r.integer(4) != r.integer(5):
			v.problem(r.integer(4), "", at, "the content of form %d is missing", n)
		case seal.Variant(loose(r, 6), n, loose(r, 7)) != loose(r, 8):
			v.problem(r.integer(4), "", at, "form %d is not what was stored", n)
		}
		v.refs[r.integer(3)]++
		return nil
	})
}

// loose returns a hash without checking its length.
func loose(r *rows, i int) (h timeline.Hash) {
	copy(h[:], r.bytes(i))
	return h
}

func (v *verifier) conversations() error {
	err := v.scan(`SELECT c.tenant, c.name, c.trunk, c.depth, c.revision, coalesce(u.depth, 0), coalesce(t.origin_depth, 0),
		c.created, c.updated, c.project, c.continues, c.hash
		FROM conversation c LEFT JOIN conversation_trunk u ON u.conversation = c.id AND u.trunk = c.trunk LEFT JOIN trunk t ON t.id = c.trunk`, func(r *rows) error {
		c := conversation{head: timeline.Place{Trunk: r.integer(2), Depth: r.integer(3)}, revision: r.integer(4),
			created: r.integer(7), project: r.text(9), continues: r.text(10)}
		if c.head != (timeline.Place{}) && (c.head.Depth <= r.integer(6) || c.head.Depth > r.integer(5)) {
			v.problem(r.integer(0), r.text(1), c.head, "the head is not among what the conversation used")
		}
		if c.revision < 1 {
			v.problem(r.integer(0), r.text(1), c.head, "its revision is %d", c.revision)
		}
		if sealConversation(v.tenants[r.integer(0)], r.text(1), &c, r.integer(8)) != loose(r, 11) {
			v.problem(r.integer(0), r.text(1), c.head,
				"the conversation's head, name, times or labels are not what was stored")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.scan(`SELECT c.tenant, c.name, u.trunk, u.depth, m.depth, t.tenant, t.origin, t.origin_depth, coalesce(b.depth, 0)
		FROM conversation_trunk u JOIN conversation c ON c.id = u.conversation LEFT JOIN trunk t ON t.id = u.trunk
		LEFT JOIN message m ON m.trunk = u.trunk AND m.depth = u.depth
		LEFT JOIN conversation_trunk b ON b.conversation = u.conversation AND b.trunk = t.origin`, func(r *rows) error {
		at := timeline.Place{Trunk: r.integer(2), Depth: r.integer(3)}
		if r.integer(0) != r.integer(5) || r.row[4] == nil {
			v.problem(r.integer(0), r.text(1), at, "the conversation used a place that is not there")
		} else if r.integer(6) != 0 && r.integer(8) < r.integer(7) {
			v.problem(r.integer(0), r.text(1), at, "the way to what the conversation used is not held")
		}
		return nil
	})
}

func (v *verifier) records() error {
	contents, err := v.recordContents()
	if err != nil {
		return err
	}
	return v.scan(`SELECT c.tenant, c.name, r.kind, r.key, r.trunk, r.depth, coalesce(u.depth, 0), coalesce(t.origin_depth, 0), r.tenant,
		r.id, r.time, r.data, r.hash
		FROM record r LEFT JOIN conversation c ON c.id = r.conversation
		LEFT JOIN conversation_trunk u ON u.conversation = c.id AND u.trunk = r.trunk LEFT JOIN trunk t ON t.id = r.trunk`, func(r *rows) error {
		at := timeline.Place{Trunk: r.integer(4), Depth: r.integer(5)}
		if at != (timeline.Place{}) && (at.Depth > r.integer(6) || at.Depth <= r.integer(7)) {
			v.problem(r.integer(0), r.text(1), at, "record %s %q belongs to a place that the conversation has not used",
				r.text(2), r.text(3))
		}
		if r.integer(0) != r.integer(8) {
			v.problem(r.integer(0), r.text(1), at, "record %s %q belongs to another tenant", r.text(2), r.text(3))
		}
		if seal.Record(v.tenants[r.integer(0)], r.text(1), r.text(2), r.text(3), at, r.integer(10), r.bytes(11),
			contents[r.integer(9)]) != loose(r, 12) {
			v.problem(r.integer(0), r.text(1), at, "record %s %q is not what was stored", r.text(2), r.text(3))
		}
		return nil
	})
}

// recordContents returns the hashes of the contents that records refer to.
func (v *verifier) recordContents() (map[int64][]timeline.Hash, error) {
	all := map[int64][]timeline.Hash{}
	return all, v.scan(`SELECT x.content, r.tenant, r.kind, r.key, c.tenant, x.record, c.hash FROM record_content x
		LEFT JOIN record r ON r.id = x.record LEFT JOIN content c ON c.id = x.content ORDER BY x.record, x.n`,
		func(r *rows) error {
			v.refs[r.integer(0)]++
			if r.integer(1) != r.integer(4) {
				v.problem(r.integer(1), "", timeline.Place{}, "a content of record %s %q is missing", r.text(2),
					r.text(3))
			}
			all[r.integer(5)] = append(all[r.integer(5)], loose(r, 6))
			return nil
		})
}

// contents expands every content and compares the reference counts.
func (v *verifier) contents() error {
	var buffer []byte
	return v.scan("SELECT id, tenant, hash, size, codec, refs, data FROM content", func(r *rows) error {
		var h timeline.Hash
		copy(h[:], r.bytes(2))
		raw, err := v.codec.Expand(r.integer(4), r.integer(3), r.bytes(6), buffer)
		switch {
		case err != nil:
			v.problem(r.integer(1), "", timeline.Place{}, "content %v: %v", h, err)
		case timeline.HashOf(raw) != h:
			v.problem(r.integer(1), "", timeline.Place{}, "content %v has other bytes", h)
		}
		if n := v.refs[r.integer(0)]; n != r.integer(5) {
			v.problem(r.integer(1), "", timeline.Place{}, "content %v counts %d references and has %d", h, r.integer(5),
				n)
		}
		if r.integer(4) != codec.Raw && err == nil {
			buffer = raw
		}
		return nil
	})
}

// derived checks derived data against its hash.
func (v *verifier) derived() error {
	return v.scan("SELECT c.tenant, c.hash, d.family, d.kind, d.data, d.hash FROM derived d JOIN content c ON c.id = d.content", func(r *rows) error {
		h := loose(r, 1)
		if timeline.Family(r.text(3)) != r.text(2) || seal.Derived(h, r.text(3), r.bytes(4)) != loose(r, 5) {
			v.problem(r.integer(0), "", timeline.Place{}, "%s of content %v is not what was stored", r.text(3), h)
		}
		return nil
	})
}

// extracts checks extracts against their hashes, and that their messages are there.
func (v *verifier) extracts() error {
	last := timeline.Place{}
	return v.scan(`SELECT e.trunk, e.first, e.last, e.kind, e.data, e.hash, t.tenant, t.origin_depth, (SELECT coalesce(max(depth), 0) FROM message WHERE trunk = e.trunk)
		FROM extract e JOIN trunk t ON t.id = e.trunk ORDER BY e.trunk, e.first`, func(r *rows) error {
		span := timeline.Span{Trunk: r.integer(0), First: r.integer(1), Last: r.integer(2)}
		at := timeline.Place{Trunk: span.Trunk, Depth: span.First}
		switch {
		case seal.Extract(span, r.text(3), r.bytes(4)) != loose(r, 5):
			v.problem(r.integer(6), "", at, "%s of the messages up to %d is not what was stored", r.text(3), span.Last)
		case span.First > span.Last || span.First <= r.integer(7) || span.Last > r.integer(8):
			v.problem(r.integer(6), "", at, "%s is of messages up to %d, which are not there", r.text(3), span.Last)
		case last.Trunk == span.Trunk && last.Depth >= span.First:
			v.problem(r.integer(6), "", at, "%s is of messages that another one is of", r.text(3))
		}
		last = timeline.Place{Trunk: span.Trunk, Depth: span.Last}
		return nil
	})
}

// tokens checks tokens against their hashes.
func (v *verifier) tokens() error {
	return v.scan(tokenColumns, func(r *rows) error {
		if t := scanToken(r); seal.Token(&t) != loose(r, 6) {
			v.report(timeline.Problem{Tenant: t.Tenant, What: fmt.Sprintf("token %s is not what was stored",
				t.Hash.ID())})
		}
		return nil
	})
}

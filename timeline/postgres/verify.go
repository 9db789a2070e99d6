package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// Verify implements timeline.Store. It checks one snapshot, tenant by tenant; others may
// write meanwhile.
func (s *Store) Verify(ctx context.Context, report func(timeline.Problem)) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.explain("verify",
		pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error {
				tenants := map[int64]string{}
				rows, err := tx.Query(ctx, "SELECT id, name FROM tenant")
				if err != nil {
					return err
				}
				var id int64
				var name string
				if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error {
					tenants[id] = name
					return nil
				}); err != nil {
					return err
				}
				for _, id := range slices.Sorted(maps.Keys(tenants)) {
					v := verifier{Tx: tx, ctx: ctx, codec: s.codec, report: report, id: id, tenant: tenants[id],
						trunks: map[int64]*trunk{}, chains: map[timeline.Place]timeline.Hash{},
						refs: map[timeline.Hash]*reference{}, conversations: map[int64]*used{}}
					if err := v.run(); err != nil {
						return err
					}
				}
				return eachToken(ctx, tx, func(t timeline.AccessToken, sealed timeline.Hash) {
					if seal.Token(&t) != sealed {
						report(timeline.Problem{Tenant: t.Tenant, What: fmt.Sprintf("token %s is not what was stored",
							t.Hash.ID())})
					}
				})
			}))
}

// verifier checks the history of a tenant.
type verifier struct {
	pgx.Tx
	ctx    context.Context
	codec  *codec.Codecs
	report func(timeline.Problem)
	id     int64
	tenant string

	trunks        map[int64]*trunk
	chains        map[timeline.Place]timeline.Hash // of the places where trunks begin
	refs          map[timeline.Hash]*reference
	conversations map[int64]*used
}

// trunk is a row of that table.
type trunk struct {
	origin      timeline.Place
	says        timeline.Hash
	depth, used int64 // its last message, and the deepest that a conversation used
}

// reference counts the references to a content; at is the place of the first.
type reference struct {
	n  int64
	at timeline.Place
}

// used is a conversation and the deepest places of trunks that it used.
type used struct {
	name   string
	trunks map[int64]int64
}

func (v *verifier) refer(h timeline.Hash, at timeline.Place) {
	r := v.refs[h]
	if r == nil {
		r = &reference{at: at}
		v.refs[h] = r
	}
	r.n++
}

func (v *verifier) problem(conversation string, at timeline.Place, format string, args ...any) {
	v.report(timeline.Problem{Tenant: v.tenant, Conversation: conversation, Place: at,
		What: fmt.Sprintf(format, args...)})
}

func (v *verifier) run() error {
	if _, err := v.Exec(v.ctx, asTenant, v.id); err != nil {
		return err
	}
	for _, step := range []func() error{v.readTrunks, v.heads, v.use, v.messages, v.variants, v.records, v.contents,
		v.derived} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// each calls row for every row of a query of the tenant, whose columns are in into.
func (v *verifier) each(query string, into []any, row func() error) error {
	rows, err := v.Query(v.ctx, query, v.id)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, row)
	return err
}

func (v *verifier) readTrunks() error {
	var id int64
	var t trunk
	err := v.each("SELECT id, origin, origin_depth, says FROM trunk WHERE tenant = $1",
		[]any{&id, &t.origin.Trunk, &t.origin.Depth, hash16(&t.says)}, func() error {
			kept := t
			v.trunks[id] = &kept
			v.chains[t.origin] = timeline.Hash{}
			return nil
		})
	for id, t := range v.trunks {
		if o := t.origin; o.Trunk >= id || (o.Trunk == 0) != (o.Depth == 0) ||
			o.Trunk != 0 && v.trunks[o.Trunk] == nil {
			v.problem("", o, "trunk %d begins where nothing is", id)
		}
	}
	return err
}

// heads checks conversations against their hashes. Their heads are checked by use.
func (v *verifier) heads() error {
	var id, created, updated int64
	var c timeline.Conversation
	var hash timeline.Hash
	return v.each("SELECT id, name, trunk, depth, revision, created, updated, project, continues, hash FROM conversation WHERE tenant = $1",
		[]any{&id, &c.Name, &c.Head.Trunk, &c.Head.Depth, &c.Revision, &created, &updated, &c.Project, &c.Continues,
			hash16(&hash)}, func() error {
			c.Created, c.Updated = time.UnixMicro(created), time.UnixMicro(updated)
			if c.Revision < 1 {
				v.problem(c.Name, c.Head, "its revision is %d", c.Revision)
			}
			if seal.Conversation(v.tenant, &c) != hash {
				v.problem(c.Name, c.Head, "the conversation's head, name, times or labels are not what was stored")
			}
			v.conversations[id] = &used{name: c.Name, trunks: map[int64]int64{}}
			return nil
		})
}

// use checks what conversations used.
func (v *verifier) use() error {
	var id int64
	var at timeline.Place
	err := v.each("SELECT conversation, trunk, depth FROM conversation_trunk WHERE tenant = $1",
		[]any{&id, &at.Trunk, &at.Depth}, func() error {
			c, t := v.conversations[id], v.trunks[at.Trunk]
			switch {
			case c == nil:
				v.problem("", at, "a conversation that is not there used it")
			case t == nil || at.Depth <= t.origin.Depth:
				v.problem(c.name, at, "the conversation used a place that is not there")
			default:
				c.trunks[at.Trunk] = at.Depth
				t.used = max(t.used, at.Depth)
			}
			return nil
		})
	if err != nil {
		return err
	}
	for _, c := range v.conversations {
		for id := range c.trunks {
			if o := v.trunks[id].origin; o.Trunk != 0 && c.trunks[o.Trunk] < o.Depth {
				v.problem(c.name, o, "the way to what the conversation used is not held")
			}
		}
	}
	return v.each("SELECT id, trunk, depth FROM conversation WHERE tenant = $1", []any{&id, &at.Trunk, &at.Depth},
		func() error {
			if c := v.conversations[id]; at != (timeline.Place{}) && !v.usedBy(c, at) {
				v.problem(c.name, at, "the head is not among what the conversation used")
			}
			return nil
		})
}

// usedBy reports whether a conversation used a place.
func (v *verifier) usedBy(c *used, at timeline.Place) bool {
	t := v.trunks[at.Trunk]
	return t != nil && at.Depth > t.origin.Depth && at.Depth <= c.trunks[at.Trunk]
}

// messages walks every trunk and checks every chain.
func (v *verifier) messages() error {
	var m timeline.Message
	var at timeline.Place
	var micro int64
	var chain, content, before timeline.Hash
	var t *trunk
	err := v.each("SELECT trunk, depth, time, hash, says, content, format, role, ref FROM message WHERE tenant = $1 ORDER BY trunk, depth",
		[]any{&at.Trunk, &at.Depth, &micro, hash16(&chain), hash16(&m.Identity), hash16(&content), &m.Format, &m.Role,
			&m.Ref}, func() error {
			if next := v.trunks[at.Trunk]; next != t || t == nil {
				if t = next; t == nil {
					v.problem("", at, "there is no trunk %d", at.Trunk)
					t = &trunk{}
				}
				before, t.depth = v.chains[t.origin], t.origin.Depth
				if m.Identity != t.says {
					v.problem("", at, "the trunk is not found by its first message")
				}
			}
			if t.depth++; t.depth != at.Depth {
				v.problem("", timeline.Place{Trunk: at.Trunk, Depth: t.depth}, "messages up to %d are missing",
					at.Depth-1)
				t.depth = at.Depth
			}
			m.Time = time.UnixMicro(micro)
			if timeline.Chain(before, &m, content) != chain {
				v.problem("", at, "the chain is broken: the message, or one before it, is not what was stored")
			}
			before = chain
			if _, begins := v.chains[at]; begins {
				v.chains[at] = chain
			}
			v.refer(content, at)
			return nil
		})
	for id, t := range v.trunks {
		if t.depth <= t.origin.Depth || t.used != t.depth {
			v.problem("", timeline.Place{Trunk: id, Depth: t.depth}, "conversations use the trunk up to depth %d",
				t.used)
		}
	}
	return err
}

func (v *verifier) variants() error {
	last, want := timeline.Place{}, int64(0)
	var at timeline.Place
	var n int64
	var content, hash timeline.Hash
	var chain *[16]byte
	return v.each(`SELECT v.trunk, v.depth, v.n, v.content, v.hash, m.hash FROM variant v
		LEFT JOIN message m ON m.tenant = v.tenant AND m.trunk = v.trunk AND m.depth = v.depth
		WHERE v.tenant = $1 ORDER BY v.trunk, v.depth, v.n`,
		[]any{&at.Trunk, &at.Depth, &n, hash16(&content), hash16(&hash), &chain}, func() error {
			if at != last {
				last, want = at, 0
			}
			if want++; n != want {
				v.problem("", at, "form %d is missing", want)
				want = n
			}
			if chain == nil || seal.Variant(*chain, n, content) != hash {
				v.problem("", at, "form %d is not what was stored", n)
			}
			v.refer(content, at)
			return nil
		})
}

func (v *verifier) records() error {
	var id, micro int64
	var at timeline.Place
	var hash timeline.Hash
	var kind, key string
	var contents [][16]byte
	var data []byte
	return v.each("SELECT conversation, trunk, depth, time, hash, kind, key, contents, data FROM record WHERE tenant = $1",
		[]any{&id, &at.Trunk, &at.Depth, &micro, hash16(&hash), &kind, &key, &contents, &data}, func() error {
			c := v.conversations[id]
			if c == nil {
				v.problem("", at, "record %s %q belongs to a conversation that is not there", kind, key)
				c = &used{}
			}
			if at != (timeline.Place{}) && !v.usedBy(c, at) {
				v.problem(c.name, at, "record %s %q belongs to a place that the conversation has not used", kind, key)
			}
			all := make([]timeline.Hash, len(contents))
			for i, h := range contents {
				all[i] = h
				v.refer(h, at)
			}
			if seal.Record(v.tenant, c.name, kind, key, at, micro, data, all) != hash {
				v.problem(c.name, at, "record %s %q is not what was stored", kind, key)
			}
			return nil
		})
}

// contents expands every content and compares the reference counts.
func (v *verifier) contents() error {
	var h timeline.Hash
	var size, how, refs int64
	var data, buffer []byte
	err := v.each("SELECT hash, size, codec, refs, data FROM content WHERE tenant = $1",
		[]any{hash16(&h), &size, &how, &refs, &data}, func() error {
			raw, err := v.codec.Expand(how, size, data, buffer)
			switch {
			case err != nil:
				v.problem("", timeline.Place{}, "content %v: %v", h, err)
			case timeline.HashOf(raw) != h:
				v.problem("", timeline.Place{}, "content %v has other bytes", h)
			case how != codec.Raw:
				buffer = raw
			}
			var n int64
			if r := v.refs[h]; r != nil {
				n = r.n
			}
			if n != refs {
				v.problem("", timeline.Place{}, "content %v counts %d references and has %d", h, refs, n)
			}
			delete(v.refs, h)
			return nil
		})
	for h, r := range v.refs {
		if err == nil {
			v.problem("", r.at, "its content %v is missing", h)
		}
	}
	return err
}

// derived checks derived data against its hash.
func (v *verifier) derived() error {
	var content, hash timeline.Hash
	var family, kind string
	var data []byte
	var there bool
	return v.each(`SELECT d.content, d.hash, d.family, d.kind, d.data, c.hash IS NOT NULL FROM derived d
		LEFT JOIN content c ON c.tenant = d.tenant AND c.hash = d.content WHERE d.tenant = $1`,
		[]any{hash16(&content), hash16(&hash), &family, &kind, &data, &there}, func() error {
			if timeline.Family(kind) != family || seal.Derived(content, kind, data) != hash {
				v.problem("", timeline.Place{}, "%s of content %v is not what was stored", kind, content)
			}
			if !there {
				v.problem("", timeline.Place{}, "%s is left of content %v, which is not there", kind, content)
			}
			return nil
		})
}

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// Apply implements timeline.Store.
func (s *Store) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := s.begin(ctx); err != nil {
		return timeline.Applied{}, err
	}
	if err := c.Check(tenant); err != nil {
		return timeline.Applied{}, err
	}
	if s.readOnly {
		return timeline.Applied{}, s.refuse("write")
	}
	id, err := s.makeTenant(ctx, tenant)
	if err != nil {
		return timeline.Applied{}, s.explain("write", err)
	}
	p := prepare(&c, tenant, id)
	if w := s.guess(p); w != nil {
		err := s.join(ctx, w)
		if err == nil {
			return w.applied, nil
		}
		if !isConflict(err) {
			return timeline.Applied{}, s.explain("write", err)
		}
	}
	var w change
	err = s.again(ctx, func() error {
		return s.transaction(ctx, func(t *transaction) error {
			w = change{prepared: p, s: s, transaction: t}
			return w.apply(ctx)
		})
	})
	if err != nil {
		return timeline.Applied{}, s.explain("write", err)
	}
	w.keep()
	return w.applied, nil
}

// prepared is a change after the work that needs no database.
type prepared struct {
	*timeline.Change
	tenant   string
	tenantID int64
	forms    []timeline.Hash          // of the messages' bytes
	given    map[timeline.Hash][]byte // contents that the change brings
	asked    [][16]byte               // contents that it may refer to
}

func prepare(c *timeline.Change, tenant string, id int64) *prepared {
	p := &prepared{Change: c, tenant: tenant, tenantID: id, forms: make([]timeline.Hash, len(c.Messages)),
		given: map[timeline.Hash][]byte{}}
	give := func(raw []byte) timeline.Hash {
		h := timeline.HashOf(raw)
		if _, again := p.given[h]; !again {
			p.given[h] = raw
			p.asked = append(p.asked, h)
		}
		return h
	}
	for i := range c.Messages {
		p.forms[i] = give(c.Messages[i].Raw)
	}
	for _, raw := range c.Contents {
		give(raw)
	}
	for i := range c.Put {
		for _, h := range c.Put[i].Contents {
			if _, given := p.given[h]; !given {
				p.asked = append(p.asked, h)
			}
		}
	}
	return p
}

// change is a change within its transaction: one batch reads what it depends on, a second
// one writes and commits.
type change struct {
	*prepared
	*transaction
	s *Store

	conv  timeline.Conversation
	id    int64 // of the conversation
	isNew bool  // the conversation
	// used is conversation_trunk: the deepest used or passed place of every trunk.
	used map[int64]int64
	// origins are the places after which trunks begin, as far as they are known.
	origins map[int64]timeline.Place
	stored  map[timeline.Hash]bool // contents that were stored before
	records map[timeline.Key]*stored
	written int64 // the last position of a record
	counted bool  // written was read

	from     row   // messages after At
	branches []row // those of the trunks that begin at At, one message after it, and so on
	known    int   // number of messages that are stored already
	// last is the place of the last stored message, or At, and chain its hash.
	last  timeline.Place
	chain timeline.Hash
	// extend reports that new messages continue last's trunk instead of a new one, whose
	// number is trunk.
	extend bool
	trunk  int64
	other  []otherForm

	refs    map[timeline.Hash]int64 // references that contents get or lose
	release map[timeline.Hash]bool  // contents that lose one
	rows    rows
	applied timeline.Applied
}

func (w *change) apply(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	w.s.point("between batches")
	if err := w.plan(ctx); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	p, _ := w.s.partitions.Get(w.tenantID)
	w.rows.queue(&w.batch, w.tenantID, p)
	if released := w.released(); len(released) > 0 {
		deleteContents(&w.batch, w.tenantID, released, nil)
	}
	w.s.point("before commit")
	err := w.commit(ctx, w.s.notices.of(w.s.notice(w.tenantID, w.Conversation)))
	w.s.point("after commit")
	w.applied.New.Contents = w.rows.countFresh(w.refs)
	return err
}

// write collects the rows to write.
func (w *change) write() error {
	for _, step := range []func() error{w.writeForms, w.writeMessages, w.writeConversation, w.writeUse, w.writeRecords,
		w.writeContents} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// load reads what the change depends on.
func (w *change) load(ctx context.Context) error {
	w.used, w.origins = map[int64]int64{}, map[int64]timeline.Place{}
	w.begin(w.tenantID, shared)
	b := &w.batch
	b.Queue("SELECT id, trunk, depth, revision, created, project, continues FROM conversation WHERE tenant = $1 AND name = $2 FOR UPDATE", w.tenantID, w.Conversation).QueryRow(func(row pgx.Row) error {
		c := &w.conv
		var created int64
		err := row.Scan(&w.id, &c.Head.Trunk, &c.Head.Depth, &c.Revision, &created, &c.Project, &c.Continues)
		if w.isNew = errors.Is(err, pgx.ErrNoRows); w.isNew {
			return nil
		}
		c.Created = time.UnixMicro(created).UTC()
		return err
	})
	b.Queue(`SELECT u.trunk, u.depth, t.origin, t.origin_depth FROM conversation c
		JOIN conversation_trunk u ON u.tenant = c.tenant AND u.conversation = c.id JOIN trunk t ON t.tenant = u.tenant AND t.id = u.trunk
		WHERE c.tenant = $1 AND c.name = $2`, w.tenantID, w.Conversation).Query(func(rows pgx.Rows) error {
		var p, origin timeline.Place
		_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth, &origin.Trunk, &origin.Depth}, func() error {
			w.used[p.Trunk], w.origins[p.Trunk] = p.Depth, origin
			return nil
		})
		return err
	})
	if w.Expect != nil && *w.Expect == 0 {
		number(b, "SELECT nextval('conversation_number')", &w.id)
	}
	w.loadMessages()
	w.loadContents()
	w.loadRecords()
	return w.send(ctx)
}

// plan checks the change against what was read, and finds what is to be written.
func (w *change) plan(ctx context.Context) error {
	if w.Expect != nil && *w.Expect != w.conv.Revision {
		return fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, w.Conversation, w.conv.Revision,
			*w.Expect)
	}
	if !w.ExpectCreated.IsZero() && (w.isNew || !timeline.Micro(w.ExpectCreated).Equal(w.conv.Created)) {
		return fmt.Errorf("%w: %q was begun again", timeline.ErrChanged, w.Conversation)
	}
	if !w.idle() {
		if err := w.planMessages(ctx); err != nil {
			return err
		}
	}
	if err := w.loadRest(ctx); err != nil {
		return err
	}
	if err := w.planForms(); err != nil {
		return err
	}
	return w.planRecords()
}

// loadRest reads what only turned out to be needed: the number of a new conversation or
// trunk, forms of messages, the way to a place that the conversation has not used.
func (w *change) loadRest(ctx context.Context) error {
	if w.isNew && w.id == 0 {
		number(&w.batch, "SELECT nextval('conversation_number')", &w.id)
	}
	if !w.extend && w.known < len(w.Messages) && w.trunk == 0 {
		number(&w.batch, "SELECT nextval('trunk_number')", &w.trunk)
	}
	w.loadForms()
	if _, known := w.origins[w.At.Trunk]; !known && w.At.Trunk > 0 && !w.idle() {
		w.loadOrigins()
	}
	if w.batch.Len() == 0 {
		return nil
	}
	return w.send(ctx)
}

// number queues a query for a number.
func number(b *pgx.Batch, query string, n *int64, args ...any) {
	b.Queue(query, args...).QueryRow(func(row pgx.Row) error { return row.Scan(n) })
}

// loadOrigins queues the query for the trunks that lead to At.
func (w *change) loadOrigins() {
	w.batch.Queue(`WITH RECURSIVE way (trunk, origin, origin_depth) AS (
			SELECT id, origin, origin_depth FROM trunk WHERE tenant = $1 AND id = $2
			UNION ALL
			SELECT t.id, t.origin, t.origin_depth FROM way w JOIN trunk t ON t.tenant = $1 AND t.id = w.origin WHERE w.origin < w.trunk
		) SELECT trunk, origin, origin_depth FROM way`, w.tenantID, w.At.Trunk).Query(func(rows pgx.Rows) error {
		var trunk int64
		var origin timeline.Place
		_, err := pgx.ForEachRow(rows, []any{&trunk, &origin.Trunk, &origin.Depth}, func() error {
			if origin.Trunk >= trunk {
				return fmt.Errorf("%w: trunk %d begins under %v", timeline.ErrDamaged, trunk, origin)
			}
			w.origins[trunk] = origin
			return nil
		})
		return err
	})
}

func (w *change) writeConversation() error {
	c := &w.conv
	c.Name, c.Updated = w.Conversation, timeline.Micro(w.Now)
	if w.isNew {
		c.Created = w.when(w.Began)
	}
	if !w.Stay {
		c.Head = w.reached()
	}
	c.Revision++
	c.Project, c.Continues = cmp.Or(w.Project, c.Project), cmp.Or(w.Continues, c.Continues)
	hash := [16]byte(seal.Conversation(w.tenant, c))
	if w.isNew {
		w.batch.Queue(`INSERT INTO conversation (tenant, id, name, trunk, depth, revision, created, updated, project, continues, hash)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			w.tenantID, w.id, c.Name, c.Head.Trunk, c.Head.Depth, c.Revision, c.Created.UnixMicro(),
			c.Updated.UnixMicro(), c.Project, c.Continues, hash)
	} else {
		r := &w.rows.conversations
		r.ids, r.trunks, r.depths = append(r.ids, w.id), append(r.trunks, c.Head.Trunk), append(r.depths, c.Head.Depth)
		r.revisions, r.updated = append(r.revisions, c.Revision), append(r.updated, c.Updated.UnixMicro())
		r.projects, r.continues = append(r.projects, c.Project), append(r.continues, c.Continues)
		r.hashes = append(r.hashes, hash)
		after, says := timeline.Place{Trunk: -1}, timeline.Hash{} // what was read is locked
		if w.rows.guessed && w.known < len(w.Messages) {
			after, says = w.last, w.Messages[w.known].Identity
		}
		r.after, r.afterDepths, r.says = append(r.after, after.Trunk), append(r.afterDepths, after.Depth),
			append(r.says, says)
	}
	w.applied.Head, w.applied.Revision = c.Head, c.Revision
	return nil
}

// idle reports whether the change does not involve places of messages.
func (w *change) idle() bool { return w.Stay && len(w.Messages) == 0 }

// reached returns the place of the last message, or At, after the messages are written.
func (w *change) reached() timeline.Place {
	if n := len(w.applied.Places); n > 0 {
		return w.applied.Places[n-1]
	}
	return w.At
}

// writeUse marks the trunks on the way to the reached place as used, each up to where the
// way leaves it. If a trunk was already used that far, so were those before it.
func (w *change) writeUse() error {
	u := &w.rows.uses
	for p := w.reached(); !w.idle() && p.Trunk != 0 && w.used[p.Trunk] < p.Depth; {
		u.conversations, u.trunks, u.depths = append(u.conversations, w.id), append(u.trunks, p.Trunk),
			append(u.depths, p.Depth)
		if _, used := w.used[p.Trunk]; used {
			break
		}
		origin, known := w.origins[p.Trunk]
		if !known {
			return fmt.Errorf("%w: there is no trunk %d", timeline.ErrDamaged, p.Trunk)
		}
		p = origin
	}
	return nil
}

// when returns a time of the change in stored precision.
func (w *change) when(t time.Time) time.Time {
	if t.IsZero() {
		t = w.Now
	}
	return timeline.Micro(t)
}

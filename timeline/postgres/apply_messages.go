package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// row is a part of a trunk that a change may follow.
type row struct {
	trunk    int64
	messages []message
}

// message is a stored message without its bytes.
type message struct {
	depth                int64
	says, chain, content timeline.Hash
}

// scan reads rows of depth, says, hash and content.
func (r *row) scan(rows pgx.Rows) error {
	var m message
	_, err := pgx.ForEachRow(rows, []any{&r.trunk, &m.depth, hash16(&m.says), hash16(&m.chain), hash16(&m.content)},
		func() error {
			r.messages = append(r.messages, m)
			return nil
		})
	return err
}

// loadMessages queues the queries for the messages that the change may find: those after At
// on its trunk, and those of the trunk that begins at At with the first message.
func (w *change) loadMessages() {
	if w.idle() {
		return
	}
	n := int64(len(w.Messages))
	if w.At != (timeline.Place{}) {
		w.batch.Queue("SELECT trunk, depth, says, hash, content FROM message WHERE tenant = $1 AND trunk = $2 AND depth >= $3 ORDER BY depth LIMIT $4",
			w.tenantID, w.At.Trunk, w.At.Depth, n+1).Query(w.from.scan)
	}
	if n > 0 {
		// Another server may have stored the first messages: where it stopped, a trunk may
		// begin, too. A change of few messages asks at once.
		w.branches = make([]row, min(n, branchesAtOnce))
		if w.At == (timeline.Place{}) {
			w.branches = w.branches[:1]
		}
		for i := range w.branches {
			at := timeline.Place{Trunk: w.At.Trunk, Depth: w.At.Depth + int64(i)}
			w.loadBranch(at, w.Messages[i].Identity, n-int64(i), &w.branches[i])
		}
		if w.At == (timeline.Place{}) {
			// Probably a new trunk.
			number(&w.batch, "SELECT nextval('trunk_number')", &w.trunk)
		}
	}
}

// branchesAtOnce is the number of places for which branches are asked for in advance: a call
// has a question and an answer, and another server may have stored the call before it.
const branchesAtOnce = 8

// loadBranch queues the query for the first n messages of the trunk that begins at a place
// with a message.
func (w *change) loadBranch(at timeline.Place, says timeline.Hash, n int64, into *row) {
	w.batch.Queue(`SELECT m.trunk, m.depth, m.says, m.hash, m.content FROM message m
		WHERE m.tenant = $1 AND m.trunk = (SELECT id FROM trunk WHERE tenant = $1 AND origin = $2 AND origin_depth = $3 AND says = $4)
		AND m.depth > $3 ORDER BY m.depth LIMIT $5`, w.tenantID, at.Trunk, at.Depth, [16]byte(says), n).Query(into.scan)
}

// planMessages follows the known messages and finds the place of the new ones.
func (w *change) planMessages(ctx context.Context) error {
	w.last = w.At
	ended := false
	if w.At != (timeline.Place{}) {
		if len(w.from.messages) == 0 || w.from.messages[0].depth != w.At.Depth {
			return fmt.Errorf("%w: %v", timeline.ErrNoPlace, w.At)
		}
		w.chain = w.from.messages[0].chain
		ended = w.follow(w.At.Trunk, w.from.messages[1:])
	}
	for first := true; w.known < len(w.Messages); first = false {
		w.extend = w.last.Trunk != 0 && ended
		branch := row{}
		if first && w.known < len(w.branches) {
			branch = w.branches[w.known]
		} else {
			w.loadBranch(w.last, w.Messages[w.known].Identity, int64(len(w.Messages)-w.known), &branch)
			if err := w.send(ctx); err != nil {
				return err
			}
		}
		if len(branch.messages) == 0 {
			return nil
		}
		w.origins[branch.trunk] = w.last
		before := w.known
		ended = w.follow(branch.trunk, branch.messages)
		if w.known == before {
			return fmt.Errorf("%w: trunk %d does not begin with the message that it is known by", timeline.ErrDamaged,
				branch.trunk)
		}
	}
	return nil
}

// follow compares the next messages with those of a trunk, as long as their identities
// agree. It reports whether the trunk ends there.
func (w *change) follow(trunk int64, messages []message) (ended bool) {
	for _, m := range messages {
		if w.known == len(w.Messages) || m.says != w.Messages[w.known].Identity {
			return false
		}
		w.last = timeline.Place{Trunk: trunk, Depth: m.depth}
		w.chain = m.chain
		if m.content != w.forms[w.known] {
			w.other = append(w.other, otherForm{message: w.known, chain: m.chain, hashes: []timeline.Hash{m.content}})
		}
		w.applied.Places = append(w.applied.Places, w.last)
		w.known++
	}
	return true
}

// otherForm is a known message whose bytes are not its first form.
type otherForm struct {
	message int
	chain   timeline.Hash
	hashes  []timeline.Hash // of its forms
	form    int             // the number of the form that the bytes are
}

// isNew reports whether the bytes are in none of the forms.
func (o *otherForm) isNew() bool { return o.form == len(o.hashes) }

// loadForms queues the query for the forms of messages that are not in their first one.
func (w *change) loadForms() {
	if len(w.other) == 0 {
		return
	}
	index := map[timeline.Place]*otherForm{}
	var trunks, depths []int64
	for j := range w.other {
		p := w.applied.Places[w.other[j].message]
		index[p] = &w.other[j]
		trunks, depths = append(trunks, p.Trunk), append(depths, p.Depth)
	}
	w.batch.Queue(`SELECT v.trunk, v.depth, v.content FROM unnest($2::bigint[], $3::bigint[]) AS o (trunk, depth)
		JOIN variant v ON v.tenant = $1 AND v.trunk = o.trunk AND v.depth = o.depth ORDER BY v.trunk, v.depth, v.n`,
		w.tenantID, trunks, depths).Query(func(rows pgx.Rows) error {
		var p timeline.Place
		var h timeline.Hash
		_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth, hash16(&h)}, func() error {
			index[p].hashes = append(index[p].hashes, h)
			return nil
		})
		return err
	})
}

// planForms finds the forms of the known messages.
func (w *change) planForms() error {
	for j := range w.other {
		o := &w.other[j]
		if o.form = slices.Index(o.hashes, w.forms[o.message]); o.form < 0 {
			o.form = len(o.hashes)
		}
	}
	if w.idle() {
		return nil
	}
	other := w.other
	for i, want := range w.Forms {
		form := 0
		if len(other) > 0 && other[0].message == i {
			form, other = other[0].form, other[1:]
		}
		if form != want {
			return w.formsError(i)
		}
	}
	return nil
}

// formsError refuses the form of message i.
func (w *change) formsError(i int) error {
	e := &timeline.FormsError{Message: i, Places: w.applied.Places,
		Forms: make([][]timeline.Hash, len(w.applied.Places))}
	for j := range w.other {
		e.Forms[w.other[j].message] = w.other[j].hashes
	}
	return e
}

// writeForms stores the bytes of known messages that differ from all stored forms.
func (w *change) writeForms() error {
	var trunks, depths, numbers []int64
	var contents, hashes [][16]byte
	for j := range w.other {
		o := &w.other[j]
		if !o.isNew() {
			continue
		}
		p, h := w.applied.Places[o.message], w.forms[o.message]
		w.refer(h, 1)
		trunks, depths, numbers = append(trunks, p.Trunk), append(depths, p.Depth), append(numbers, int64(o.form))
		contents, hashes = append(contents, h), append(hashes, seal.Variant(o.chain, int64(o.form), h))
		w.applied.New.Variants++
	}
	if len(trunks) > 0 {
		w.batch.Queue(`INSERT INTO variant (tenant, trunk, depth, n, content, hash)
			SELECT $1, v.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[]) AS v`,
			w.tenantID, trunks, depths, numbers, contents, hashes)
	}
	return nil
}

// writeMessages appends the new messages.
func (w *change) writeMessages() error {
	if w.known == len(w.Messages) {
		return nil
	}
	at := w.last
	if !w.extend {
		if w.trunk <= at.Trunk {
			return errors.New("the sequence trunk_number does not rise")
		}
		w.batch.Queue("INSERT INTO trunk (tenant, id, origin, origin_depth, says) VALUES ($1, $2, $3, $4, $5)",
			w.tenantID, w.trunk, at.Trunk, at.Depth, [16]byte(w.Messages[w.known].Identity))
		w.origins[w.trunk] = at
		at.Trunk = w.trunk
	}
	r := &w.rows.messages
	for i := w.known; i < len(w.Messages); i++ {
		m := w.Messages[i]
		m.Time = w.when(m.Time)
		at.Depth++
		w.chain = timeline.Chain(w.chain, &m, w.forms[i])
		w.refer(w.forms[i], 1)
		r.trunks, r.depths, r.times = append(r.trunks, at.Trunk), append(r.depths, at.Depth),
			append(r.times, m.Time.UnixMicro())
		r.chains, r.says, r.contents = append(r.chains, w.chain), append(r.says, m.Identity),
			append(r.contents, w.forms[i])
		r.formats, r.roles, r.refs = append(r.formats, m.Format), append(r.roles, m.Role), append(r.refs, m.Ref)
		w.applied.Places = append(w.applied.Places, at)
		w.applied.New.Messages++
	}
	return nil
}

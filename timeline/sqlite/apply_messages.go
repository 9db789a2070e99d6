package sqlite

import (
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// planMessages follows the known messages and finds the place of the new ones.
func (w *change) planMessages() error {
	ended, err := w.begins()
	if err != nil {
		return err
	}
	for w.known < len(w.Messages) {
		if w.last.Trunk != 0 && !ended {
			if ended, err = w.follow(w.last.Trunk, w.last.Depth); err != nil || w.known == len(w.Messages) {
				return err
			}
		}
		w.extend = w.last.Trunk != 0 && ended
		if t, ok := w.tips.Get(w.last.Trunk); ok && w.extend && t.depth == w.last.Depth {
			return nil // no trunk begins after it
		}
		says := &w.Messages[w.known].Identity
		branch, found, err := w.number(
			"SELECT id FROM trunk WHERE tenant = ? AND origin = ? AND origin_depth = ? AND says = ?",
			w.tenantID, w.last.Trunk, w.last.Depth, says[:])
		if err != nil || !found {
			return err
		}
		before := w.known
		if ended, err = w.follow(branch, w.last.Depth); err != nil {
			return err
		}
		if w.known == before {
			return fmt.Errorf("%w: trunk %d does not begin with the message that it is known by", timeline.ErrDamaged,
				branch)
		}
	}
	return nil
}

// begins looks up At. It reports whether At is known to be the end of its
// trunk.
func (w *change) begins() (ended bool, err error) {
	w.last = w.At
	if w.At == (timeline.Place{}) {
		return false, nil
	}
	if t, ok := w.tips.Get(w.At.Trunk); ok && t.tenant == w.tenantID {
		switch {
		case w.At.Depth == t.depth:
			w.chain = t.chain
			return true, nil
		case w.At.Depth == t.depth-1 && t.follows:
			w.chain = t.before
			return false, nil
		}
	}
	found, err := w.one("SELECT m.hash FROM trunk t JOIN message m ON m.trunk = t.id WHERE t.id = ? AND t.tenant = ? AND m.depth = ?", func(r *rows) {
		w.chain = r.hash(0)
	}, w.At.Trunk, w.tenantID, w.At.Depth)
	if err == nil && !found {
		err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, w.At)
	}
	return false, err
}

// follow compares the next messages with those of a trunk after a depth, as
// long as their identities agree. It reports whether the trunk ends there.
func (w *change) follow(trunk, depth int64) (ended bool, err error) {
	if t, ok := w.tips.Get(trunk); ok && t.depth == depth+1 {
		return w.follows(trunk, &t, true), nil
	}
	r, err := w.query(`SELECT m.depth, m.says, m.hash, c.hash FROM message m JOIN content c ON c.id = m.content
		WHERE m.trunk = ? AND m.depth > ? ORDER BY m.depth`, trunk, depth)
	if err != nil {
		return false, err
	}
	ended = true
	for ended && r.next() {
		m := tip{depth: r.integer(0), says: r.hash(1), chain: r.hash(2), forms: []timeline.Hash{r.hash(3)}}
		ended = w.follows(trunk, &m, false)
	}
	return ended, r.shut()
}

// follows reports whether the next message says what m says, and takes it for m then. m has
// its first form, or with all every one.
func (w *change) follows(trunk int64, m *tip, all bool) bool {
	if w.known == len(w.Messages) || m.says != w.Messages[w.known].Identity {
		return false
	}
	w.last = timeline.Place{Trunk: trunk, Depth: m.depth}
	w.chain = m.chain
	if m.forms[0] != w.forms[w.known].hash {
		w.other = append(w.other, otherForm{message: w.known, chain: m.chain, read: all, hashes: m.forms})
	}
	w.applied.Places = append(w.applied.Places, w.last)
	w.known++
	return true
}

// otherForm is a known message whose bytes are not its first form.
type otherForm struct {
	message int
	chain   timeline.Hash
	read    bool            // hashes are complete
	hashes  []timeline.Hash // of its forms
	form    int             // the number of the form that the bytes are
}

// isNew reports whether the bytes are in none of the forms.
func (o *otherForm) isNew() bool { return o.form == len(o.hashes) }

// planForms finds the forms of the known messages.
func (w *change) planForms() error {
	for j := range w.other {
		o := &w.other[j]
		if err := w.readForms(o); err != nil {
			return err
		}
		if o.form = slices.Index(o.hashes, w.forms[o.message].hash); o.form < 0 {
			o.form = len(o.hashes)
		}
	}
	if w.Forms == nil {
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

// readForms reads the other forms of a message if they are not known.
func (w *change) readForms(o *otherForm) error {
	if o.read {
		return nil
	}
	p := w.applied.Places[o.message]
	return w.each(`SELECT c.hash FROM variant v JOIN content c ON c.id = v.content
		WHERE v.trunk = ? AND v.depth = ? ORDER BY v.n`, func(r *rows) {
		o.hashes = append(o.hashes, r.hash(0))
	}, p.Trunk, p.Depth)
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

// writeForms stores the bytes of known messages that differ from all stored
// forms.
func (w *change) writeForms() error {
	for j := range w.other {
		o := &w.other[j]
		if !o.isNew() {
			continue
		}
		i, p := o.message, w.applied.Places[o.message]
		id, err := w.refer(&w.forms[i])
		if err != nil {
			return err
		}
		n := int64(o.form)
		hash := seal.Variant(o.chain, n, w.forms[i].hash)
		if _, err := w.exec("INSERT INTO variant (trunk, depth, n, content, hash) VALUES (?, ?, ?, ?, ?)",
			p.Trunk, p.Depth, n, id, hash[:]); err != nil {
			return err
		}
		if t, ok := w.tips.Get(p.Trunk); ok && t.depth == p.Depth {
			t.forms = append(slices.Clip(t.forms), w.forms[i].hash)
			w.tips.Put(p.Trunk, t)
		}
		w.applied.New.Variants++
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
		id, err := w.insert("INSERT INTO trunk (tenant, origin, origin_depth, says) VALUES (?, ?, ?, ?)",
			w.tenantID, at.Trunk, at.Depth, w.Messages[w.known].Identity[:])
		if err != nil {
			return err
		}
		at.Trunk = id
	}
	var before timeline.Hash
	for i := w.known; i < len(w.Messages); i++ {
		m := w.Messages[i]
		content, err := w.refer(&w.forms[i])
		if err != nil {
			return err
		}
		if m.Time.IsZero() {
			m.Time = w.Now
		}
		at.Depth++
		before = w.chain
		w.chain = timeline.Chain(w.chain, &m, w.forms[i].hash)
		if _, err := w.exec("INSERT INTO message (trunk, depth, hash, says, content, format, role, time, ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			at.Trunk, at.Depth, w.chain[:], m.Identity[:], content, m.Format, m.Role, m.Time.UnixMicro(),
			m.Ref); err != nil {
			return err
		}
		w.applied.Places = append(w.applied.Places, at)
		w.applied.New.Messages++
		w.point("between statements")
	}
	last := len(w.Messages) - 1
	w.tips.Put(at.Trunk, tip{
		tenant: w.tenantID, depth: at.Depth, before: before, follows: w.extend || w.known < last,
		chain: w.chain, says: w.Messages[last].Identity, forms: []timeline.Hash{w.forms[last].hash},
	})
	return nil
}

// refer adds a reference to a content, which it stores if it is new.
func (w *change) refer(f *form) (id int64, err error) {
	k := contentKey{w.tenantID, f.hash}
	if id, ok := w.contents.Get(k); ok {
		r, err := w.exec("UPDATE content SET refs = refs + 1 WHERE id = ?", id)
		if err != nil {
			return 0, err
		}
		if n, err := r.RowsAffected(); err != nil || n == 1 {
			return id, err
		}
	}
	if f.data == nil {
		// It is probably known, so compressing it would be wasted.
		id, found, err := w.number("UPDATE content SET refs = refs + 1 WHERE tenant = ? AND hash = ? RETURNING id",
			w.tenantID, f.hash[:])
		if err != nil || found {
			if found {
				w.contents.Put(k, id)
			}
			return id, err
		}
		if f.raw == nil && f.hash != timeline.HashOf(nil) {
			return 0, fmt.Errorf("%w: content %v is missing", timeline.ErrDamaged, f.hash)
		}
		if err := f.compress(w.codec); err != nil {
			return 0, err
		}
	}
	r, err := w.exec("INSERT INTO content (tenant, hash, size, codec, refs, data) VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING",
		w.tenantID, f.hash[:], int64(len(f.raw)), f.codec, f.data)
	if err != nil {
		return 0, err
	}
	if n, err := r.RowsAffected(); err != nil {
		return 0, err
	} else if n == 1 {
		if id, err = r.LastInsertId(); err != nil {
			return 0, err
		}
		w.applied.New.Contents++
		if w.made == nil {
			w.made = map[int64]bool{}
		}
		w.made[id] = true
	} else {
		var found bool
		id, found, err = w.number("UPDATE content SET refs = refs + 1 WHERE tenant = ? AND hash = ? RETURNING id",
			w.tenantID, f.hash[:])
		if err == nil && !found {
			err = fmt.Errorf("%w: content %v conflicts with itself", timeline.ErrDamaged, f.hash)
		}
		if err != nil {
			return 0, err
		}
	}
	w.contents.Put(k, id)
	return id, nil
}

package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// form is a content to be stored.
type form struct {
	hash  timeline.Hash
	raw   []byte
	codec int64
	data  []byte // nil until it is compressed
}

// Apply implements timeline.Store.
func (s *Store) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := c.Check(tenant); err != nil {
		return timeline.Applied{}, err
	}
	if s.readOnly {
		return timeline.Applied{}, s.refuse("write")
	}
	p := prepared{Change: &c, tenant: tenant, forms: make([]form, len(c.Messages))}
	if err := s.prepare(&p); err != nil {
		return timeline.Applied{}, err
	}
	var w change
	err := s.write.perform(&task{ctx: ctx, patient: c.Patient, do: func() error {
		w = change{prepared: &p, writer: &s.write, codec: s.codec}
		return w.apply()
	}})
	if err != nil {
		return timeline.Applied{}, explain("write", s.path, err)
	}
	return w.applied, nil
}

// prepared is a change after the work that needs no database.
type prepared struct {
	*timeline.Change
	tenant string
	forms  []form // of the messages
	extra  []form // Change.Contents
}

const (
	// early is how many of the last messages are compressed before the change
	// gets its turn to write. Messages before them are probably stored
	// already.
	early = 16
	// earlySize is the size from which on a content is always compressed
	// before its turn, so that others need not wait for it.
	earlySize = 64 << 10
)

// prepare hashes the contents of messages and Change.Contents. It compresses
// Change.Contents, the last messages and large ones, which are likely to be new.
func (s *Store) prepare(p *prepared) error {
	id, known := s.write.tenants.Get(p.tenant)
	stored := func(h timeline.Hash) bool {
		if !known {
			return false
		}
		_, stored := s.write.contents.Get(contentKey{id, h})
		return stored
	}
	for i := range p.Messages {
		f := &p.forms[i]
		f.raw = p.Messages[i].Raw
		f.hash = timeline.HashOf(f.raw)
		if i < len(p.forms)-early && len(f.raw) < earlySize {
			continue
		}
		if stored(f.hash) {
			continue
		}
		if err := f.compress(s.codec); err != nil {
			return err
		}
	}
	for _, raw := range p.Contents {
		f := form{hash: timeline.HashOf(raw), raw: raw}
		if !stored(f.hash) {
			if err := f.compress(s.codec); err != nil {
				return err
			}
		}
		p.extra = append(p.extra, f)
	}
	return nil
}

func (f *form) compress(c *codec.Codecs) (err error) {
	if f.data == nil {
		if f.codec, f.data, err = c.Compress(f.raw); f.data == nil {
			f.data = []byte{}
		}
	}
	return err
}

// change is a change within its transaction. All checks come before the first
// write, so that rejecting a change needs no rollback.
type change struct {
	*prepared
	*writer
	codec *codec.Codecs

	tenantID int64 // 0 for a new tenant
	conv     *conversation
	isNew    bool // the conversation

	known int // number of messages that are stored already
	// last is the place of the last stored message, or At, and chain its hash.
	last  timeline.Place
	chain timeline.Hash
	// extend reports that new messages continue last's trunk instead of a new
	// one.
	extend  bool
	other   []otherForm
	made    map[int64]bool // contents that the change added
	release []int64        // contents that lose a reference

	applied timeline.Applied
}

func (w *change) apply() error {
	if err := w.plan(); err != nil {
		return err
	}
	if err := w.carryOut(); err != nil {
		return dirtyError{err}
	}
	return nil
}

func (w *change) plan() error {
	if err := w.load(); err != nil {
		return err
	}
	if w.Expect != nil && *w.Expect != w.conv.revision {
		return fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, w.Conversation, w.conv.revision,
			*w.Expect)
	}
	if !w.ExpectCreated.IsZero() && w.ExpectCreated.UnixMicro() != w.conv.created {
		return fmt.Errorf("%w: %q was begun again", timeline.ErrChanged, w.Conversation)
	}
	if !w.idle() {
		if err := w.planMessages(); err != nil {
			return err
		}
		if err := w.planForms(); err != nil {
			return err
		}
	}
	return w.planRecords()
}

func (w *change) carryOut() error {
	if w.tenantID == 0 {
		id, err := w.insert("INSERT INTO tenant (name) VALUES (?)", w.tenant)
		if err != nil {
			return err
		}
		w.tenantID = id
		w.tenants.Put(w.tenant, id)
	}
	for _, step := range []func() error{w.writeForms, w.writeMessages, w.writeConversation, w.writeUse, w.writeRecords,
		w.settle} {
		if err := step(); err != nil {
			return err
		}
		w.point("between statements")
	}
	return nil
}

// load reads the tenant and the conversation.
func (w *change) load() error {
	id, known := w.tenants.Get(w.tenant)
	if !known {
		var err error
		if id, known, err = w.number("SELECT id FROM tenant WHERE name = ?", w.tenant); err != nil {
			return err
		}
		if known {
			w.tenants.Put(w.tenant, id)
		}
	}
	w.tenantID = id
	if known {
		conv, err := w.conversation(id, w.Conversation)
		if err == nil {
			w.conv = conv
		}
		if !errors.Is(err, timeline.ErrNoConversation) {
			return err
		}
	}
	w.isNew = true
	w.conv = &conversation{used: map[int64]int64{}}
	return nil
}

// conversation returns a conversation of a tenant.
func (w *writer) conversation(tenant int64, name string) (*conversation, error) {
	k := conversationKey{tenant, name}
	if c, ok := w.conversations.Get(k); ok {
		return c, nil
	}
	c := &conversation{used: map[int64]int64{}}
	found, err := w.one("SELECT id, trunk, depth, revision, created, project, continues FROM conversation WHERE tenant = ? AND name = ?", func(r *rows) {
		c.id, c.head, c.revision = r.integer(0), timeline.Place{Trunk: r.integer(1), Depth: r.integer(2)}, r.integer(3)
		c.created, c.project, c.continues = r.integer(4), r.text(5), r.text(6)
	}, tenant, name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: %q", timeline.ErrNoConversation, name)
	}
	err = w.each("SELECT trunk, depth FROM conversation_trunk WHERE conversation = ?", func(r *rows) {
		c.used[r.integer(0)] = r.integer(1)
	}, c.id)
	if err != nil {
		return nil, err
	}
	w.conversations.Put(k, c)
	return c, nil
}

func (w *change) writeConversation() error {
	c, now := w.conv, w.Now.UnixMicro()
	if w.isNew {
		c.created = w.micro(w.Began)
	}
	if !w.Stay {
		c.head = w.reached()
	}
	c.revision++
	c.project, c.continues = cmp.Or(w.Project, c.project), cmp.Or(w.Continues, c.continues)
	hash := sealConversation(w.tenant, w.Conversation, c, now)
	var err error
	switch {
	case w.isNew:
		c.id, err = w.insert(`INSERT INTO conversation (tenant, name, trunk, depth, revision, created, updated, project, continues, hash)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			w.tenantID, w.Conversation, c.head.Trunk, c.head.Depth, c.revision, c.created, now, c.project, c.continues,
			hash[:])
	case w.Project != "" || w.Continues != "":
		_, err = w.exec("UPDATE conversation SET trunk = ?, depth = ?, revision = ?, updated = ?, project = ?, continues = ?, hash = ? WHERE id = ?",
			c.head.Trunk, c.head.Depth, c.revision, now, c.project, c.continues, hash[:], c.id)
	default:
		_, err = w.exec(
			"UPDATE conversation SET trunk = ?, depth = ?, revision = ?, updated = ?, hash = ? WHERE id = ?",
			c.head.Trunk, c.head.Depth, c.revision, now, hash[:], c.id)
	}
	if err != nil {
		return err // and the caches are emptied
	}
	if w.isNew {
		w.conversations.Put(conversationKey{w.tenantID, w.Conversation}, c)
	}
	w.applied.Head, w.applied.Revision = c.head, c.revision
	return nil
}

// sealConversation returns the hash of a conversation.
func sealConversation(tenant, name string, c *conversation, updated int64) timeline.Hash {
	return seal.Conversation(tenant, &timeline.Conversation{
		Name: name, Head: c.head, Revision: c.revision, Project: c.project, Continues: c.continues,
		Created: time.UnixMicro(c.created), Updated: time.UnixMicro(updated),
	})
}

// idle reports whether the change does not involve places of messages.
func (w *change) idle() bool { return w.Stay && len(w.Messages) == 0 }

// reached returns the place of the last message, or At, after the messages are
// written.
func (w *change) reached() timeline.Place {
	if n := len(w.applied.Places); n > 0 {
		return w.applied.Places[n-1]
	}
	return w.At
}

// writeUse marks the trunks on the way to the reached place as used, each up
// to where the way leaves it. If a trunk was already used that far, so were
// those before it.
func (w *change) writeUse() error {
	for p := w.reached(); !w.idle() && p.Trunk != 0 && w.conv.used[p.Trunk] < p.Depth; {
		_, used := w.conv.used[p.Trunk]
		_, err := w.exec(`INSERT INTO conversation_trunk (conversation, trunk, depth) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET depth = excluded.depth`, w.conv.id, p.Trunk, p.Depth)
		if err != nil {
			return err
		}
		w.conv.used[p.Trunk] = p.Depth
		if used {
			break
		}
		if p, err = w.origin(w.tenantID, p.Trunk); err != nil {
			return err
		}
	}
	return nil
}

// origin returns the place after which a trunk of the tenant begins.
func (w *writer) origin(tenant, trunk int64) (timeline.Place, error) {
	p, known, err := w.trunkOrigin(trunk, tenant)
	if err == nil && !known {
		err = fmt.Errorf("%w: there is no trunk %d", timeline.ErrDamaged, trunk)
	}
	return p, err
}

// micro returns a time of the change in stored precision.
func (w *change) micro(t time.Time) int64 {
	if t.IsZero() {
		t = w.Now
	}
	return t.UnixMicro()
}

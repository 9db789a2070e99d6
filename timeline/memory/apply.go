package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// change is a timeline.Change being applied. All checks come before the first
// write, so that nothing is ever rolled back.
type change struct {
	timeline.Change
	t     *tenant
	conv  *conversation
	isNew bool // the conversation

	hashes   []timeline.Hash          // of the messages' bytes
	contents map[timeline.Hash][]byte // those that records may refer to

	known int            // number of messages that exist
	last  timeline.Place // the place of the last existing one, or At
	grow  timeline.Place // the place of the first new one
	head  timeline.Place // of the conversation after the change
	raise []timeline.Place

	applied timeline.Applied
	made    []timeline.Hash // contents that were not there
	release []timeline.Hash // contents that lose a reference
}

// Apply implements timeline.Store.
func (s *Store) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if err := ctx.Err(); err != nil {
		return timeline.Applied{}, err
	}
	if err := c.Check(tenant); err != nil {
		return timeline.Applied{}, err
	}
	w := change{Change: c, hashes: make([]timeline.Hash, len(c.Messages)), contents: map[timeline.Hash][]byte{}}
	for i := range c.Messages {
		w.hashes[i] = timeline.HashOf(c.Messages[i].Raw)
	}
	for _, data := range c.Contents {
		w.contents[timeline.HashOf(data)] = data
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return timeline.Applied{}, timeline.ErrClosed
	}
	if w.t = s.tenants[tenant]; w.t == nil {
		w.t = newTenant()
	}
	if err := w.plan(s.trunks + 1); err != nil {
		return timeline.Applied{}, err
	}
	s.tenants[tenant] = w.t
	if w.isNew {
		w.t.conversations[w.conv.Name] = w.conv
	}
	w.writeMessages()
	w.writeConversation()
	w.writeRecords()
	w.settle()
	s.trunks = max(s.trunks, w.grow.Trunk)
	return w.applied, nil
}

// plan checks the change and determines its effect; number is the next trunk's.
func (w *change) plan(number int64) error {
	if w.conv = w.t.conversations[w.Conversation]; w.conv == nil {
		w.isNew = true
		w.conv = &conversation{used: map[int64]int64{}, records: map[string]map[string]*record{}}
		w.conv.Name = strings.Clone(w.Conversation)
		w.conv.Created = w.when(w.Began)
	}
	if w.Expect != nil && *w.Expect != w.conv.Revision {
		return fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, w.Conversation, w.conv.Revision,
			*w.Expect)
	}
	if !w.ExpectCreated.IsZero() && (w.isNew || !timeline.Micro(w.ExpectCreated).Equal(w.conv.Created)) {
		return fmt.Errorf("%w: %q was begun again", timeline.ErrChanged, w.Conversation)
	}
	if err := w.planMessages(number); err != nil {
		return err
	}
	return w.planRecords()
}

func (w *change) planMessages(number int64) error {
	w.head = w.conv.Head
	if w.Stay && len(w.Messages) == 0 {
		return nil
	}
	if !w.t.has(w.At) {
		return fmt.Errorf("%w: %v", timeline.ErrNoPlace, w.At)
	}
	w.last = w.At
	for w.known < len(w.Messages) {
		next, ok := w.t.under(w.last, w.Messages[w.known].Identity)
		if !ok {
			break
		}
		w.last = next
		w.known++
		w.applied.Places = append(w.applied.Places, next)
	}
	for i, want := range w.Forms {
		if i < w.known && w.t.at(w.applied.Places[i]).formOf(w.hashes[i]) != want || i >= w.known && want != 0 {
			return w.formsError(i)
		}
	}
	reached := w.last
	if n := int64(len(w.Messages) - w.known); n > 0 {
		w.grow = timeline.Place{Trunk: number, Depth: w.last.Depth + 1}
		if k := w.t.trunks[w.last.Trunk]; k != nil && k.tip() == w.last {
			w.grow.Trunk = k.number
		}
		reached = timeline.Place{Trunk: w.grow.Trunk, Depth: w.last.Depth + n}
	}
	// Every trunk on the way is used up to the place where the way leaves it. If a
	// trunk was already used that far, so were those before it.
	for p := reached; p.Trunk != 0 && w.conv.used[p.Trunk] < p.Depth; {
		w.raise = append(w.raise, p)
		if k := w.t.trunks[p.Trunk]; k != nil {
			p = k.origin
		} else {
			p = w.last // where a new trunk begins
		}
	}
	if !w.Stay {
		w.head = reached
	}
	return nil
}

// planRecords checks that everything records refer to will exist.
func (w *change) planRecords() error {
	for i := range w.Put {
		r := &w.Put[i]
		if !w.reaches(r.At) {
			return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoPlace, r.At, r.Kind, r.Key)
		}
	}
	for i := range w.Put {
		r := &w.Put[i]
		for _, h := range r.Contents {
			if _, given := w.contents[h]; !given && w.t.contents[h] == nil && !slices.Contains(w.hashes, h) {
				return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoContent, h, r.Kind, r.Key)
			}
		}
	}
	return nil
}

// reaches reports whether the conversation has used or passed a place after the
// change.
func (w *change) reaches(p timeline.Place) bool {
	if p == (timeline.Place{}) || p == timeline.AtHead() {
		return true
	}
	if _, ok := w.Appends(p); ok {
		return true
	}
	used := w.conv.used[p.Trunk]
	for _, r := range w.raise {
		if r.Trunk == p.Trunk {
			used = r.Depth
		}
	}
	first := w.last.Depth + 1 // of a trunk yet to be created
	if k := w.t.trunks[p.Trunk]; k != nil {
		first = k.origin.Depth + 1
	}
	return first <= p.Depth && p.Depth <= used
}

func (w *change) writeMessages() {
	for i := range w.known {
		w.writeForm(w.t.at(w.applied.Places[i]), i)
	}
	if w.known == len(w.Messages) {
		return
	}
	k := w.t.trunks[w.grow.Trunk]
	var before timeline.Hash
	if k == nil {
		k = &trunk{number: w.grow.Trunk, origin: w.last, users: map[*conversation]struct{}{}}
		w.t.trunks[k.number] = k
		w.t.begins[beginning{w.last, w.Messages[w.known].Identity}] = k
	}
	if m := w.t.at(w.last); m != nil {
		before = m.chain
	}
	for i := w.known; i < len(w.Messages); i++ {
		m := &w.Messages[i]
		n := message{
			identity: m.Identity,
			content:  w.hashes[i],
			format:   strings.Clone(m.Format),
			role:     strings.Clone(m.Role),
			ref:      strings.Clone(m.Ref),
			time:     w.when(m.Time),
		}
		n.chain = n.chainUnder(before)
		before = n.chain
		w.refer(n.content, m.Raw)
		k.messages = append(k.messages, n)
		w.applied.Places = append(w.applied.Places, k.tip())
		w.applied.New.Messages++
	}
	w.t.messages += int64(w.applied.New.Messages)
}

// formOf returns the form of some bytes: the one that they are, or would become.
func (m *message) formOf(h timeline.Hash) int {
	if h == m.content {
		return 0
	}
	if i := slices.Index(m.variants, h); i >= 0 {
		return i + 1
	}
	return len(m.variants) + 1
}

// formsError refuses the form of message i.
func (w *change) formsError(i int) error {
	e := &timeline.FormsError{Message: i, Places: w.applied.Places, Forms: make([][]timeline.Hash, w.known)}
	for j := range e.Forms {
		if m := w.t.at(e.Places[j]); m.content != w.hashes[j] {
			e.Forms[j] = append([]timeline.Hash{m.content}, m.variants...)
		}
	}
	return e
}

// writeForm stores the bytes of message i as a variant of m if they are new.
func (w *change) writeForm(m *message, i int) {
	if h := w.hashes[i]; m.formOf(h) > len(m.variants) {
		w.refer(h, w.Messages[i].Raw)
		m.variants = append(m.variants, h)
		w.applied.New.Variants++
		w.t.variants++
	}
}

func (w *change) writeConversation() {
	c := w.conv
	for _, p := range w.raise {
		c.used[p.Trunk] = p.Depth
		w.t.trunks[p.Trunk].users[c] = struct{}{}
	}
	c.Head = w.head
	c.Revision++
	c.Updated = timeline.Micro(w.Now)
	if w.Project != "" {
		c.Project = strings.Clone(w.Project)
	}
	if w.Continues != "" {
		c.Continues = strings.Clone(w.Continues)
	}
	w.applied.Head, w.applied.Revision = c.Head, c.Revision
}

func (w *change) writeRecords() {
	for _, k := range w.Drop {
		if r := w.conv.record(k); r != nil {
			w.release = append(w.release, r.Contents...)
			delete(w.conv.records[k.Kind], k.Key)
			w.t.records--
		}
	}
	for i := range w.Put {
		w.writeRecord(&w.Put[i])
	}
}

func (w *change) writeRecord(r *timeline.Record) {
	n := copied(r)
	n.Kind, n.Key = strings.Clone(r.Kind), strings.Clone(r.Key)
	n.Time = w.when(r.Time)
	if i, ok := w.Appends(r.At); ok {
		n.At = w.applied.Places[i]
	} else if r.At == timeline.AtHead() {
		n.At = w.head
	}
	for _, h := range n.Contents {
		w.refer(h, w.contents[h])
	}
	c := w.conv
	old := c.record(timeline.Key{Kind: n.Kind, Key: n.Key})
	if old != nil {
		w.release = append(w.release, old.Contents...)
		old.Record = n
		return
	}
	if c.records[n.Kind] == nil {
		c.records[n.Kind] = map[string]*record{}
	}
	c.written++
	c.records[n.Kind][n.Key] = &record{n, c.written}
	w.t.records++
}

// when returns a time of the change in stored precision.
func (w *change) when(t time.Time) time.Time {
	if t.IsZero() {
		t = w.Now
	}
	return timeline.Micro(t)
}

// refer adds a reference to a content; data is its bytes if it is new.
func (w *change) refer(h timeline.Hash, data []byte) {
	c := w.t.contents[h]
	if c == nil {
		c = &content{data: append([]byte{}, data...)}
		w.t.contents[h] = c
		w.t.bytes += int64(len(data))
		w.made = append(w.made, h)
	}
	c.refs++
}

// settle drops the references that the change released.
func (w *change) settle() {
	for _, h := range w.release {
		w.t.unrefer(h)
	}
	for _, h := range w.made {
		if w.t.contents[h] != nil {
			w.applied.New.Contents++
		}
	}
}

// unrefer drops a reference, and the content with the last one. It returns whether
// the content was deleted, and its size.
func (t *tenant) unrefer(h timeline.Hash) (gone bool, size int64) {
	c := t.contents[h]
	if c.refs--; c.refs > 0 {
		return false, 0
	}
	delete(t.contents, h)
	size = int64(len(c.data))
	t.bytes -= size
	for family := range c.derived {
		t.dropDerived(c, family)
	}
	return true, size
}

// chainUnder returns the chain hash of m after a message whose chain hash is
// before.
func (m *message) chainUnder(before timeline.Hash) timeline.Hash {
	return timeline.Chain(before, &timeline.Message{Identity: m.identity, Format: m.format, Role: m.role, Time: m.time,
		Ref: m.ref}, m.content)
}

package postgres

import (
	"maps"

	"github.com/oriel-context/oriel/timeline"
)

// tip is a conversation as a change of this process left it: all that the next change depends on
// if nobody else changes the conversation in between.
type tip struct {
	id      int64
	conv    timeline.Conversation
	used    map[int64]int64
	origins map[int64]timeline.Place
	at      timeline.Place // the end of its trunk
	chain   timeline.Hash  // of the message there
	written int64
	counted bool // written is known
}

type tipKey struct {
	tenant       int64
	conversation string
}

// maxTips is how many conversations are remembered at least.
const maxTips = 1 << 12

// keep remembers the conversation after a change that has appended to the end of a trunk, so
// that the next one need not read it.
func (w *change) keep() {
	key := tipKey{w.tenantID, w.Conversation}
	if w.applied.New.Messages == 0 {
		w.s.tips.Drop(key)
		return
	}
	t := tip{id: w.id, conv: w.conv, used: w.used, origins: w.origins, at: w.reached(), chain: w.chain,
		written: w.written,
		counted: w.counted || w.isNew}
	for i, n := 0, len(w.rows.uses.trunks); i < n; i++ {
		t.used[w.rows.uses.trunks[i]] = w.rows.uses.depths[i]
	}
	w.s.tips.Put(key, t)
	for h := range w.refs {
		if w.refs[h] > 0 {
			w.s.contents.Put(contentKey{w.tenantID, h}, struct{}{})
		}
	}
}

// maxGuess is the most bytes of a change that is committed together with others, which wait for
// it.
const maxGuess = 1 << 20

type contentKey struct {
	tenant int64
	hash   timeline.Hash
}

// maxContents is how many contents are remembered at least: those that many changes refer to,
// such as system prompts, are not sent again.
const maxContents = 1 << 14

// guess returns a change that is made on what this process remembers of the conversation, or
// nil if that is not enough. The statements that write it meet fewer rows than they must if the
// conversation has changed meanwhile; see isConflict.
func (s *Store) guess(p *prepared) *change {
	size := 0
	for _, raw := range p.given {
		size += len(raw)
	}
	if len(p.Messages) == 0 || len(p.Drop) > 0 || size > maxGuess {
		return nil
	}
	key := tipKey{p.tenantID, p.Conversation}
	t, ok := s.tips.Take(key) // another change of the conversation at the same time reads it
	if !ok || p.At != t.at || p.Expect != nil && *p.Expect != t.conv.Revision ||
		len(p.Put) > 0 && !t.counted ||
		!p.ExpectCreated.IsZero() && !timeline.Micro(p.ExpectCreated).Equal(t.conv.Created) {
		return nil
	}
	for _, form := range p.Forms {
		if form != 0 {
			return nil
		}
	}
	w := &change{prepared: p, s: s, transaction: &transaction{}, conv: t.conv, id: t.id, used: maps.Clone(t.used),
		origins: maps.Clone(t.origins), stored: map[timeline.Hash]bool{}, written: t.written, counted: t.counted,
		last: t.at, chain: t.chain,
		extend: true}
	w.rows.guessed = true
	for _, h := range p.asked {
		if _, ok := s.contents.Get(contentKey{p.tenantID, h}); ok {
			w.stored[h] = true
		}
	}
	if w.planRecords() != nil || w.write() != nil || w.batch.Len() > 0 {
		return nil // reading will tell
	}
	return w
}

package recall

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/oriel-context/oriel/internal/vector"
	"github.com/oriel-context/oriel/timeline"
)

const (
	// embedBatch is the number of passages that are embedded at once. It is
	// small, so that a search need not wait long.
	embedBatch = 64
	// readBatch is the number of passages whose stored vectors are read at
	// once.
	readBatch = 512
)

// Embed makes the missing vectors. Recall works meanwhile with those that
// exist. progress, if not nil, is called as the work proceeds.
func (s *Scope) Embed(ctx context.Context, progress func(done, total int)) error {
	if s.o.Model == nil {
		return errors.New("recall: the scope has no model: set Options.Model")
	}
	for {
		_, more, err := s.embedSome(ctx, nil)
		if err != nil || !more {
			return err
		}
		if progress != nil {
			total, done := s.Len()
			progress(done, total)
		}
	}
}

// awaited is a message that is to be embedded.
type awaited struct {
	content timeline.Hash
	fresh   bool // some of its passages have no stored vector yet
}

// await remembers the content of a message until it is embedded.
func (s *Scope) await(id int32, content timeline.Hash) {
	if s.o.Model == nil || content == (timeline.Hash{}) {
		return
	}
	if s.awaiting == nil {
		s.awaiting = map[int32]awaited{}
	}
	s.awaiting[id] = awaited{content: content}
}

// pending is a passage to embed.
type pending struct {
	id, message int32
	content     timeline.Hash // zero if nothing of it is stored
	text        string
	entry       []byte    // its stored vector, if any
	vector      []float32 // its new vector, if it was made
}

// embedSome adds vectors for the next passages: stored ones from from, if it
// is not nil, and at most embedBatch new ones, which it stores there. It
// returns how many were made and whether there may be more to do. If it
// returns an error with made > 0, the vectors are in the index but could not
// be stored. Vectors are added in the order of the passages, so that an index
// does not depend on how it was built.
func (s *Scope) embedSome(ctx context.Context, from *vectorStore) (made int, more bool, err error) {
	s.embedding.Lock()
	defer s.embedding.Unlock()
	limit := embedBatch
	if from != nil {
		limit = readBatch
	}
	batch := s.pending(limit)
	if len(batch) == 0 {
		return 0, false, nil
	}
	return s.embedThese(ctx, batch, from, true)
}

// embedThese adds vectors for the first passages of batch: stored ones, and at most
// embedBatch new ones. inOrder says that no passage before them lacks a vector. It returns
// how many were made, and whether vectors are in the index, also with an error if they could
// not be stored. If other processes make the vectors of all of them, it returns errElsewhere.
// The caller holds embedding.
func (s *Scope) embedThese(ctx context.Context, batch []*pending, from *vectorStore,
	inOrder bool) (made int, added bool, err error) {
	var known map[timeline.Hash]kept
	if from != nil {
		if known, err = from.read(ctx, contentsOf(batch)); err != nil {
			return 0, false, err
		}
	}
	dimensions := s.dimensions()
	if dimensions == 0 && from != nil {
		dimensions = from.dimensions
	}
	chosen, missing := choose(batch, known, &dimensions, nil, inOrder)
	var mine map[timeline.Hash]bool
	if len(missing) > 0 && from != nil {
		if mine, err = from.claim(ctx, contentsOf(missing), known); err != nil {
			return 0, false, err
		}
		if mine != nil {
			defer func() { from.unclaim(ctx, mine) }()
			if chosen, missing = choose(batch, known, &dimensions, mine, inOrder); len(chosen) == 0 {
				return 0, false, errElsewhere
			}
		}
	}
	batch = chosen
	if len(missing) > 0 {
		if err := s.embedMissing(ctx, missing, &dimensions, from, mine); err != nil {
			return 0, false, err
		}
	}
	data, err := s.keep(batch, known, inOrder)
	if err != nil {
		return 0, false, err
	}
	if from != nil {
		err = from.write(ctx, data)
	}
	if last := batch[len(batch)-1]; err == nil && s.awaits(last.message) {
		delete(mine, last.content) // the rest of the message comes next
	}
	return len(missing), true, err
}

// choose returns the passages of batch that get their vectors now, and those among them for
// which none is known. If mine is not nil, passages of other contents are left out, and if
// the order matters everything after the first such passage.
func choose(batch []*pending, known map[timeline.Hash]kept, dimensions *int, mine map[timeline.Hash]bool,
	inOrder bool) (chosen, missing []*pending) {
	for _, p := range batch {
		if k, ok := known[p.content]; ok && (*dimensions == 0 || *dimensions == k.dimensions) {
			if p.entry = k.vectors[textHash(p.text)]; p.entry != nil {
				*dimensions = k.dimensions
			}
		}
		if p.entry == nil {
			if mine != nil && !mine[p.content] && p.content != (timeline.Hash{}) {
				if inOrder {
					break
				}
				continue
			}
			if len(missing) == embedBatch {
				break
			}
			missing = append(missing, p)
		}
		chosen = append(chosen, p)
	}
	return chosen, missing
}

// embedMissing has the model make the vectors of passages.
func (s *Scope) embedMissing(ctx context.Context, missing []*pending, dimensions *int, from *vectorStore,
	mine map[timeline.Hash]bool) error {
	texts := make([]string, len(missing))
	for i, p := range missing {
		texts[i] = p.text
	}
	if from != nil {
		defer from.extend(ctx, mine)()
	}
	vectors, err := s.o.Model.Embed(ctx, texts)
	if err != nil {
		return err
	}
	if len(vectors) != len(texts) {
		return fmt.Errorf("recall: %s returned %d vectors for %d texts", s.o.Model.Name(), len(vectors), len(texts))
	}
	for i, p := range missing {
		v := fill(vectors[i])
		if err := s.checkVector(v, *dimensions); err != nil {
			return err
		}
		p.vector, *dimensions = v, len(v)
	}
	return nil
}

// awaits reports whether some passages of a message still lack a vector.
func (s *Scope) awaits(message int32) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, waits := s.awaiting[message]
	return waits
}

// dimensions returns the number of dimensions of the vectors, or 0 if there
// are none yet.
func (s *Scope) dimensions() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.vectors == nil {
		return 0
	}
	return s.vectors.Dimensions()
}

// otherDimensions is the error for a model whose vectors cannot be compared
// with the existing ones.
type otherDimensions struct {
	model     string
	were, are int
}

func (e *otherDimensions) Error() string {
	return fmt.Sprintf("recall: vectors of %s have %d dimensions, those before had %d: give another model another name",
		e.model, e.are, e.were)
}

// checkVector rejects vectors that cannot be compared with others. A
// dimensions of 0 accepts any number.
func (s *Scope) checkVector(v []float32, dimensions int) error {
	if len(v) == 0 {
		return fmt.Errorf("recall: %s returned an empty vector", s.o.Model.Name())
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("recall: %s returned a vector with the number %v", s.o.Model.Name(), x)
		}
	}
	if dimensions != 0 && dimensions != len(v) {
		return &otherDimensions{s.o.Model.Name(), dimensions, len(v)}
	}
	return nil
}

// contentsOf returns the contents of the passages in batch, without
// duplicates.
func contentsOf(batch []*pending) (contents []timeline.Hash) {
	for i := range batch {
		if c := batch[i].content; c != (timeline.Hash{}) && (i == 0 || c != batch[i-1].content) {
			contents = append(contents, c)
		}
	}
	return contents
}

// embeds reports whether a passage gets a vector.
func (s *Scope) embeds(i int32) bool {
	return s.flags[i]&(flagRemoved|flagShort) == 0
}

// embedText returns the text of a passage that is embedded.
func (s *Scope) embedText(r *textReader, i int32) string {
	name := ""
	if sp := s.messages[s.messageOf[i]].speaker; sp >= 0 && s.flags[i]&flagTool == 0 {
		name = s.people.names[sp]
	}
	return embedText(name, r.at(i))
}

// pending returns the next passages to embed.
func (s *Scope) pending(limit int) (batch []*pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, r := int32(s.embedded), s.texts.reader()
	for ; int(i) < s.texts.count() && len(batch) < limit; i++ {
		if s.vectorOf[i] >= 0 || !s.embeds(i) {
			if len(batch) == 0 {
				s.embedded = int(i) + 1
			}
			continue
		}
		m := s.messageOf[i]
		batch = append(batch, &pending{id: i, message: m, content: s.awaiting[m].content, text: s.embedText(&r, i)})
	}
	if len(batch) == 0 {
		s.awaiting = nil // the rest is too short to be embedded, or removed
	}
	return batch
}

// keep adds the vectors of a batch to the index. It returns the data to store
// for the messages that are now complete.
func (s *Scope) keep(batch []*pending, known map[timeline.Hash]kept,
	inOrder bool) (data []timeline.Derived, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, p := range batch {
		if s.flags[p.id]&flagRemoved == 0 {
			if s.vectorOf[p.id], err = s.keepVector(p); err != nil {
				return nil, err
			}
		}
		if inOrder {
			s.embedded = int(p.id) + 1
		}
		if p.content == (timeline.Hash{}) {
			continue
		}
		fresh := s.awaiting[p.message].fresh || p.entry == nil
		switch {
		case k+1 < len(batch) && batch[k+1].message == p.message, !s.endsMessage(p):
			s.awaiting[p.message] = awaited{p.content, fresh}
			continue
		case fresh && s.vectors != nil:
			if d := s.derived(p.message, known[p.content]); d != nil {
				data = append(data, timeline.Derived{Content: p.content, Data: d})
			}
		}
		delete(s.awaiting, p.message)
	}
	return data, nil
}

// endsMessage reports whether p is the last embedded passage of its message.
func (s *Scope) endsMessage(p *pending) bool {
	m := &s.messages[p.message]
	for i := p.id + 1; i < m.first+m.count; i++ {
		if s.embeds(i) {
			return false
		}
	}
	return true
}

// keepVector adds the vector of a passage to the index. The first one creates
// the index.
func (s *Scope) keepVector(p *pending) (id int32, err error) {
	var values []int8
	var scale float32
	dimensions := 0
	if p.entry != nil {
		values, scale = quantised(p.entry)
		if scale == 0 {
			return none, nil
		}
		dimensions = len(values)
	} else {
		dimensions = len(p.vector)
	}
	if s.vectors == nil {
		if s.vectors, err = vector.New(dimensions); err != nil {
			return none, err
		}
	}
	var n int
	if p.entry != nil {
		n, err = s.vectors.AddQuantised(values, scale)
	} else {
		n, err = s.vectors.Add(p.vector)
	}
	switch {
	case errors.Is(err, vector.ErrNoDirection): // the model returns no direction for this text
		return none, nil
	case err != nil:
		return none, err
	}
	return int32(n), nil
}

// derived returns the data to store for the vectors of a message, merged with
// the vectors already stored for its content.
func (s *Scope) derived(message int32, k kept) (data []byte) {
	m, dimensions := &s.messages[message], s.vectors.Dimensions()
	written, r := map[uint64]bool{}, s.texts.reader()
	for i := m.first; i < m.first+m.count; i++ {
		if !s.embeds(i) {
			continue
		}
		h := textHash(s.embedText(&r, i))
		if written[h] {
			continue
		}
		written[h] = true
		var values []int8
		var scale float32
		if id := s.vectorOf[i]; id >= 0 {
			values, scale = s.vectors.At(int(id))
		}
		data = appendVector(data, dimensions, h, values, scale)
	}
	if k.dimensions != dimensions {
		return data
	}
	stale := 0
	for _, h := range k.order {
		if !written[h] && stale < maxStale {
			data = appendKept(data, h, k.vectors[h])
			stale++
		}
	}
	return data
}

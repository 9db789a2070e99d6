package recall

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// bestPassages is how many passages a search on demand embeds that match its words.
	bestPassages = 96
	// demandBatch is how many it embeds between two looks at the time, and lateBatch how
	// many if its time was over before the first look.
	demandBatch = 8
	lateBatch   = 2
)

// onDemand adds vectors for a search: all that are stored, then those of the messages whose
// words match the query best, then others, while there is time; at least one small batch. It
// returns how many were made. What it makes is stored, so that every search leaves less to
// do.
func (s *Scope) onDemand(ctx context.Context, query string, o *RecallOptions, from *vectorStore, until time.Time) (made int, err error) {
	s.embedding.Lock()
	defer s.embedding.Unlock()
	if err := s.loadStored(ctx, from); err != nil {
		return 0, err
	}
	best, err := s.bestMessages(ctx, query, o)
	if err != nil {
		return 0, err
	}
	most := bestPassages
	for first := true; first || time.Now().Before(until); first = false {
		limit := min(demandBatch, most)
		if limit <= 0 {
			limit = demandBatch
			best = nil // now the others, in their order
		}
		if first && !time.Now().Before(until) {
			limit = lateBatch
		}
		batch := s.pendingOf(best, limit)
		if len(batch) == 0 {
			if best == nil {
				return made, nil
			}
			best, most = nil, 0
			if batch = s.pendingOf(nil, demandBatch); len(batch) == 0 {
				return made, nil
			}
		}
		n, _, err := s.embedThese(ctx, batch, from, false)
		made, most = made+n, most-len(batch)
		if errors.Is(err, errElsewhere) {
			return made, nil
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// bestMessages returns the messages whose words match a query best, the best first.
func (s *Scope) bestMessages(ctx context.Context, query string, o *RecallOptions) ([]int32, error) {
	words := RecallOptions{Mode: Keyword, Exclude: o.Exclude, Since: o.Since, Until: o.Until, Now: o.Now}
	ranked, err := s.Rank(ctx, query, words)
	if err != nil {
		return nil, err
	}
	defer s.free.Put(ranked.scores)
	s.mu.RLock()
	defer s.mu.RUnlock()
	// By the words alone: who spoke, and when, says nothing of what the rest will be like.
	copy(ranked.scores.total, ranked.scores.words)
	var out []int32
	seen := map[int32]bool{}
	for _, i := range ranked.best(2*bestPassages, ranked.allowed(&words)) {
		if m := s.messageOf[i]; !seen[m] {
			seen[m] = true
			out = append(out, m)
		}
	}
	return out, nil
}

// pendingOf returns passages without a vector, of whole messages, about limit of them or
// those of one message that has more: of the given messages, or with nil of all messages, the
// last first. Parts of a message would not be stored.
func (s *Scope) pendingOf(messages []int32, limit int) (batch []*pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.texts.reader()
	take := func(m int32) bool {
		had := len(batch)
		if batch = s.appendPending(batch, &r, m); had > 0 && len(batch) > 2*limit {
			batch = batch[:had]
			return false
		}
		return len(batch) < limit
	}
	if messages != nil {
		for _, m := range messages {
			if !take(m) {
				break
			}
		}
		return batch
	}
	for m := int32(len(s.messages)) - 1; m >= 0 && take(m); m-- {
	}
	return batch
}

// appendPending appends the passages of a message that lack a vector. The caller holds mu.
func (s *Scope) appendPending(batch []*pending, r *textReader, m int32) []*pending {
	if _, waits := s.awaiting[m]; !waits {
		return batch // it has its vectors, or has no content to store them with
	}
	for i := s.messages[m].first; i < s.messages[m].first+s.messages[m].count; i++ {
		if s.vectorOf[i] < 0 && s.embeds(i) {
			batch = append(batch, &pending{id: i, message: m, content: s.awaiting[m].content, text: s.embedText(r, i)})
		}
	}
	return batch
}

// loadStored adds the vectors of all messages whose vectors are stored. The caller holds
// embedding.
func (s *Scope) loadStored(ctx context.Context, from *vectorStore) error {
	s.mu.RLock()
	waiting := make([]int32, 0, len(s.awaiting))
	for m := range s.awaiting {
		waiting = append(waiting, m)
	}
	s.mu.RUnlock()
	slices.Sort(waiting)
	for some := range slices.Chunk(waiting, readBatch) {
		if err := s.loadSome(ctx, some, from); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scope) loadSome(ctx context.Context, messages []int32, from *vectorStore) error {
	s.mu.RLock()
	var all []*pending
	r := s.texts.reader()
	for _, m := range messages {
		all = s.appendPending(all, &r, m)
	}
	s.mu.RUnlock()
	known, err := from.read(ctx, contentsOf(all))
	if err != nil {
		return err
	}
	dimensions := s.dimensions()
	if dimensions == 0 {
		dimensions = from.dimensions
	}
	var stored []*pending // of messages of which all vectors are stored
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].message == all[0].message {
			n++
		}
		k := known[all[0].content]
		whole := k.dimensions > 0 && (dimensions == 0 || dimensions == k.dimensions)
		for i := range all[:n] {
			all[i].entry = k.vectors[textHash(all[i].text)]
			whole = whole && all[i].entry != nil
		}
		if whole {
			stored, dimensions = append(stored, all[:n]...), k.dimensions
		}
		all = all[n:]
	}
	_, err = s.keep(stored, known, false)
	return err
}

// unembedded counts the passages that have no vector and could have one.
func (s *Scope) unembedded() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for i := range s.vectorOf {
		if s.vectorOf[i] < 0 && s.embeds(int32(i)) {
			n++
		}
	}
	return n
}

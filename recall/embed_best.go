package recall

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

const (
	// bestPassages is how many passages a search on demand embeds that match its words.
	bestPassages = 96
	// demandBatch is how many it embeds at a time, and firstBatch how many at first, when it
	// does not know yet how long one takes.
	demandBatch = 8
	firstBatch  = 2
	// lateWait is how long a search waits for its first vectors if its time was over
	// before.
	lateWait = 200 * time.Millisecond
)

// onDemand adds vectors for a search: all that are stored, then those of the messages whose
// words match the query best, then others, until a time. If that is over before, it makes
// those of one short message, for at most lateWait. It returns how many were made. What it
// makes is stored, so that every search leaves less to do.
//
// On a busy machine a vector takes many times as long as on an idle one, so onDemand goes by
// how long the last ones took, leaves out messages that would take longer than there is time,
// and gives up what is not made in time.
func (s *Scope) onDemand(ctx context.Context, query string, o *RecallOptions, from *vectorStore,
	until time.Time) (made int, err error) {
	s.embedding.Lock()
	defer s.embedding.Unlock()
	if err := s.loadStored(ctx, from); err != nil {
		return 0, err
	}
	best, err := s.bestMessages(ctx, query, o)
	if err != nil {
		return 0, err
	}
	late := !time.Now().Before(until)
	if late {
		until = time.Now().Add(lateWait)
	}
	within, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	next := demand{s: s, best: best, most: bestPassages}
	batch := next.first(late)
	for len(batch) > 0 {
		began := time.Now()
		n, _, err := s.embedThese(within, batch, from, false)
		made += n
		switch {
		case errors.Is(err, errElsewhere), late && err == nil:
			return made, nil
		case err != nil && ctx.Err() == nil && within.Err() != nil:
			return made, nil // the time is over
		case err != nil:
			return made, err
		}
		each := max(1, time.Since(began)/time.Duration(max(1, n)))
		room := int(time.Until(until) / each)
		if room <= 0 {
			return made, nil
		}
		limit := min(demandBatch, room)
		batch = next.take(limit, max(limit, room/2)) // passages of long messages are longer
	}
	return made, nil
}

// demand is what a search on demand still has to embed.
type demand struct {
	s    *Scope
	best []int32 // messages whose words match best
	most int     // passages of best that are still embedded
}

// first returns a few passages that lack a vector, of long messages only if there are no
// others: a long one that takes too long would be begun again by every search.
func (d *demand) first(late bool) []*pending {
	batch := d.take(firstBatch, firstBatch)
	if late {
		return batch
	}
	for _, longest := range []int{demandBatch, embedBatch, math.MaxInt} {
		if len(batch) == 0 {
			batch = d.take(firstBatch, longest)
		}
	}
	return batch
}

// take returns about limit passages that lack a vector, at most longest. Messages that have
// more are left out.
func (d *demand) take(limit, longest int) []*pending {
	if d.most > 0 && len(d.best) > 0 {
		if batch := d.s.pendingOf(d.best, min(limit, d.most), longest); len(batch) > 0 {
			d.most -= len(batch)
			return batch
		}
	}
	return d.s.pendingOf(nil, limit, longest)
}

// bestMessages returns the messages whose words match a query best, the best first.
func (s *Scope) bestMessages(ctx context.Context, query string, o *RecallOptions) ([]int32, error) {
	words := RecallOptions{Mode: Keyword, Exclude: o.Exclude, Had: o.Had, Since: o.Since, Until: o.Until, Now: o.Now}
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

// pendingOf returns passages without a vector, of whole messages, about limit of them and at
// most longest: of the given messages, or with nil of all messages, the last first. Parts of a
// message would not be stored.
func (s *Scope) pendingOf(messages []int32, limit, longest int) (batch []*pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.texts.reader()
	take := func(m int32) bool {
		had, n := len(batch), s.lacking(m)
		switch {
		case n > longest-had:
			return had == 0
		case had > 0 && had+n > 2*limit:
			return false
		}
		batch = s.appendPending(batch, &r, m)
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

// lacking returns how many passages of a message lack a vector. The caller holds mu.
func (s *Scope) lacking(m int32) (n int) {
	if _, waits := s.awaiting[m]; !waits {
		return 0
	}
	for i := s.messages[m].first; i < s.messages[m].first+s.messages[m].count; i++ {
		if s.vectorOf[i] < 0 && s.embeds(i) {
			n++
		}
	}
	return n
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

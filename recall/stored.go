package recall

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/oriel-context/oriel/internal/keyword"
	"github.com/oriel-context/oriel/timeline"
)

// A view that does not fit into the memory of a library is searched in the store, if the
// store has passages of it (timeline.Passages): the store finds candidates by words and
// meaning, and a scope of these and the messages beside them ranks and packs as always.

const (
	// candidates is how many messages the store finds, beside is how many before and
	// after each are read with it: as many as lend it their score.
	candidates = 128
	beside     = lags / 2
	// guessedBytes is the memory that a message takes in a scope, as long as too few were
	// indexed to know, and guessedMessages how many are few.
	guessedBytes    = 2 << 10
	guessedMessages = 1000
	// covered is which part of the messages of a view must have passages.
	covered = .9
	// lookAgain is after what time a library asks the store again how much it covers.
	lookAgain = 30 * time.Second
	// directiveWord is a term of passages that state directives. No text has it.
	directiveWord = "\x01directive"
	// maxDirectives is how many messages with directives are read.
	maxDirectives = 256
)

// coverage is whether the store had passages of a scope.
type coverage struct {
	at     time.Time
	stored bool
}

// messages counts the messages of the view.
func (v *view) messages() (n int64) {
	for _, s := range v.spans() {
		n += s.Last - s.First + 1
	}
	return n
}

// spans returns the parts of trunks that the view covers.
func (v *view) spans() []timeline.Span {
	seen := make(map[int64]bool, len(v.want))
	out := make([]timeline.Span, 0, len(v.want))
	for i := range v.members {
		for _, s := range v.members[i].way {
			if !seen[s.trunk] {
				seen[s.trunk] = true
				out = append(out, timeline.Span{Trunk: s.trunk, First: s.first, Last: v.want[s.trunk]})
			}
		}
	}
	return out
}

// owners returns, by trunk, the member that covers most of it.
func (v *view) owners() map[int64]*member {
	out := make(map[int64]*member, len(v.want))
	for i := range v.members {
		for _, s := range v.members[i].way {
			if s.last == v.want[s.trunk] && out[s.trunk] == nil {
				out[s.trunk] = &v.members[i]
			}
		}
	}
	return out
}

// inStore reports whether a view is searched in the store: it is too large for memory, and
// the store has its passages. If it has not, inStore asks for them.
func (l *Library) inStore(key scopeKey, v *view) bool {
	store, ok := l.store.(timeline.Passages)
	if !ok || l.o.Model == nil || v.messages()*l.messageBytes() <= l.o.Memory {
		return false
	}
	l.mu.Lock()
	known, ok := l.coverage[key]
	l.mu.Unlock()
	if ok && time.Since(known.at) < lookAgain {
		return known.stored
	}
	stored := false
	if err := recovered(func() (err error) {
		stored, err = l.covers(store, key.tenant, v)
		return err
	}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		l.report(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.coverage) >= maxCrowded {
		clear(l.coverage)
	}
	l.coverage[key] = coverage{time.Now(), stored}
	return stored
}

// messageBytes returns the memory that a message takes in a scope.
func (l *Library) messageBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := int64(guessedMessages), int64(guessedMessages*guessedBytes)
	for e := l.order.Front(); e != nil; e = e.Next() {
		s := e.Value.(*cachedScope)
		n, bytes = n+s.live, bytes+s.bytes
	}
	return bytes / n
}

// covers reports whether the store has passages of nearly all of a view.
func (l *Library) covers(store timeline.Passages, tenant string, v *view) (bool, error) {
	to, wanted, err := store.PassagesTo(l.ctx, tenant, vectorFamily+l.o.Model.Name())
	if err != nil {
		return false, err
	}
	if !wanted {
		return false, store.WantPassages(l.ctx, tenant)
	}
	var all, have int64
	for _, s := range v.spans() {
		all += s.Last - s.First + 1
		have += max(0, min(s.Last, to[s.Trunk])-s.First+1)
	}
	return float64(have) >= covered*float64(all), nil
}

// found makes a scope of what the store finds.
func (l *Library) found(ctx context.Context, tenant string, v *view, q timeline.PassageQuery) (*Scope, error) {
	scope := NewScope(Options{Model: l.o.Model, Count: l.o.Count})
	scope.queries = l.queries
	q.Spans = v.spans()
	owners := v.owners()
	var last timeline.Place
	var reader *Reader
	run := 0
	err := l.store.(timeline.Passages).FindPassages(ctx, tenant, vectorFamily+l.o.Model.Name(), q,
		func(e *timeline.Entry) error {
			if reader == nil || e.Place.Trunk != last.Trunk || e.Place.Depth != last.Depth+1 {
				reader = &Reader{Conversation: owners[e.Place.Trunk].name}
				run++
			}
			last = e.Place
			said, ok := reader.Read(e)
			if !ok {
				return nil
			}
			// Messages of different runs are not beside one another.
			said.Session = strconv.Itoa(run)
			said.Block, said.Content = blockAt(e.Place.Trunk, e.Place.Depth), e.Content
			return scope.Add(ctx, []Message{said})
		})
	return scope, err
}

// searchStore makes the scope in which a query is searched, of what the store finds for it.
func (l *Library) searchStore(ctx context.Context, tenant string, v *view, query string, mode Mode) (*Scope, error) {
	q := timeline.PassageQuery{Messages: candidates, Around: beside}
	for _, w := range new(keyword.Analyser).Words(query) {
		q.Words = append(q.Words, w.Text)
	}
	if mode != Keyword {
		asking := &Scope{o: Options{Model: l.o.Model}, queries: l.queries}
		vector, err := asking.queryVector(ctx, query)
		if err != nil && ctx.Err() == nil {
			l.report(err)
		}
		q.Vector = vector
	}
	scope, err := l.found(ctx, tenant, v, q)
	if err != nil {
		return nil, err
	}
	if mode != Keyword {
		err = scope.loadStored(ctx, &vectorStore{store: l.store, tenant: tenant, kind: vectorFamily + l.o.Model.Name()})
	}
	return scope, err
}

// passages returns the passages of a scope's messages, as a store keeps them.
func (s *Scope) passages() (out []timeline.Passage) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, analyser := s.texts.reader(), &keyword.Analyser{}
	for m := range s.messages {
		place := placeOf(s.origins[m].block)
		for i := s.messages[m].first; i < s.messages[m].first+s.messages[m].count; i++ {
			if !s.embeds(i) {
				continue
			}
			p := timeline.Passage{Place: place, Part: int(i - s.messages[m].first)}
			for _, w := range analyser.Words(r.at(i)) {
				p.Words = append(p.Words, w.Text)
			}
			if s.flags[i]&(flagInstruction|flagPreference) != 0 {
				p.Words = append(p.Words, directiveWord)
			}
			if id := s.vectorOf[i]; id >= 0 {
				values, scale := s.vectors.At(int(id))
				p.Vector = make([]float32, len(values))
				for k, x := range values {
					p.Vector[k] = float32(x) * scale
				}
			}
			out = append(out, p)
		}
	}
	return out
}

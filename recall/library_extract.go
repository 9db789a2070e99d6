package recall

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// worthKeeping is the least number of messages that an extract is made of: a
	// conversation that has just begun is read quickly.
	worthKeeping = 4
	// keepBatch is how many extracts are stored at once.
	keepBatch = 16
	// maxUnstored is from how many bytes of extracts on that wait to be stored a library
	// makes no more. They are made when their scopes are next built.
	maxUnstored = 32 << 20
)

// ErrExtract is in failures that are reported of extracts. The messages are then read
// themselves.
var ErrExtract = errors.New("the stored words of messages")

// extracted are extracts to store.
type extracted struct {
	tenant   string
	extracts []timeline.Extract
	bytes    int
}

// indexExtract adds the beginning of a part of a member's history to the scope if the store
// has an extract of it, and returns the last message of it. Failures are reported; the
// messages are then read themselves.
func (l *Library) indexExtract(s *cachedScope, m *member, part stretch) (last int64, found bool) {
	store, ok := l.store.(timeline.Extracts)
	if !ok {
		return 0, false
	}
	x, found, err := store.Extract(l.ctx, s.key.tenant, extractKind,
		timeline.Place{Trunk: part.trunk, Depth: part.first})
	if err != nil || !found {
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			l.report(fmt.Errorf("%w: %w", ErrExtract, err))
		}
		return 0, false
	}
	messages, err := readExtract(x.Data, x.Span.Trunk, x.Span.First)
	if err != nil {
		l.report(fmt.Errorf("%w: %w", ErrExtract, err))
		return 0, false
	}
	for i := range messages {
		messages[i].Conversation = m.name
		if depth := placeOf(messages[i].Block).Depth; depth < part.first || depth > part.last {
			continue
		}
		if s.scope.Add(l.ctx, messages[i:i+1]) != nil {
			break // the library is closed
		}
	}
	return min(x.Span.Last, part.last), true
}

// extract is what will be stored of a part that is being read. It is nil if nothing will be.
type extract struct {
	timeline.Extract
	messages []Message
}

// newExtract returns an empty extract of a part, or nil if it is too small to be stored.
func newExtract(part stretch) *extract {
	if part.last-part.first+1 < worthKeeping {
		return nil
	}
	return &extract{Extract: timeline.Extract{Span: timeline.Span{Trunk: part.trunk, First: part.first,
		Last: part.last}}}
}

// newExtract returns an empty extract of a part that a scope reads. What it reads after it
// was built is not kept: it is little, and is kept when the scope is next built.
func (l *Library) newExtract(s *cachedScope, part stretch) *extract {
	if _, ok := l.store.(timeline.Extracts); !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keepsNone || s.built || l.unstored >= maxUnstored {
		return nil
	}
	return newExtract(part)
}

// add adds a message, or only its content if it says nothing.
func (x *extract) add(m *Message, says bool) {
	if x == nil {
		return
	}
	x.Contents = append(x.Contents, m.Content)
	if says {
		x.messages = append(x.messages, *m)
	}
}

// made makes the data of an extract. It reports false if it is not worth storing, too large
// or incomplete.
func (x *extract) made() bool {
	if x == nil || x.Span.Last-x.Span.First+1 != int64(len(x.Contents)) {
		return false
	}
	x.Data = makeExtract(x.Span.First, x.messages)
	return x.Data != nil
}

// takeExtract takes an extract of what a cached scope has read.
func (l *Library) takeExtract(s *cachedScope, x *extract) {
	if !x.made() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.element == nil {
		return
	}
	s.extracts = append(s.extracts, x.Extract)
	s.unstored += len(x.Data)
	l.unstored += len(x.Data)
}

// keepLater queues the extracts of a cached scope that has been built. The caller holds mu.
func (l *Library) keepLater(s *cachedScope) {
	s.built = true
	for some := range slices.Chunk(s.extracts, keepBatch) {
		k := extracted{tenant: s.key.tenant, extracts: some}
		for i := range some {
			k.bytes += len(some[i].Data)
		}
		l.keeping = append(l.keeping, k)
	}
	s.extracts, s.unstored = nil, 0 // l.unstored counts them until they are stored
	l.wake.Broadcast()
}

// keepExtracts stores extracts. A store that keeps none is not asked again.
func (l *Library) keepExtracts(k extracted) {
	l.yield()
	err := recovered(func() error {
		return l.store.(timeline.Extracts).KeepExtracts(l.ctx, k.tenant, extractKind, k.extracts)
	})
	none := keepsNone(err)
	if err != nil && !none {
		l.report(fmt.Errorf("%w: %w", ErrExtract, err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.storing = false
	l.unstored -= k.bytes
	if none {
		l.keepsNone = true
		for _, k := range l.keeping {
			l.unstored -= k.bytes
		}
		l.keeping = nil
	}
}

// keepsNone reports whether an error is that of a store that keeps no extracts.
func keepsNone(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, timeline.ErrReadOnly)
}

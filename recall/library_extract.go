package recall

import (
	"context"
	"errors"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// worthKeeping is the least number of messages that an extract is made of: a
	// conversation that has just begun is read quickly.
	worthKeeping = 4
	// keepBatch is how many extracts are stored at once.
	keepBatch = 16
	// maxUnkept is from how many bytes of extracts on that wait to be stored a scope makes
	// no more. They are made when it is next built.
	maxUnkept = 32 << 20
)

// extracted are extracts to store.
type extracted struct {
	tenant   string
	extracts []timeline.Extract
}

// indexExtract adds the beginning of a part of a member's history to the scope if the store
// has an extract of it, and returns the last message of it. Failures are reported; the
// messages are then read themselves.
func (l *Library) indexExtract(s *cachedScope, m *member, part stretch) (last int64, found bool) {
	store, ok := l.store.(timeline.Extracts)
	if !ok {
		return 0, false
	}
	x, found, err := store.Extract(l.ctx, s.key.tenant, extractKind, timeline.Place{Trunk: part.trunk, Depth: part.first})
	if err != nil || !found {
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			l.report(err)
		}
		return 0, false
	}
	messages, err := readExtract(x.Data, x.Span.Trunk, x.Span.First)
	if err != nil {
		l.report(err)
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

// newExtract returns an empty extract of a part. What a scope reads after it was built is
// not kept: it is little, and is kept when the scope is next built.
func (l *Library) newExtract(s *cachedScope, part stretch) *extract {
	if _, ok := l.store.(timeline.Extracts); !ok || part.last-part.first+1 < worthKeeping {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keepsNone || s.built || s.unstored >= maxUnkept {
		return nil
	}
	return &extract{Extract: timeline.Extract{Span: timeline.Span{Trunk: part.trunk, First: part.first, Last: part.last}}}
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

// takeExtract takes an extract that is complete.
func (s *cachedScope) takeExtract(x *extract) {
	if x == nil {
		return
	}
	if x.Data = makeExtract(x.Span.First, x.messages); x.Data != nil {
		s.extracts = append(s.extracts, x.Extract)
		s.unstored += len(x.Data)
	}
}

// keepLater queues the extracts of a cached scope that has been built. The caller holds mu.
func (l *Library) keepLater(s *cachedScope) {
	s.built = true
	for len(s.extracts) > 0 {
		n := min(keepBatch, len(s.extracts))
		l.keeping = append(l.keeping, extracted{s.key.tenant, s.extracts[:n]})
		s.extracts = s.extracts[n:]
	}
	s.extracts, s.unstored = nil, 0
	l.wake.Broadcast()
}

// keepExtracts stores extracts. A store that keeps none is not asked again.
func (l *Library) keepExtracts(k extracted) {
	l.yield()
	err := recovered(func() error {
		return l.store.(timeline.Extracts).KeepExtracts(l.ctx, k.tenant, extractKind, k.extracts)
	})
	if err == nil {
		return
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, timeline.ErrReadOnly) {
		l.mu.Lock()
		l.keeping, l.keepsNone = nil, true
		l.mu.Unlock()
		return
	}
	l.report(err)
}

// KeepWords stores the words of a conversation, so that its first search does not read the
// messages. With a store that keeps no extracts it does nothing.
func KeepWords(ctx context.Context, store timeline.Store, tenant, conversation string) error {
	if _, ok := store.(timeline.Extracts); !ok {
		return nil
	}
	failed := make(chan error, 1)
	l := NewLibrary(store, LibraryOptions{Report: func(err error) {
		select {
		case failed <- err:
		default: // the first one is enough
		}
	}})
	defer l.Close()
	l.Prepare(Where{Tenant: tenant, Conversation: conversation})
	if err := l.Wait(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

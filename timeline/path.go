package timeline

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

type sessionKey struct{ tenant, conversation string }

// maxPaths is the number of branches remembered per conversation: agents interleave
// the histories of their sub-agents.
const maxPaths = 4

// session is what a Log remembers of a conversation. Everything on its paths stays in
// the conversation's history until it is deleted, whoever else writes.
type session struct {
	key  sessionKey
	size int // as accounted; protected by Log.mu

	mu       sync.Mutex // protects all below; held during a call
	fresh    bool       // the fields below were read; a change may make them stale
	head     Place
	revision int64 // 0 if the conversation does not exist
	created  time.Time
	updated  time.Time
	paths    []*path // the latest first
}

// path is a sequence of messages from the beginning of the history on.
type path struct {
	steps []step
	way   []Place // the last place of each trunk on the path
	// forms holds all forms of messages with several forms, by index.
	forms map[int][]Hash
	// varied lists the indices of messages that had a new form in the last match.
	varied []int
}

// step is a message on a path.
type step struct {
	sum      uint64 // of its latest form; 0 if unknown
	hash     Hash   // of that form
	form     int32  // the number of that form
	identity Hash
}

// forget drops everything.
func (s *session) forget() {
	s.fresh, s.head, s.revision, s.created, s.updated, s.paths = false, Place{}, 0, time.Time{}, time.Time{}, nil
}

// refresh reads head and revision if they are not remembered, and loads a path
// if the conversation has one.
func (s *session) refresh(ctx context.Context, store Store) error {
	if s.fresh {
		return nil
	}
	now, err := store.Conversation(ctx, s.key.tenant, s.key.conversation)
	if errors.Is(err, ErrNoConversation) {
		s.forget()
		s.fresh = true
		return nil
	}
	if err != nil {
		return err
	}
	// A conversation that was deleted and begun again has another creation time.
	if !now.Created.Equal(s.created) || now.Revision < s.revision {
		s.forget()
	}
	s.head, s.revision, s.created, s.updated = now.Head, now.Revision, now.Created, now.Updated
	if len(s.paths) == 0 && s.head != (Place{}) {
		p := &path{}
		if err := p.load(ctx, store, s.key.tenant, s.head, 1, math.MaxInt64); err != nil {
			return err
		}
		s.paths = []*path{p}
	}
	s.fresh = true
	return nil
}

// match returns the path with the longest beginning in common with the history, and
// the length of that beginning.
func (a *appending) match(ctx context.Context) (*path, int, error) {
	var best *path
	known := 0
	for _, p := range a.paths {
		if n, ok := p.match(a); ok && (best == nil || n > known) {
			best, known = p, n
		}
		if best != nil && known == a.total() {
			break
		}
	}
	if i := slices.Index(a.paths, best); i > 0 {
		copy(a.paths[1:], a.paths[:i])
		a.paths[0] = best
	}
	if best != nil {
		return best, known, nil
	}
	p, err := a.load(ctx)
	return p, len(a.before), err
}

// load loads the path of the messages in before, which no remembered path contains.
func (a *appending) load(ctx context.Context) (*path, error) {
	p := &path{}
	if len(a.before) == 0 {
		return p, nil
	}
	at := Place{}
	for _, identity := range a.before {
		next, ok, err := a.log.store.Under(ctx, a.key.tenant, at, identity)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, ErrNoPlace
		}
		at = next
	}
	if err := p.load(ctx, a.log.store, a.key.tenant, at, 1, at.Depth); err != nil {
		return nil, err
	}
	a.paths = slices.Insert(a.paths, 0, p)
	return p, nil
}

// match counts the messages that the history and the path have in common and notes the
// form of each. It returns false if the path lacks any of the messages before.
func (p *path) match(a *appending) (known int, ok bool) {
	p.varied = p.varied[:0]
	if len(p.steps) < len(a.before) {
		return 0, false
	}
	for i, identity := range a.before {
		if p.steps[i].identity != identity {
			return 0, false
		}
	}
	n := min(a.total(), len(p.steps))
	for i := len(a.before); i < n; i++ {
		s, sum := &p.steps[i], a.sum(i)
		if sum != 0 && s.sum == sum {
			continue
		}
		hash := a.hash(i)
		if s.hash == hash {
			s.sum = sum
			continue
		}
		if form := slices.Index(p.forms[i], hash); form >= 0 {
			s.sum, s.hash, s.form = sum, hash, int32(form)
			continue
		}
		if a.identity(i) != s.identity {
			return i, true
		}
		p.varied = append(p.varied, i)
	}
	return n, true
}

// shown returns the first message that the store is shown: the first one with a new form,
// or the first one that is not known.
func (p *path) shown(known int) int {
	if len(p.varied) > 0 {
		return p.varied[0]
	}
	return known
}

// nextForm returns the form that new bytes of message i become.
func (p *path) nextForm(i int) int { return max(1, len(p.forms[i])) }

// expect returns the forms of the messages given to the store: those from the first new
// form on, or from known.
func (p *path) expect(known, end int) []int {
	from := p.shown(known)
	forms := make([]int, end-from)
	for i := from; i < known; i++ {
		forms[i-from] = int(p.steps[i].form)
	}
	for _, i := range p.varied {
		forms[i-from] = p.nextForm(i)
	}
	return forms
}

// vary remembers the new forms, which are stored now.
func (p *path) vary(a *appending) {
	for _, i := range p.varied {
		s := &p.steps[i]
		forms := p.forms[i]
		if forms == nil {
			forms = []Hash{s.hash}
		}
		if p.forms == nil {
			p.forms = map[int][]Hash{}
		}
		s.sum, s.hash, s.form = a.sum(i), a.hash(i), int32(len(forms))
		p.forms[i] = append(slices.Clip(forms), s.hash)
	}
}

func (p *path) place(depth int64) Place { return placeAt(p.way, depth) }

func placeAt(way []Place, depth int64) Place {
	i := sort.Search(len(way), func(i int) bool { return way[i].Depth >= depth })
	if depth <= 0 || i == len(way) {
		return Place{}
	}
	return Place{way[i].Trunk, depth}
}

// wayTo returns a way up to a depth.
func wayTo(way []Place, depth int64) (out []Place) {
	for _, w := range way {
		if w.Depth >= depth {
			if depth > 0 {
				out = append(out, Place{w.Trunk, depth})
			}
			break
		}
		out = append(out, w)
	}
	return out
}

// add appends a step.
func (p *path) add(s step, at Place) {
	p.steps = append(p.steps, s)
	if n := len(p.way); n > 0 && p.way[n-1].Trunk == at.Trunk {
		p.way[n-1] = at
	} else {
		p.way = append(p.way, at)
	}
}

// cut returns a separate path with the first n steps.
func (p *path) cut(n int) *path {
	c := &path{steps: slices.Clone(p.steps[:n]), way: wayTo(p.way, int64(n))}
	c.forms = maps.Clone(p.forms)
	maps.DeleteFunc(c.forms, func(i int, _ []Hash) bool { return i >= n })
	return c
}

// extend returns the path that a change of some messages has produced: its first known
// steps are those of p.
func (a *appending) extend(p *path, known int, messages []Message, applied *Applied) *path {
	if known == a.total() {
		return p
	}
	p = a.upTo(p, known)
	for i := known; i < a.total(); i++ {
		// The messages given to the store are the last ones.
		j := i - a.total() + len(messages)
		p.add(step{sum: a.sum(i), hash: a.hash(i), identity: messages[j].Identity}, applied.Places[j])
	}
	return p
}

// upTo returns p if it ends after its first n steps, and otherwise a new path of those.
func (a *appending) upTo(p *path, n int) *path {
	if n == len(p.steps) && slices.Contains(a.paths, p) {
		return p
	}
	p = p.cut(n)
	a.paths = slices.Insert(a.paths, 0, p)
	if len(a.paths) > maxPaths {
		a.paths = slices.Delete(a.paths, maxPaths, len(a.paths))
	}
	return p
}

// meet remembers what the store has of the messages it was given, which p does
// not contain beyond its first known steps.
func (a *appending) meet(p *path, known int, e *FormsError) {
	from := p.shown(known)
	p = a.upTo(p, known)
	for j, forms := range e.Forms {
		i := from + j
		s := step{sum: a.sum(i), hash: a.hash(i)}
		if forms != nil {
			if p.forms == nil {
				p.forms = map[int][]Hash{}
			}
			p.forms[i] = forms
			if form := slices.Index(forms, s.hash); form >= 0 {
				s.form = int32(form)
			} else { // it becomes a new form
				s = step{hash: forms[0]}
			}
		}
		if i < known {
			s.identity = p.steps[i].identity
			p.steps[i] = s
		} else {
			s.identity = a.identity(i)
			p.add(s, e.Places[j])
		}
	}
}

// learn reads the stored forms of the messages from index from up to to, which a
// change found in the store, and notes in which form each arrived.
func (a *appending) learn(ctx context.Context, p *path, from, to int) error {
	if from >= to {
		return nil
	}
	return a.log.store.Messages(ctx, a.key.tenant, p.place(int64(to)), int64(from)+1, int64(to), true,
		func(e *Entry) error {
			i := int(e.Place.Depth) - 1
			p.know(i, e)
			s := &p.steps[i]
			s.sum, s.hash = a.sum(i), a.hash(i)
			s.form = int32(max(0, slices.Index(p.forms[i], s.hash)))
			return nil
		})
}

// know stores the forms of a message that has several.
func (p *path) know(i int, e *Entry) {
	if len(e.Variants) == 0 {
		return
	}
	if p.forms == nil {
		p.forms = map[int][]Hash{}
	}
	p.forms[i] = append([]Hash{e.Content}, e.Variants...)
}

// load appends the messages with depths first to last on the way to a place.
func (p *path) load(ctx context.Context, store Store, tenant string, to Place, first, last int64) error {
	// Do not trust a stored depth with the allocation.
	p.steps = slices.Grow(p.steps, int(max(0, min(last, to.Depth, first+1<<16)-first+1)))
	return store.Messages(ctx, tenant, to, first, last, true, func(e *Entry) error {
		p.know(len(p.steps), e)
		s := step{hash: e.Content, identity: e.Identity}
		if n := len(e.Variants); n > 0 { // the latest form is the most likely one
			s.hash, s.form = e.Variants[n-1], int32(n)
		}
		p.add(s, e.Place)
		return nil
	})
}

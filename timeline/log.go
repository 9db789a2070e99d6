package timeline

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Log appends what is new of histories that are resent whole, as agents do with every
// call. It remembers the hashes of what it has seen: of the part that is known it
// takes one hash of the bytes a message, and asks the store for nothing.
//
// Several logs and other writers may work on the same conversations: who comes second
// looks again. A Log is safe for concurrent use.
type Log struct {
	store Store
	limit int

	mu       sync.Mutex // protects all below
	sessions map[sessionKey]*list.Element
	recent   list.List // of *session, the latest first
	size     int       // messages remembered, all sessions
}

// LogOptions are those of NewLog.
type LogOptions struct {
	// Messages is how many messages to remember, of all conversations together,
	// the least recent going first. 0 means 1,048,576, which take about 40 MB.
	Messages int
}

// NewLog makes a log in front of a store.
func NewLog(s Store, o LogOptions) *Log {
	if o.Messages <= 0 {
		o.Messages = 1 << 20
	}
	return &Log{store: s, limit: o.Messages, sessions: map[sessionKey]*list.Element{}}
}

// Resent is one message of a history that is resent.
type Resent struct {
	// Raw is the message as it came this time.
	Raw []byte
	// Format, Role, Ref and Time are kept where the message is new.
	Format, Role, Ref string
	Time              time.Time
}

// Appended is what came of Log.Append.
type Appended struct {
	// Head and Revision are the conversation's.
	Head     Place
	Revision int64
	// Way is the trunks that lead to the head: each place is the last of its
	// trunk on the way. See Place.
	Way []Place
	// Known counts the messages that were there in this form, Varied those that
	// were there in other forms only, New those that were not; they are the last
	// ones.
	Known, Varied, New int
	// Forms are those in which the messages came.
	Forms Forms
	// Claimed are the records that stand under the keys of the change's Claim.
	Claimed []Record
}

// Place is that of the message at a depth, 1 for the first.
func (a *Appended) Place(depth int64) Place { return placeAt(a.Way, depth) }

// Append finds how much of messages is in the history already, and writes the rest:
// it goes under the longest beginning that is known. The conversation's head becomes
// the last of messages; where there are none it stays. says is asked for the identity
// of a message by its index, only where the bytes are not known.
//
// What else is in extra (records, contents, labels, the time, whether the head stays
// where it is) is done in the same transaction; its conversation, place, messages and
// expected revision are set here. A history that is known wholly, with nothing else to
// do, changes nothing.
func (l *Log) Append(ctx context.Context, tenant, conversation string, messages []Resent, identity func(i int) Hash, extra Change) (Appended, error) {
	return l.AppendAfter(ctx, tenant, conversation, nil, messages, identity, extra)
}

// AppendAfter is Append for who sends only the end of a history: the messages before
// it are told by their identities. Where the history has them not, it is ErrNoPlace.
func (l *Log) AppendAfter(ctx context.Context, tenant, conversation string, before []Hash, messages []Resent, identity func(i int) Hash, extra Change) (Appended, error) {
	hashes := hashBuffers.Get().(*[]Hash)
	defer hashBuffers.Put(hashes)
	*hashes = (*hashes)[:0]
	for i := range messages {
		*hashes = append(*hashes, HashOf(messages[i].Raw))
	}
	s := l.session(sessionKey{tenant, conversation})
	s.mu.Lock()
	defer s.mu.Unlock()
	defer l.account(s)
	a := appending{session: s, log: l, before: before, messages: messages, hashes: *hashes, identity: identity, extra: extra}
	misses := 0
	for {
		result, err := a.try(ctx)
		switch {
		case errors.Is(err, ErrChanged):
			s.fresh = false
		case errors.Is(err, ErrNoPlace) && misses == 0:
			s.forget() // somebody deleted what was remembered
			misses++
		default:
			return result, err
		}
		if err := ctx.Err(); err != nil {
			return Appended{}, err
		}
	}
}

// hashBuffers are those of the hashes of one call.
var hashBuffers = sync.Pool{New: func() any { return new([]Hash) }}

// session finds what is remembered of a conversation, and makes it the latest.
func (l *Log) session(k sessionKey) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.sessions[k]; e != nil {
		l.recent.MoveToFront(e)
		return e.Value.(*session)
	}
	s := &session{key: k}
	l.sessions[k] = l.recent.PushFront(s)
	return s
}

// account counts what a session remembers now, and forgets the least recent ones
// while there is too much.
func (l *Log) account(s *session) {
	size := 1
	for _, p := range s.paths {
		size += len(p.steps)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.sessions[s.key]; e == nil || e.Value != s {
		return // forgotten meanwhile
	}
	l.size += size - s.size
	s.size = size
	for l.size > l.limit {
		e := l.recent.Back()
		old := e.Value.(*session)
		l.recent.Remove(e)
		delete(l.sessions, old.key)
		l.size -= old.size
	}
}

// appending is one call of Append.
type appending struct {
	*session
	log      *Log
	before   []Hash // identities of what goes before messages
	messages []Resent
	hashes   []Hash // of messages
	identity func(i int) Hash
	extra    Change
}

// len counts all messages, those before among them.
func (a *appending) len() int { return len(a.before) + len(a.messages) }

// try matches the history with what is remembered and applies the difference.
func (a *appending) try(ctx context.Context) (Appended, error) {
	if err := a.refresh(ctx, a.log.store); err != nil {
		return Appended{}, err
	}
	p, known, err := a.match(ctx)
	if err != nil {
		return Appended{}, err
	}
	from := known // the first message that the store is shown
	c := a.extra
	c.Conversation, c.Expect, c.Stay = a.key.conversation, &a.revision, c.Stay || len(a.messages) == 0
	if i := p.firstNew(); i >= 0 {
		from = i
	}
	c.At, c.Messages = p.place(int64(from)), nil
	if n := a.len() - from; n > 0 {
		c.Messages = make([]Message, n)
	}
	for i := from; i < a.len(); i++ {
		m := &a.messages[i-len(a.before)]
		c.Messages[i-from] = Message{Raw: m.Raw, Format: m.Format, Role: m.Role, Ref: m.Ref, Time: m.Time}
		if i < known {
			c.Messages[i-from].Identity = p.steps[i].identity
		} else {
			c.Messages[i-from].Identity = a.identity(i - len(a.before))
		}
	}
	head := p.place(int64(known))
	if c.Stay {
		head = a.head
	}
	if len(c.Messages) == 0 && head == a.head && !does(&c) && (a.revision > 0 || c.Stay) {
		return a.unchanged(ctx, p, known)
	}
	applied, err := a.log.store.Apply(ctx, a.key.tenant, c)
	if err != nil {
		return Appended{}, err
	}
	a.head, a.revision = applied.Head, applied.Revision
	if a.created.IsZero() {
		a.created = Micro(c.Now)
	}
	p = a.extend(p, known, from, c.Messages, &applied)
	if err := a.learn(ctx, p, from, a.len()-applied.New.Messages); err != nil {
		a.forget()
		return Appended{}, err
	}
	r := a.result(p)
	r.New, r.Varied = applied.New.Messages, applied.New.Variants
	r.Known = a.len() - r.New - r.Varied
	r.Claimed = applied.Claimed
	return r, nil
}

// does reports whether a change does anything besides messages.
func does(c *Change) bool {
	return c.Project != "" || c.Continues != "" || len(c.Put)+len(c.Claim)+len(c.Drop) > 0
}

// unchanged answers for a history that is known wholly. Nobody was asked to expect
// the revision, so ask for it.
func (a *appending) unchanged(ctx context.Context, p *path, known int) (Appended, error) {
	now, err := a.log.store.Conversation(ctx, a.key.tenant, a.key.conversation)
	if errors.Is(err, ErrNoConversation) && a.revision == 0 {
		return Appended{}, nil
	}
	if errors.Is(err, ErrNoConversation) || err == nil && now.Revision != a.revision {
		return Appended{}, ErrChanged
	}
	if err != nil {
		return Appended{}, err
	}
	r := a.result(p)
	r.Known = known
	return r, nil
}

// result tells the place and the forms of all messages, of which p begins with all.
func (a *appending) result(p *path) Appended {
	r := Appended{Head: a.head, Revision: a.revision}
	n := int64(a.len())
	for _, w := range p.way {
		if w.Depth >= n {
			if n > 0 {
				r.Way = append(r.Way, Place{w.Trunk, n})
			}
			break
		}
		r.Way = append(r.Way, w)
	}
	for i := range a.len() {
		r.Forms.Add(int(p.steps[i].form))
	}
	return r
}

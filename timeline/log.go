package timeline

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

// Log appends the new part of histories that are resent whole, as agents do on every
// call. It remembers the hashes of what it has seen: for a known message it compares the
// sum of the bytes and does not query the store.
//
// Several logs and other writers may work on the same conversations; a Log that loses
// a race reads the conversation again. A Log is safe for concurrent use.
type Log struct {
	store Store
	limit int

	mu       sync.Mutex // protects all below
	sessions map[sessionKey]*list.Element
	recent   list.List // of *session, the latest first
	size     int       // messages remembered in all sessions
}

// LogOptions are the options of NewLog.
type LogOptions struct {
	// Messages bounds how many messages are remembered over all conversations; the
	// least recently used are forgotten first. 0 means 1,048,576, which takes about 50
	// MB.
	Messages int
}

// NewLog returns a Log in front of a store.
func NewLog(s Store, o LogOptions) *Log {
	if o.Messages <= 0 {
		o.Messages = 1 << 20
	}
	return &Log{store: s, limit: o.Messages, sessions: map[sessionKey]*list.Element{}}
}

// Resent is one message of a resent history.
type Resent struct {
	// Raw is the message as received this time.
	Raw []byte
	// Sum is chat.Sum of Raw, by which a Log knows bytes that it has seen before; 0 if
	// it was not computed.
	Sum uint64
	// Format, Role, Ref and Time are stored if the message is new.
	Format, Role, Ref string
	Time              time.Time
}

// History is a history that is resent whole, or the end of one. A Log asks for a message only
// if it does not know its bytes by their sum.
type History interface {
	// Len returns the number of messages.
	Len() int
	// Sum returns chat.Sum of the bytes of message i, or 0 if it was not computed.
	Sum(i int) uint64
	// Message returns message i.
	Message(i int) Resent
	// Identity returns the identity of message i.
	Identity(i int) Hash
}

// resent is a History of messages in memory.
type resent struct {
	messages []Resent
	identity func(i int) Hash
}

func (r resent) Len() int             { return len(r.messages) }
func (r resent) Sum(i int) uint64     { return r.messages[i].Sum }
func (r resent) Message(i int) Resent { return r.messages[i] }
func (r resent) Identity(i int) Hash  { return r.identity(i) }

// HistoryOf returns the History of messages in memory.
func HistoryOf(messages []Resent, identity func(i int) Hash) History {
	return resent{messages, identity}
}

// part is the part of a History from one message to before another.
type part struct {
	History
	from, to int
}

func (p part) Len() int             { return p.to - p.from }
func (p part) Sum(i int) uint64     { return p.History.Sum(p.from + i) }
func (p part) Message(i int) Resent { return p.History.Message(p.from + i) }
func (p part) Identity(i int) Hash  { return p.History.Identity(p.from + i) }

// Appended is the result of Log.Append.
type Appended struct {
	// Head, Revision and Updated are those of the conversation.
	Head     Place
	Revision int64
	Updated  time.Time
	// Way lists the trunks that lead to the head, each by its last place on the way.
	// See Place.
	Way []Place
	// Known counts the messages that were stored in this form, Varied those stored
	// only in other forms, and New those that were not stored, which come last.
	Known, Varied, New int
	// Forms are the forms in which the messages arrived.
	Forms Forms
}

// Place returns the place of the message at a depth; the first has depth 1.
func (a *Appended) Place(depth int64) Place { return placeAt(a.Way, depth) }

// Append finds the longest beginning of messages that the history contains and writes
// the rest after it. The last of messages becomes the conversation's head; without
// messages the head stays. Append calls identity with a message's index only if it
// does not know the bytes.
//
// Everything else in extra (records, contents, labels, the time, Stay) is applied in
// the same transaction; Append sets its conversation, place, messages and expected
// revision. If the whole history is known and extra does nothing, nothing changes.
func (l *Log) Append(ctx context.Context, tenant, conversation string, messages []Resent, identity func(i int) Hash,
	extra Change) (Appended, error) {
	return l.AppendAfter(ctx, tenant, conversation, nil, messages, identity, extra)
}

// AppendAfter is Append for a client that sends only the tail of a history. before
// identifies the messages that precede it; if the history does not contain them,
// AppendAfter returns ErrNoPlace.
func (l *Log) AppendAfter(ctx context.Context, tenant, conversation string, before []Hash, messages []Resent,
	identity func(i int) Hash, extra Change) (Appended, error) {
	return l.append(ctx, tenant, conversation, before, resent{messages, identity}, extra)
}

func (l *Log) append(ctx context.Context, tenant, conversation string, before []Hash, h History,
	extra Change) (Appended, error) {
	a := appending{log: l, before: before, history: h, extra: extra}
	return a.run(ctx, sessionKey{tenant, conversation}, a.try)
}

// AppendThen is AppendAfter for a request and its reply. The request is the first of
// the messages and goes with extra, which must not have a record AtHead; the reply goes with
// the change that then returns when it is given the places and forms of the request. Both
// are one change: the places given to then are valid in records of that change only. If
// other writers keep adding forms of the request's messages, AppendThen makes two changes,
// one after the other. then may be called more than once.
func (l *Log) AppendThen(ctx context.Context, tenant, conversation string, before []Hash, h History, first int,
	extra Change, then func(*Appended) (Change, error)) (Appended, error) {
	a := appending{log: l, before: before, history: h, extra: extra}
	result, err := a.run(ctx, sessionKey{tenant, conversation},
		func(ctx context.Context) (Appended, error) { return a.tryTogether(ctx, first, then) })
	if !errors.Is(err, ErrForms) {
		return result, err
	}
	if a.stayed { // the request must not move the head either
		extra.Stay, extra.Now = true, a.then
	}
	at, err := l.append(ctx, tenant, conversation, before, part{h, 0, first}, extra)
	if err != nil {
		return Appended{}, err
	}
	rest, err := then(&at)
	if err != nil {
		return Appended{}, err
	}
	before = slices.Clip(before)
	for i := range first {
		before = append(before, h.Identity(i))
	}
	last, err := l.append(ctx, tenant, conversation, before, part{h, first, h.Len()}, rest)
	if err != nil {
		return Appended{}, err
	}
	return at.and(&last), nil
}

// and returns the outcome of two changes, of which last continues a.
func (a *Appended) and(last *Appended) Appended {
	r := *last
	n := a.Forms.Len()
	r.Known, r.Varied, r.New = a.Known+last.Known-n, a.Varied+last.Varied, a.New+last.New
	r.Forms = slices.Clone(a.Forms)
	for form := range last.Forms.All() {
		if n--; n < 0 {
			r.Forms.Add(form)
		}
	}
	return r
}

// Know takes over what a snapshot has read of a conversation, so that the log need not read
// it. What the log has of the same or a later revision stays.
func (l *Log) Know(ctx context.Context, from *Snapshot) {
	now, ok := from.Seen()
	if !ok {
		return
	}
	s := l.session(sessionKey{from.tenant, from.conversation})
	s.mu.Lock()
	defer s.mu.Unlock()
	defer l.account(s)
	if s.created.Equal(now.Created) && s.revision >= now.Revision {
		return
	}
	if !s.created.Equal(now.Created) {
		s.forget()
	}
	if len(s.paths) == 0 && now.Head != (Place{}) {
		p := &path{}
		if !from.has(now.Head) || p.load(ctx, from, from.tenant, now.Head, 1, math.MaxInt64) != nil {
			return
		}
		s.paths = []*path{p}
	}
	s.head, s.revision, s.created, s.updated, s.fresh = now.Head, now.Revision, now.Created, now.Updated, true
}

// run calls try until no other writer interferes.
func (a *appending) run(ctx context.Context, k sessionKey,
	try func(context.Context) (Appended, error)) (Appended, error) {
	hashes := hashBuffers.Get().(*[]Hash)
	defer hashBuffers.Put(hashes)
	*hashes = slices.Grow((*hashes)[:0], a.history.Len())[:a.history.Len()]
	clear(*hashes)
	a.hashes = *hashes
	s := a.log.session(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer a.log.account(s)
	a.session = s
	misses := 0
	for {
		result, err := try(ctx)
		switch {
		case errors.Is(err, ErrChanged):
			s.fresh = false
		case errors.Is(err, ErrNoPlace) && misses == 0:
			s.forget() // the remembered messages were deleted
			misses++
		default:
			return result, err
		}
		if err := ctx.Err(); err != nil {
			return Appended{}, err
		}
	}
}

// hashBuffers holds the hash buffers of calls.
var hashBuffers = sync.Pool{New: func() any { return new([]Hash) }}

// session returns the session of a conversation and marks it as the most recent.
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

// account updates the number of remembered messages for s and forgets the least recent
// sessions while there are too many.
func (l *Log) account(s *session) {
	size := 1
	for _, p := range s.paths {
		size += len(p.steps)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.sessions[s.key]; e == nil || e.Value != s {
		return // forgotten in the meantime
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

// appending is one call of AppendAfter or AppendThen.
type appending struct {
	*session
	log     *Log
	before  []Hash // identities of the messages before history
	history History
	hashes  []Hash // of history, as far as computed; see hash
	extra   Change
	// stayed reports that the last change of AppendThen left the head where it was, and
	// then is the time of that change.
	stayed bool
	then   time.Time
}

// hash returns the hash of message i.
func (a *appending) hash(i int) Hash {
	h := &a.hashes[i-len(a.before)]
	if *h == (Hash{}) {
		*h = HashOf(a.history.Message(i - len(a.before)).Raw)
	}
	return *h
}

// sum returns the sum of message i, 0 if unknown.
func (a *appending) sum(i int) uint64 { return a.history.Sum(i - len(a.before)) }

// identity returns the identity of message i.
func (a *appending) identity(i int) Hash { return a.history.Identity(i - len(a.before)) }

// total counts all messages, including those before.
func (a *appending) total() int { return len(a.before) + a.history.Len() }

// try matches the history against what is remembered and applies the difference.
func (a *appending) try(ctx context.Context) (Appended, error) {
	p, known, err := a.find(ctx)
	if err != nil {
		return Appended{}, err
	}
	return a.apply(ctx, p, known, a.extra)
}

// tryTogether is try for AppendThen. Where the store has messages in forms that the log
// does not know, it tries once more with those.
func (a *appending) tryTogether(ctx context.Context, first int,
	then func(*Appended) (Change, error)) (Appended, error) {
	for again := false; ; again = true {
		p, known, err := a.find(ctx)
		if err != nil {
			return Appended{}, err
		}
		c, err := a.together(p, known, len(a.before)+first, then)
		if err != nil {
			return Appended{}, err
		}
		r, err := a.apply(ctx, p, known, c)
		var other *FormsError
		if again || !errors.As(err, &other) {
			return r, err
		}
		a.meet(p, known, other)
	}
}

// together returns the change for the request, which ends at end, and its reply.
func (a *appending) together(p *path, known, end int, then func(*Appended) (Change, error)) (Change, error) {
	at := a.foresee(p, known, end)
	c, err := then(&at)
	if err != nil {
		return Change{}, err
	}
	a.stayed, a.then = c.Stay, c.Now
	c.Began, c.Stay = a.extra.Now, c.Stay || a.extra.Stay
	c.Project, c.Continues = cmp.Or(c.Project, a.extra.Project), cmp.Or(c.Continues, a.extra.Continues)
	c.Contents = slices.Concat(a.extra.Contents, c.Contents)
	c.Put, c.Drop = slices.Concat(a.extra.Put, c.Put), slices.Concat(a.extra.Drop, c.Drop)
	c.Forms = p.expect(known, a.total())
	return c, nil
}

// foresee returns the places and forms that the messages up to end will have. The places
// of new messages are AtDepth.
func (a *appending) foresee(p *path, known, end int) Appended {
	known = min(known, end)
	r := Appended{Head: a.head, Revision: a.revision, Updated: a.updated, Known: known, New: end - known,
		Way: wayTo(p.way, int64(known))}
	if r.New > 0 {
		r.Way = append(r.Way, AtDepth(int64(end)))
	}
	varied := p.varied
	for i := range end {
		form := 0
		switch {
		case len(varied) > 0 && varied[0] == i:
			form, varied = p.nextForm(i), varied[1:]
		case i < known:
			form = int(p.steps[i].form)
		}
		r.Forms.Add(form)
	}
	return r
}

// find reads the conversation if it is not remembered, and finds how much of
// the history is known.
func (a *appending) find(ctx context.Context) (*path, int, error) {
	if err := a.refresh(ctx, a.log.store); err != nil {
		return nil, 0, err
	}
	return a.match(ctx)
}

// apply applies a change together with the messages that are not known; the first known
// ones are on p.
func (a *appending) apply(ctx context.Context, p *path, known int, c Change) (Appended, error) {
	from := p.shown(known)
	c.Conversation, c.Expect, c.ExpectCreated, c.Stay = a.key.conversation, &a.revision, a.created, c.Stay ||
		a.history.Len() == 0
	c.At, c.Messages = p.place(int64(from)), nil
	if n := a.total() - from; n > 0 {
		c.Messages = make([]Message, n)
	}
	for i := from; i < a.total(); i++ {
		m := a.history.Message(i - len(a.before))
		c.Messages[i-from] = Message{Raw: m.Raw, Format: m.Format, Role: m.Role, Ref: m.Ref, Time: m.Time}
		if i < known {
			c.Messages[i-from].Identity = p.steps[i].identity
		} else {
			c.Messages[i-from].Identity = a.identity(i)
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
	a.head, a.revision, a.updated = applied.Head, applied.Revision, Micro(c.Now)
	if a.created.IsZero() {
		a.created = Micro(c.Now)
		if !c.Began.IsZero() {
			a.created = Micro(c.Began)
		}
	}
	if c.Forms != nil {
		p.vary(a)
		from = a.total()
	}
	p = a.extend(p, known, c.Messages, &applied)
	if err := a.learn(ctx, p, from, a.total()-applied.New.Messages); err != nil {
		a.forget()
		return Appended{}, err
	}
	r := a.result(p)
	r.New, r.Varied = applied.New.Messages, applied.New.Variants
	r.Known = a.total() - r.New - r.Varied
	return r, nil
}

// does reports whether a change does anything besides appending messages.
func does(c *Change) bool {
	return c.Project != "" || c.Continues != "" || len(c.Put)+len(c.Drop) > 0
}

// unchanged returns the result for a history that is known completely. No change
// checked the revision, so it is read from the store.
func (a *appending) unchanged(ctx context.Context, p *path, known int) (Appended, error) {
	now, err := a.log.store.Conversation(ctx, a.key.tenant, a.key.conversation)
	if errors.Is(err, ErrNoConversation) && a.revision == 0 {
		return Appended{}, nil
	}
	if errors.Is(err, ErrNoConversation) ||
		err == nil && (now.Revision != a.revision || !now.Created.Equal(a.created)) {
		return Appended{}, ErrChanged
	}
	if err != nil {
		return Appended{}, err
	}
	r := a.result(p)
	r.Known = known
	return r, nil
}

// result returns the places and forms of all messages; p begins with all of them.
func (a *appending) result(p *path) Appended {
	r := Appended{Head: a.head, Revision: a.revision, Updated: a.updated, Way: wayTo(p.way, int64(a.total()))}
	for i := range a.total() {
		r.Forms.Add(int(p.steps[i].form))
	}
	return r
}

/*
Package access decides whom a token of the store admits to a server.

Answers are remembered, so that a call does not read the store: a token that was revoked
is refused within Lifetime. While the store does not answer, tokens that it confirmed
before are accepted for up to Grace, and all others are refused with ErrUnavailable.
What is remembered is bounded, and so is the work at the store.

Tokens are looked up by their SHA-256. The time of a lookup depends on the hash alone,
which tells a guesser nothing about a token of 260 random bits.
*/
package access

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

const (
	// Lifetime is how long an answer of the store is used without asking again.
	Lifetime = 2 * time.Second
	// Grace is how long a token that the store confirmed is accepted while the store
	// does not answer.
	Grace = 24 * time.Hour
)

const (
	// brief is how long the holder of a known token waits for the store, patience how
	// long the holder of an unknown one does.
	brief, patience = 50 * time.Millisecond, 5 * time.Second
	// maxKnown and maxUnknown bound what is remembered, maxAsked what is asked at a
	// time.
	maxKnown, maxUnknown, maxAsked = 4096, 1024, 64
)

// Reasons for a refusal.
var (
	// ErrUnknown: the store has no such token.
	ErrUnknown = errors.New("the token is unknown")
	// ErrExpired: the token's time is over.
	ErrExpired = errors.New("the token has expired")
	// ErrRevoked: somebody has revoked the token.
	ErrRevoked = errors.New("the token was revoked")
	// ErrUnavailable: the store does not answer, and did not confirm the token before.
	ErrUnavailable = errors.New("the token cannot be checked, because the store does not answer")
)

// Store is what has the tokens.
type Store interface {
	Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error)
}

// Prefix begins every token, so that one in the wrong place is found.
const Prefix = "oriel_"

// size is the length of a token without its prefix.
const size = 52

// NewToken returns a random token.
func NewToken() string { return Prefix + strings.ToLower(rand.Text()+rand.Text()) }

// InText returns the first token of NewToken's form in a text, or "".
func InText(text string) string {
	for rest := text; ; {
		i := strings.Index(rest, Prefix)
		if i < 0 {
			return ""
		}
		rest = rest[i+len(Prefix):]
		n := 0
		for n < len(rest) && n < size && (rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= '2' && rest[n] <= '7') {
			n++
		}
		if n == size {
			return Prefix + rest[:n]
		}
	}
}

// Tokens checks tokens against those of a store, and remembers the results for a while. It is
// safe for concurrent use.
type Tokens struct {
	store Store
	now   func() time.Time

	mu      sync.Mutex // protects what follows
	known   map[timeline.TokenHash]answer
	unknown map[timeline.TokenHash]time.Time // when the store said so
	asked   map[timeline.TokenHash]*question
}

// answer is what the store said of a token.
type answer struct {
	token timeline.AccessToken
	// confirmed is when the store said so, checked when it was last asked, whether or
	// not it answered.
	confirmed, checked time.Time
}

// question is a lookup in progress. err is set before done is closed.
type question struct {
	done chan struct{}
	err  error
}

// New returns the tokens of a store. now is the clock; nil means time.Now.
func New(store Store, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{
		store: store, now: now,
		known: map[timeline.TokenHash]answer{}, unknown: map[timeline.TokenHash]time.Time{},
		asked: map[timeline.TokenHash]*question{},
	}
}

// Find returns a valid token by its hash, or the reason why it admits nobody.
func (t *Tokens) Find(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error) {
	a, known, q := t.look(hash)
	if q == nil && !known {
		return timeline.AccessToken{}, ErrUnknown
	}
	if q != nil {
		wait := patience
		if known {
			wait = brief
		}
		var err error
		if a, err = t.await(ctx, q, hash, a, known, wait); err != nil {
			return timeline.AccessToken{}, err
		}
	}
	now := t.now()
	switch {
	case !a.token.Revoked.IsZero():
		return timeline.AccessToken{}, ErrRevoked
	case !a.token.Valid(now):
		return timeline.AccessToken{}, ErrExpired
	case now.Sub(a.confirmed) > Grace:
		return timeline.AccessToken{}, ErrUnavailable
	}
	return a.token, nil
}

// Known reports whether the store has confirmed a token, valid or not.
func (t *Tokens) Known(hash timeline.TokenHash) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.known[hash]
	return ok
}

// look returns what is remembered of a token and, unless that is fresh, the question to
// wait for.
func (t *Tokens) look(hash timeline.TokenHash) (a answer, known bool, q *question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	a, known = t.known[hash]
	if known && now.Sub(a.checked) < Lifetime {
		return a, true, nil
	}
	if at, ok := t.unknown[hash]; ok && now.Sub(at) < Lifetime {
		return answer{}, false, nil
	}
	if q = t.asked[hash]; q != nil {
		return a, known, q
	}
	q = &question{done: make(chan struct{})}
	if len(t.asked) >= maxAsked {
		q.err = ErrUnavailable
		close(q.done)
		return a, known, q
	}
	t.asked[hash] = q
	go t.ask(hash, q)
	return a, known, q
}

// await waits for a question. If the store does not answer in time, what was known holds.
func (t *Tokens) await(ctx context.Context, q *question, hash timeline.TokenHash, a answer, known bool,
	wait time.Duration) (answer, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	err := ErrUnavailable
	select {
	case <-q.done:
		if err = q.err; err == nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			if now, ok := t.known[hash]; ok {
				return now, nil
			}
			return answer{}, ErrUnavailable // it was pushed out meanwhile
		}
	case <-ctx.Done():
	case <-timer.C:
	}
	if known && errors.Is(err, ErrUnavailable) {
		return a, nil
	}
	return answer{}, err
}

// ask asks the store and remembers its answer.
func (t *Tokens) ask(hash timeline.TokenHash, q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	token, err := t.store.Token(ctx, hash)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(q.done)
	delete(t.asked, hash)
	now := t.now()
	switch {
	case err == nil:
		makeRoom(t.known, hash, maxKnown)
		t.known[hash] = answer{token, now, now}
		delete(t.unknown, hash)
	case errors.Is(err, timeline.ErrNoToken):
		delete(t.known, hash)
		makeRoom(t.unknown, hash, maxUnknown)
		t.unknown[hash] = now
		q.err = ErrUnknown
	default:
		if a, ok := t.known[hash]; ok { // ask again after a while, not with every call
			a.checked = now
			t.known[hash] = a
		}
		q.err = ErrUnavailable
	}
}

// makeRoom removes an arbitrary entry of a full map that has not the key.
func makeRoom[V any](m map[timeline.TokenHash]V, key timeline.TokenHash, limit int) {
	if _, ok := m[key]; ok || len(m) < limit {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}

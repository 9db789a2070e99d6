package proxy

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// guesses slows down attempts to guess tokens, and limits the lookups in the store that
// they cause. The answer to a wrong token is delayed; while too many answers to an address
// are delayed, the next wrong ones are refused at once, and few are looked up at a time. It
// uses memory only for delayed answers and for requests that wait for a lookup.
//
// Behind a reverse proxy or a shared connection, everybody has the same address. So wrong
// tokens do not keep the server from serving tokens of the settings that have minToken
// characters or more, nor those that it knows from the store. An attacker may compare any
// number with these; their length protects them. A shorter token of the settings, which
// loopback allows, is refused like a wrong one while the address is crowded. A stored token
// that the server does not know yet is served if its turn to be looked up comes in time.
type guesses struct {
	delay time.Duration

	mu    sync.Mutex // protects what follows
	held  map[netip.Addr]int
	total int
	turns map[netip.Addr]*turn // of addresses that were crowded and have requests in look
}

// turn admits the lookups of an address one after the other, maxLookups at a time.
type turn struct {
	lookups chan struct{} // has an element for each lookup
	users   int           // those who look up or wait
}

// Limits of delayed answers, per address and in total; of lookups at a time for an address
// that has reached one of them; and of addresses that have turns of their own. All others
// share one.
const (
	maxHeld    = 16
	maxAllHeld = 1024
	maxLookups = 4
	maxTurns   = 1024
)

// newGuesses returns guesses whose wrong answers are delayed by a second.
func newGuesses() guesses {
	return guesses{delay: time.Second, held: map[netip.Addr]int{}, turns: map[netip.Addr]*turn{}}
}

var tooManyGuesses = &refusal{http.StatusTooManyRequests, "too_many_wrong_tokens",
	"too many requests from this address have a token that this proxy does not know: wait a second, and check X-Oriel-Token or /k/TOKEN"}

// addressOf returns a client's address; for IPv6 its network, all of which one client may
// own.
func addressOf(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	from := a.Addr().Unmap().WithZone("")
	if from.Is6() {
		if network, err := from.Prefix(64); err == nil {
			from = network.Addr()
		}
	}
	return from
}

// look calls find, which looks up in the store what an address sent: at once, or when its
// turn comes if the address is crowded. It returns false, without a call of find, if that
// takes longer than a delayed answer.
func (g *guesses) look(ctx context.Context, from netip.Addr, find func()) bool {
	t, leave := g.join(from)
	if t == nil {
		find()
		return true
	}
	defer leave()
	timer := time.NewTimer(g.delay)
	defer timer.Stop()
	select {
	case t.lookups <- struct{}{}:
		defer func() { <-t.lookups }()
		find()
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// join returns the turn of an address, nil if it is not crowded, and what ends its use.
func (g *guesses) join(from netip.Addr) (t *turn, leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.full(from) {
		return nil, nil
	}
	if g.turns[from] == nil && len(g.turns) >= maxTurns {
		from = netip.Addr{}
	}
	t = g.turns[from]
	if t == nil {
		t = &turn{lookups: make(chan struct{}, maxLookups)}
		g.turns[from] = t
	}
	t.users++
	return t, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(g.turns, from)
		}
	}
}

// crowded reports whether the next wrong token of an address is refused at once.
func (g *guesses) crowded(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full(from)
}

// full is crowded. The caller holds mu.
func (g *guesses) full(from netip.Addr) bool { return g.held[from] >= maxHeld || g.total >= maxAllHeld }

// hold waits before a wrong token is refused. It returns false at once if too many wait.
func (g *guesses) hold(ctx context.Context, from netip.Addr) bool {
	if !g.enter(from) {
		return false
	}
	defer g.leave(from)
	timer := time.NewTimer(g.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

func (g *guesses) enter(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full(from) {
		return false
	}
	g.held[from]++
	g.total++
	return true
}

func (g *guesses) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.held[from]--; g.held[from] == 0 {
		delete(g.held, from)
	}
}

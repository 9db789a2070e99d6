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
// A right token is never refused because of wrong ones: behind a reverse proxy or a shared
// connection, everybody has the same address. So an attacker may compare any number of
// tokens with those of the settings; their length protects them.
type guesses struct {
	delay   time.Duration
	lookups chan struct{} // has an element for each lookup of a crowded address

	mu    sync.Mutex // protects what follows
	held  map[netip.Addr]int
	total int
}

// Limits of delayed answers, per address and in total, and of the lookups at a time for all
// addresses that have reached one of them.
const (
	maxHeld    = 16
	maxAllHeld = 1024
	maxCrowded = 4
)

// newGuesses returns guesses whose wrong answers are delayed by a second.
func newGuesses() guesses {
	return guesses{delay: time.Second, lookups: make(chan struct{}, maxCrowded)}
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

// admit waits until something that an address sent may be looked up in the store: at once,
// unless the limit of delayed answers is reached. It returns false if that takes longer than
// a delayed answer; otherwise the caller calls leave after the lookup.
func (g *guesses) admit(ctx context.Context, from netip.Addr) (leave func(), ok bool) {
	if !g.crowded(from) {
		return func() {}, true
	}
	timer := time.NewTimer(g.delay)
	defer timer.Stop()
	select {
	case g.lookups <- struct{}{}:
		return func() { <-g.lookups }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}

// crowded reports whether the limit of delayed answers for an address is reached.
func (g *guesses) crowded(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[from] >= maxHeld || g.total >= maxAllHeld
}

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
	if g.held[from] >= maxHeld || g.total >= maxAllHeld { // as crowded
		return false
	}
	if g.held == nil {
		g.held = map[netip.Addr]int{}
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

package proxy

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// guesses slows down attempts to guess tokens. The answer to a wrong token is delayed,
// and while too many answers to an address are delayed, its tokens are not checked at
// all, so that more connections do not give more guesses. It uses memory only for delayed
// answers.
type guesses struct {
	delay time.Duration

	mu    sync.Mutex // protects what follows
	held  map[netip.Addr]int
	total int
}

// Limits of delayed answers: per address, and in total. Beyond the second, wrong tokens
// are refused at once.
const (
	maxHeld    = 16
	maxAllHeld = 1024
)

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

// tooMany reports whether the limit of delayed answers for an address is reached.
func (g *guesses) tooMany(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[from] >= maxHeld
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
	if g.held[from] >= maxHeld || g.total >= maxAllHeld {
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

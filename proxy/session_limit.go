package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Sign-ins a minute, and at once: of an address, behind which a whole team may be, and of
// all.
const (
	maxSignIns    = 20
	maxAllSignIns = 300
)

// signIns limits how often browsers sign in. Each attempt is looked up in the store, and
// each success is written there.
type signIns struct {
	mu   sync.Mutex // protects what follows
	all  rate
	from map[netip.Addr]*rate
}

// take counts a sign-in. If there is none left, it returns after which time there is one
// again. An address that has none left takes none of the others', and as no address is
// counted while all are used up, few are remembered at a time.
func (l *signIns) take(from netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == nil {
		l.from, l.all = map[netip.Addr]*rate{}, rate{maxAllSignIns, now}
	}
	if wait := l.all.refill(maxAllSignIns, now); wait > 0 {
		return wait, false
	}
	own := l.from[from]
	if own == nil {
		for a, r := range l.from {
			if now.Sub(r.at) >= time.Minute { // it may do everything again
				delete(l.from, a)
			}
		}
		own = &rate{maxSignIns, now}
		l.from[from] = own
	}
	if wait := own.refill(maxSignIns, now); wait > 0 {
		return wait, false
	}
	own.left--
	l.all.left--
	return 0, true
}

// checkSignIns refuses a sign-in beyond the limits.
func (s *Server) checkSignIns(w http.ResponseWriter, r *http.Request) *refusal {
	wait, ok := s.signIns.take(addressOf(r), s.now())
	if ok {
		return nil
	}
	return &refusal{http.StatusTooManyRequests, "too_many_sign_ins", fmt.Sprintf(
		"too many browsers have signed in during the last minute: try again in %d s", retryAfter(w.Header(), wait))}
}

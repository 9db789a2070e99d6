package proxy

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/wire"
)

// rates counts the calls of tenants that have a limit, or what else has a name and a limit. A
// tenant may make the calls of a minute at once, and then one whenever its share of a minute
// has passed.
type rates struct {
	mu      sync.Mutex // protects what follows
	tenants map[string]*rate
}

// rate is what a tenant may still do.
type rate struct {
	left float64 // calls
	at   time.Time
}

// maxRates is how many tenants are counted before those are forgotten that made no call for
// a minute: they may make all calls of a minute again.
const maxRates = 10000

// count counts a call of a tenant. If there is none left, it returns after which time there
// is one again.
func (r *rates) count(tenant string, perMinute int, now time.Time) (wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tenants[tenant]
	if t == nil {
		if r.tenants == nil || len(r.tenants) >= maxRates {
			r.forget(now)
		}
		t = &rate{left: float64(perMinute), at: now}
		r.tenants[tenant] = t
	}
	if wait := t.refill(perMinute, now); wait > 0 {
		return wait, false
	}
	t.left--
	return 0, true
}

// refill adds what has become free since the last time, and returns how long it takes until
// there is one; 0 if there is.
func (t *rate) refill(perMinute int, now time.Time) time.Duration {
	each := time.Minute / time.Duration(perMinute)
	t.left = min(float64(perMinute), t.left+max(0, now.Sub(t.at).Seconds())/60*float64(perMinute))
	t.at = now
	if t.left < 1 {
		return max(1, time.Duration((1-t.left)*float64(each)))
	}
	return 0
}

// forget removes tenants that have made no call for a minute.
func (r *rates) forget(now time.Time) {
	if r.tenants == nil {
		r.tenants = map[string]*rate{}
	}
	for name, t := range r.tenants {
		if now.Sub(t.at) >= time.Minute {
			delete(r.tenants, name)
		}
	}
}

// retryAfter sets the header that tells a client how long to wait, and returns the seconds.
func retryAfter(h http.Header, wait time.Duration) int {
	n := seconds(wait)
	h.Set("Retry-After", strconv.Itoa(n))
	return n
}

// seconds returns the whole seconds after which a wait is over.
func seconds(wait time.Duration) int { return max(1, int(math.Ceil(wait.Seconds()))) }

// costs reports whether a request counts as a call: whatever its path and however that is
// spelt, unless it only reads, deletes, or counts tokens.
func (x *exchange) costs() bool {
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
		return upgradeOf(x.r.Header) != "" && !x.takesSocket() // whose calls are counted one by one
	case http.MethodDelete, http.MethodOptions:
		return false
	}
	return x.route.counts == wire.Auto || !onlyCounts(x.route.path)
}

// onlyCounts reports whether every server reads the path of a token count as one: it has
// nothing that a server may decode, drop or take for the end of a path, and no other resource
// before that of the count.
func onlyCounts(path string) bool {
	if !plainPath.MatchString(path) {
		return false
	}
	segments := strings.Split(path, "/")
	return !slices.ContainsFunc(segments[:len(segments)-2],
		func(s string) bool { return slices.Contains(resources, s) })
}

var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$`)

// checkLimit refuses a call beyond the limit of its tenant.
func (x *exchange) checkLimit(cur *routing) *refusal {
	if !x.costs() {
		return nil
	}
	f, wait := x.s.overLimit(cur, x.tenant, x.id, x.began)
	if f != nil {
		retryAfter(x.w.Header(), wait)
	}
	return f
}

// overLimit counts a call of a tenant and refuses it beyond the tenant's limit. It also returns how
// long to wait then.
func (s *Server) overLimit(cur *routing, tenant, call string, now time.Time) (*refusal, time.Duration) {
	limit, ok := cur.calls[tenant]
	if !ok {
		limit = cur.calls["*"]
	}
	if limit <= 0 {
		return nil, 0
	}
	wait, ok := s.rates.count(tenant, limit, now)
	if ok {
		return nil, 0
	}
	s.counters.limited.Add(1)
	if s.onLimit != nil {
		s.onLimit(tenant, call)
	}
	return &refusal{http.StatusTooManyRequests, "calls_per_minute", fmt.Sprintf(
		"the limit of %d calls a minute for the tenant %.100q is reached: try again in %d s, or ask the operator for more (calls_per_minute)",
		limit, tenant, seconds(wait))}, wait
}

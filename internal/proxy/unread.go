package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// Unread counts requests of a client that were not read, so that nothing of them was
// recorded or cut, or that were refused because they could not have been.
type Unread struct {
	// Client is the first word of the header User-Agent; empty if there is none.
	Client string `json:"client"`
	Path   string `json:"path"`
	// Why says what happened to them.
	Why   string    `json:"why"`
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
}

// Why requests are not read, beside the reasons why calls pass.
const (
	unreadUpgraded = "became a WebSocket"
	unreadRefused  = "refused: a call over WebSocket"
	unreadPath     = "passed: this API is not read"
	unreadBody     = "passed: the body cannot be read"
)

// unreadPaths end the paths of requests that have models answer and are not read.
var unreadPaths = []string{"/completions", "/complete", "/batches", "/responses/compact", "/realtime", "/runs"}

// The bounds of what is told apart, by tenant and in all. Further requests count together.
const (
	maxUnread        = 16
	maxUnreadTenants = 64
)

// unreads counts unread requests by tenant. The zero value is ready for use.
type unreads struct {
	mu sync.Mutex // protects of
	of map[string]map[Unread]*Unread
}

// add counts a request; first reports whether it is the first of its kind.
func (u *unreads) add(tenant string, key Unread, now time.Time) (first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]map[Unread]*Unread{}
	}
	all := u.of[tenant]
	if all == nil {
		if len(u.of) >= maxUnreadTenants {
			return false
		}
		all = map[Unread]*Unread{}
		u.of[tenant] = all
	}
	if all[key] == nil && len(all) >= maxUnread {
		key = Unread{Client: "others", Path: "others", Why: "not read"}
	}
	n := all[key]
	if first = n == nil; first {
		n = &Unread{Client: key.Client, Path: key.Path, Why: key.Why}
		all[key] = n
	}
	n.Count++
	n.Last = now.UTC()
	return first
}

// Unread returns the requests of a tenant since the start that were not read, the most
// frequent first.
func (s *Server) Unread(tenant string) []Unread {
	s.unreads.mu.Lock()
	defer s.unreads.mu.Unlock()
	out := []Unread{}
	for _, n := range s.unreads.of[cmp.Or(tenant, timeline.Local)] {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Why, b.Why))
	})
	return out
}

// whyUnread returns why a request was not read, or "" if it was, or did not have to be.
func (x *exchange) whyUnread() string {
	switch f, _ := x.err.(*refusal); {
	case x.status == http.StatusSwitchingProtocols:
		return unreadUpgraded
	case f != nil && f.status == http.StatusUpgradeRequired:
		return unreadRefused
	case f != nil:
		return ""
	case x.passed != "":
		return "passed: " + x.passed
	case x.guard != nil && unrecorded(x.w.Header()):
		return unreadBody
	case !x.isCall() && x.s.engine != nil && x.r.Method == http.MethodPost && x.route.counts == wire.Auto && endsUnread(x.route.path):
		return unreadPath
	}
	return ""
}

// unrecorded reports whether the headers of an answer are those of a call that the engine
// neither recorded nor cut.
func unrecorded(h http.Header) bool {
	return h.Get("X-Oriel-Action") == "error" && h.Get("X-Oriel-Tokens-Before") == "" && h.Get("X-Oriel-Conversation") == ""
}

func endsUnread(path string) bool {
	path = strings.ToLower(strings.TrimRight(path, "/"))
	return slices.ContainsFunc(unreadPaths, func(end string) bool { return strings.HasSuffix(path, end) })
}

// noteUnread counts a request that was not read, and warns of the first of its kind.
func (x *exchange) noteUnread() {
	why := x.whyUnread()
	if why == "" || x.noted {
		return
	}
	x.noted = true
	keys := secret.OfRefused(x.r.Header, x.r.URL.RawQuery)
	name := func(text string) string { return clip.To(keys.Clean(clip.To(text, clip.Text)), clip.Name/2) }
	client, _, _ := strings.Cut(x.r.Header.Get("User-Agent"), " ")
	key := Unread{Client: name(client), Path: name(x.route.path), Why: why}
	if x.s.unreads.add(cmp.Or(x.tenant, timeline.Local), key, x.s.now()) {
		x.s.log.Warn("a client's requests are not read: nothing of them is recorded or cut", "client", key.Client, "path", key.Path, "why", why, "id", x.id)
	}
}

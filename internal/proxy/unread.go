package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/forward"
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
	// Why is what happened to them.
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
	unreadSigned   = "passed: " + forward.PassedSigned
)

// unreadPaths end the paths of requests that have models answer and are not read.
var unreadPaths = []string{"/completions", "/complete", "/batches", "/responses/compact", "/realtime", "/runs",
	":generatecontent", ":streamgeneratecontent", "/converse", "/converse-stream", "/invoke",
	"/invoke-with-response-stream", "/interactions", "/api/generate"}

// The bounds of what is told apart, by tenant and in all. Further requests count together.
const (
	maxUnread        = 16
	maxUnreadTenants = 64
)

// unreads counts unread requests by tenant. The zero value is ready for use.
type unreads struct {
	mu sync.Mutex // protects of
	of map[string]map[Unread]*unread
}

// unread is an Unread; settled reports that the client has used HTTP since it was refused a
// WebSocket.
type unread struct {
	Unread
	settled bool
}

// add counts a request; first reports whether it is the first of its kind.
func (u *unreads) add(tenant string, key Unread, now time.Time) (first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]map[Unread]*unread{}
	}
	all := u.of[tenant]
	if all == nil {
		if len(u.of) >= maxUnreadTenants {
			return false
		}
		all = map[Unread]*unread{}
		u.of[tenant] = all
	}
	if all[key] == nil && len(all) >= maxUnread {
		key = Unread{Client: "others", Path: "others", Why: "not read"}
	}
	n := all[key]
	if first = n == nil; first {
		n = &unread{Unread: Unread{Client: key.Client, Path: key.Path, Why: key.Why}}
		all[key] = n
	}
	n.Count++
	n.Last, n.settled = now.UTC(), false
	return first
}

// settle notes that a call of a client was read, so that it does not need the WebSocket that it
// was refused on the same path.
func (u *unreads) settle(tenant, client, path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.of[tenant][Unread{Client: client, Path: path, Why: unreadRefused}]; n != nil {
		n.settled = true
	}
}

// empty reports whether no request of a tenant was counted.
func (u *unreads) empty(tenant string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.of[tenant]) == 0
}

// Unread returns the requests of a tenant since the start that were not read, the most
// frequent first. A client that was refused a WebSocket and then used HTTP is not among them.
func (s *Server) Unread(tenant string) []Unread {
	s.unreads.mu.Lock()
	defer s.unreads.mu.Unlock()
	out := []Unread{}
	for _, n := range s.unreads.of[cmp.Or(tenant, timeline.Local)] {
		if !n.settled {
			out = append(out, n.Unread)
		}
	}
	slices.SortFunc(out, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Why, b.Why))
	})
	return out
}

// whyUnread returns why a request was not read, or "" if it was, or did not have to be.
func (x *exchange) whyUnread() string {
	switch f, _ := x.err.(*refusal); {
	case x.reads:
		return ""
	case x.status == http.StatusSwitchingProtocols:
		return unreadUpgraded
	case f != nil && f.status == http.StatusUpgradeRequired:
		return unreadRefused
	case f != nil:
		return ""
	case x.call.Passed() != "":
		return "passed: " + x.call.Passed()
	case x.call.Begun() && unrecorded(x.w.Header()):
		return unreadBody
	case !x.isCall() && x.s.engine != nil && x.r.Method == http.MethodPost && x.route.counts == wire.Auto &&
		endsUnread(x.route.path):
		if forward.Signed(x.r) {
			return unreadSigned
		}
		return unreadPath
	}
	return ""
}

// unrecorded reports whether the headers of an answer are those of a call that the engine
// neither recorded nor cut.
func unrecorded(h http.Header) bool {
	return h.Get("X-Oriel-Action") == "error" && h.Get("X-Oriel-Tokens-Before") == "" &&
		h.Get("X-Oriel-Conversation") == ""
}

func endsUnread(path string) bool {
	path = strings.ToLower(strings.TrimRight(path, "/"))
	return slices.ContainsFunc(unreadPaths, func(end string) bool { return strings.HasSuffix(path, end) })
}

func (x *exchange) tenantOrLocal() string { return cmp.Or(x.tenant, timeline.Local) }

// noteUnread counts a request that was not read, and logs the first of its kind.
func (x *exchange) noteUnread() {
	why, tenant := x.whyUnread(), x.tenantOrLocal()
	read := why == "" && x.call.Begun() && x.err == nil
	if x.noted || why == "" && (!read || x.s.unreads.empty(tenant)) {
		return
	}
	x.noted = true
	keys := secret.OfRefused(x.r.Header, x.r.URL.RawQuery)
	name := func(text string) string { return clip.To(keys.Clean(clip.To(text, clip.Text)), clip.Name/2) }
	client, _, _ := strings.Cut(x.r.Header.Get("User-Agent"), " ")
	key := Unread{Client: name(client), Path: name(x.route.path), Why: why}
	switch {
	case read:
		x.s.unreads.settle(tenant, key.Client, key.Path)
	case !x.s.unreads.add(tenant, key, x.s.now()):
	case why == unreadRefused: // most clients use HTTP then
		x.s.log.Info("a client asked for a WebSocket and is told to use HTTP", "client", key.Client, "path", key.Path,
			"id", x.id)
	default:
		x.s.log.Warn("a client's requests are not read: nothing of them is recorded or cut", "client", key.Client,
			"path", key.Path, "why", why, "id", x.id)
	}
}

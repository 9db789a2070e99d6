package proxy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/timeline"
)

// A browser cannot send a header with the first request for a page. The page, which holds
// no data, is served to everybody; it posts a token that a person gives it to
// /oriel/session and gets a cookie. A link may carry the token in its fragment
// (/oriel/#token=TOKEN), which no server sees; the page asks before it uses one, so that no
// other site can put a browser into a tenant of its choice.
//
// The cookie does not contain the token, because browsers send a cookie to all ports of a
// host. It is a random text. The store holds its hash, like that of a token, so all servers
// on a store accept it. It is valid for Oriel's own paths only, and ends with its token,
// after sessionTime, or when the person signs out.
const (
	consolePath    = "/oriel/"
	sessionPath    = "/oriel/session"
	loginParameter = "token"
	sessionTime    = 30 * 24 * time.Hour
	// sessionWait limits how long the store may take to keep or end a session.
	sessionWait = 5 * time.Second
	// maxLogin limits the body of a login.
	maxLogin = 4 << 10
	// maxSignIns limits the sign-ins a minute with one token, as each is written to the
	// store. Wrong tokens are limited by guesses.
	maxSignIns = 20
)

// isPage reports whether a path is a file of the console, which has no data.
func isPage(method, path string) bool {
	if method != http.MethodGet && method != http.MethodHead {
		return false
	}
	name, ok := strings.CutPrefix(path, "/oriel/ui/")
	return path == consolePath || path == "/oriel" ||
		ok && !strings.ContainsAny(name, "/%") // as it is written, escapes and all
}

// cookieName returns the name of the cookie, which differs between servers of one host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || port == "" {
		return "oriel"
	}
	return "oriel_" + port
}

// sessionHash returns the hash under which the store has a session: that of the cookie and
// of the token with which the browser signed in.
func sessionHash(cookie string, parent timeline.TokenHash) timeline.TokenHash {
	return sha256.Sum256(append([]byte("oriel session "+cookie+" "), parent[:]...))
}

// newCookie returns the value of a new cookie: random bytes and, for a stored token, the
// token's hash, which reveals nothing about a random token. It does not contain the hash of
// any other token, because people choose those.
func newCookie(parent timeline.TokenHash, stored bool) string {
	value := make([]byte, 32, 64)
	rand.Read(value) // it never fails
	if stored {
		value = append(value, parent[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(value)
}

// parents returns the cookie of a request, and the tokens with which its browser may have
// signed in.
func (cur *routing) parents(r *http.Request) (cookie string, parents []timeline.TokenHash) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return "", nil
	}
	value, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return "", nil
	}
	switch len(value) {
	case 32:
		for i := range cur.tokens {
			parents = append(parents, cur.tokens[i].hash)
		}
	case 64:
		parents = []timeline.TokenHash{timeline.TokenHash(value[32:])}
	}
	return c.Value, parents
}

// session returns the access of a browser that has signed in, and the hash of its session.
// A browser that has not, or whose session has ended, has an access without a tenant. If the
// store does not answer, session returns a refusal: nobody knows whether there is a session.
// It also refuses cookies that the store does not have, if many come from an address.
func (s *Server) session(r *http.Request, t *route, guess bool) (Access, timeline.TokenHash, *refusal) {
	none := timeline.TokenHash{}
	if !t.own {
		return Access{}, none, nil
	}
	cur := s.routing.Load()
	cookie, parents := cur.parents(r)
	known := slices.IndexFunc(parents,
		func(parent timeline.TokenHash) bool { return s.sessions.Known(sessionHash(cookie, parent)) })
	if known >= 0 {
		parents = parents[known : known+1] // the store need not be asked for others
	}
	// Whoever has no token can send any cookie, and each is looked up in the store.
	from := addressOf(r)
	var a Access
	var hash timeline.TokenHash
	var err error
	find := func() { a, hash, err = s.findSession(r.Context(), cur, cookie, parents) }
	limited := guess && known < 0 && len(parents) > 0 && s.needsToken(cur)
	if !limited {
		find()
	} else if !s.cookies.look(r.Context(), from, find) {
		return Access{}, none, tooManyGuesses
	}
	switch {
	case errors.Is(err, access.ErrUnavailable):
		return Access{}, none, refusedToken(err)
	case errors.Is(err, access.ErrUnknown) && limited && !s.cookies.hold(r.Context(), from):
		return Access{}, none, tooManyGuesses
	}
	return a, hash, nil
}

// findSession returns the access of the cookie of a browser that signed in with one of some
// tokens, and the hash of its session. The error is access.ErrUnknown if there is no such
// session.
func (s *Server) findSession(ctx context.Context, cur *routing, cookie string,
	parents []timeline.TokenHash) (Access, timeline.TokenHash, error) {
	unknown := true
	for _, parent := range parents {
		hash := sessionHash(cookie, parent)
		found, err := s.sessions.Find(ctx, hash)
		unknown = unknown && errors.Is(err, access.ErrUnknown)
		if err == nil && found.Role == timeline.RoleConsole {
			var a Access
			if a, err = s.find(ctx, cur, parent); err == nil && a.Tenant == found.Tenant {
				return a, hash, nil
			}
		}
		if errors.Is(err, access.ErrUnavailable) {
			return Access{}, timeline.TokenHash{}, err // the others would wait as long
		}
	}
	if unknown {
		return Access{}, timeline.TokenHash{}, access.ErrUnknown
	}
	return Access{}, timeline.TokenHash{}, nil
}

// redirectLogin answers /oriel/?token=TOKEN, an older form of the link, with the address at
// which the page asks.
func redirectLogin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Location", consolePath+"#"+loginParameter+"="+url.PathEscape(r.URL.Query().Get(loginParameter)))
	w.WriteHeader(http.StatusSeeOther)
}

// serveSession answers /oriel/session: GET returns the tenant and role of the request, POST
// signs a browser in with a token, DELETE signs it out.
func (s *Server) serveSession(w http.ResponseWriter, r *http.Request, t *route) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	var f *refusal
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		f = s.whoami(w, r, t)
	case http.MethodPost:
		f = s.signIn(w, r)
		s.counters.refusedSignIns.add(f)
	case http.MethodDelete:
		f = s.signOut(w, r, t)
	default:
		h.Set("Allow", "GET, HEAD, POST, DELETE")
		f = &refusal{http.StatusMethodNotAllowed, "method_not_allowed",
			"a session is read with GET, begun with POST and ended with DELETE: use one of them"}
	}
	if f != nil {
		closeUnread(w, r)
		refuseProblem(w, f)
	}
}

// writeSession writes the tenant and role of a request. signedIn reports that they come from
// a cookie.
func writeSession(w http.ResponseWriter, a Access, signedIn bool) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(struct {
		Tenant   string `json:"tenant"`
		Role     string `json:"role"`
		SignedIn bool   `json:"signed_in"`
	}{a.Tenant, a.Role, signedIn})
}

func (s *Server) whoami(w http.ResponseWriter, r *http.Request, t *route) *refusal {
	a, f := s.identify(s.routing.Load(), r, t) // the page asks before it has a token
	if f != nil {
		return f
	}
	signedIn := false
	if tokenOf(r, t) == "" {
		known, _, _ := s.session(r, t, true)
		signedIn = known != Access{}
	}
	writeSession(w, a, signedIn)
	return nil
}

var errNotJSON = &refusal{http.StatusUnsupportedMediaType, "not_json",
	"the request is not one of Oriel's own page: send the header Content-Type: application/json, which no form of another page can send"}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) *refusal {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errNotJSON
	}
	var order struct {
		Token string `json:"token"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLogin))
	if err != nil || json.Unmarshal(body, &order) != nil || order.Token == "" {
		return &refusal{http.StatusBadRequest, "no_token", "the body has no token: send {\"token\":\"TOKEN\"}"}
	}
	cur := s.routing.Load()
	asked := r.Clone(r.Context())
	asked.Header.Del("Authorization")
	asked.Header.Set("X-Oriel-Token", order.Token)
	a, f := s.check(cur, asked, &route{own: true}, true)
	if f != nil {
		return f
	}
	if !s.usesToken(cur, order.Token) {
		writeSession(w, a, false) // none is needed here
		return nil
	}
	parent := timeline.HashToken(order.Token)
	if wait, ok := s.signIns.count(string(parent[:]), maxSignIns, s.now()); !ok {
		return &refusal{http.StatusTooManyRequests, "too_many_sign_ins", fmt.Sprintf(
			"too many browsers have signed in with this token during the last minute: try again in %d s",
			retryAfter(w.Header(), wait))}
	}
	_, configured := cur.tokens.tenant(order.Token)
	cookie := newCookie(parent, !configured)
	now := s.now()
	ctx, cancel := context.WithTimeout(r.Context(), sessionWait)
	defer cancel()
	err = s.sessionStore.AddToken(ctx, timeline.AccessToken{
		Hash: sessionHash(cookie, parent), Tenant: a.Tenant, Role: timeline.RoleConsole, Created: now,
		Expires: now.Add(sessionTime),
	})
	if err != nil {
		s.log.Error("a session of a browser cannot be kept", "error", err)
		return refusedToken(access.ErrUnavailable)
	}
	// The former session ends last, so that a failure leaves the browser with one. The cookie
	// of the new one is not given to anybody then.
	if err := s.endFormer(ctx, cur, r); err != nil {
		s.log.Error("the former session of a browser cannot be ended", "error", err)
		return refusedToken(access.ErrUnavailable)
	}
	setCookie(w, r, cookie, int(sessionTime/time.Second))
	writeSession(w, a, true)
	return nil
}

// endFormer ends the previous session of a browser. The new cookie replaces the old one, so
// nobody could sign the old session out later.
func (s *Server) endFormer(ctx context.Context, cur *routing, r *http.Request) error {
	cookie, parents := cur.parents(r)
	for _, parent := range parents {
		err := s.sessionStore.RevokeToken(ctx, sessionHash(cookie, parent), s.now())
		if err != nil && !errors.Is(err, timeline.ErrNoToken) {
			return err
		}
	}
	return nil
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request, t *route) *refusal {
	if r.Header.Get("X-Oriel-Console") == "" {
		return &refusal{http.StatusForbidden, "header_missing",
			"the request is not one of Oriel's own page: send the header X-Oriel-Console: 1"}
	}
	a, hash, f := s.session(r, t, true)
	if f != nil {
		return f // with the cookie, so that the person can try again
	}
	if a != (Access{}) {
		ctx, cancel := context.WithTimeout(r.Context(), sessionWait)
		defer cancel()
		if err := s.sessionStore.RevokeToken(ctx, hash, s.now()); err != nil && !errors.Is(err, timeline.ErrNoToken) {
			s.log.Error("a session of a browser cannot be ended", "error", err)
			return refusedToken(access.ErrUnavailable)
		}
	}
	setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: consolePath, MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil ||
			r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/timeline"
)

// TokenStore has tokens by their hashes, and the sessions of browsers. timeline.Store is one.
type TokenStore interface {
	Token(ctx context.Context, hash timeline.TokenHash) (timeline.AccessToken, error)
	AddToken(ctx context.Context, t timeline.AccessToken) error
	RevokeToken(ctx context.Context, hash timeline.TokenHash, at time.Time) error
}

// Access is what a request may do.
type Access struct {
	// Tenant is whose history the request works on.
	Tenant string
	// Role is timeline.RoleCall or timeline.RoleRead.
	Role string
}

type accessKey struct{}

// AccessOf returns the access of a request that Options.Console serves. For any other
// request it returns the local user's access.
func AccessOf(ctx context.Context) Access {
	if a, ok := ctx.Value(accessKey{}).(Access); ok {
		return a
	}
	return local
}

// TenantOf returns the tenant of a request that Options.Console serves.
func TenantOf(ctx context.Context) string { return AccessOf(ctx).Tenant }

// local is the access of the machine's own user.
var local = Access{timeline.Local, timeline.RoleCall}

// Kinds of refusals: for no token, and for a wrong one.
const (
	tokenMissing = "token_missing"
	tokenUnknown = "token_unknown"
)

// needsToken reports whether a request without a token is refused.
func (s *Server) needsToken(cur *routing) bool { return !s.loopback || len(cur.tokens) > 0 }

// hasTokens reports whether requests may have a token of Oriel's.
func (s *Server) hasTokens(cur *routing) bool { return s.stored != nil || len(cur.tokens) > 0 }

// tokenOf returns the token of a request, or "".
func tokenOf(r *http.Request, t *route) string {
	token := r.Header.Get("X-Oriel-Token")
	if token == "" {
		token = t.token
	}
	if token == "" && t.own {
		// Only for Oriel's own paths: elsewhere the bearer is the provider's key.
		token = bearerOf(r.Header)
	}
	return token
}

// bearerOf returns the bearer token of a request, or "". Other schemes are not for Oriel: a
// reverse proxy that asks for a password sends it on as Basic.
func bearerOf(h http.Header) string {
	for _, v := range h["Authorization"] {
		if scheme, token, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(token)
		}
	}
	return ""
}

// usesToken reports whether a token decides about the access of a request. On loopback,
// where a request needs none, a token that does not have the form of a stored one is
// ignored: the client may have it for another server.
func (s *Server) usesToken(cur *routing, token string) bool {
	return s.needsToken(cur) || s.stored != nil && isStored(token)
}

// isStored reports whether a token has the form of a stored one.
func isStored(token string) bool { return token != "" && access.InText(token) == token }

// authorise returns the access of a request.
func (s *Server) authorise(cur *routing, r *http.Request, t *route) (Access, *refusal) {
	a, f := s.check(cur, r, t, true)
	s.counters.refusedTokens.add(f)
	return a, f
}

// identify is authorise for requests that are answered without a token, too: they are
// counted only if they have a wrong one.
func (s *Server) identify(cur *routing, r *http.Request, t *route) (Access, *refusal) {
	a, f := s.check(cur, r, t, true)
	if f != nil && f.kind != tokenMissing {
		s.counters.refusedTokens.add(f)
	}
	return a, f
}

// check is authorise without counting; guess is whether the request may be a guess, which is
// slowed down.
func (s *Server) check(cur *routing, r *http.Request, t *route, guess bool) (Access, *refusal) {
	token := tokenOf(r, t)
	if token == "" {
		if a, _, f := s.session(r, t, guess); f != nil || a != (Access{}) {
			return a, f
		}
	}
	switch {
	case s.usesToken(cur, token):
	case t.own:
		return local, nil // checkOrigin has looked
	default:
		return local, cur.checkPage(r)
	}
	if token == "" {
		return Access{}, &refusal{http.StatusUnauthorized, tokenMissing,
			"this proxy needs its own token, in addition to the provider's key: send it as the header X-Oriel-Token, or put /k/TOKEN before the path in the base URL"}
	}
	from, err := addressOf(r), access.ErrUnknown
	if tenant, ok := cur.tokens.tenant(token); ok {
		if guess && utf8.RuneCountInString(token) < minToken && s.guesses.crowded(from) {
			return Access{}, tooManyGuesses // it may be guessed, and wrong ones are answered so
		}
		return Access{tenant, timeline.RoleCall}, nil
	}
	if s.stored != nil && isStored(token) {
		hash := timeline.HashToken(token)
		var a Access
		find := func() { a, err = s.find(r.Context(), cur, hash) }
		if !guess || s.stored.Known(hash) {
			find()
		} else if !s.guesses.look(r.Context(), from, find) {
			return Access{}, tooManyGuesses
		}
		if err == nil {
			return a, nil
		}
	}
	f := refusedToken(err)
	if guess && f.kind == tokenUnknown && !s.guesses.hold(r.Context(), from) {
		return Access{}, tooManyGuesses
	}
	return Access{}, f
}

// watchAccess cancels a request that lasts longer than the access of its sender. It returns
// when the request ends.
func (s *Server) watchAccess(ctx context.Context, cancel context.CancelFunc, r *http.Request, t *route, a Access) {
	again := time.NewTicker(access.Lifetime)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		// What others at the same address guess does not matter: it would keep a revoked
		// token valid.
		now, f := s.check(s.routing.Load(), r, t, false)
		if f != nil || now != a {
			cancel()
			return
		}
	}
}

// find returns the access of the holder of a token.
func (s *Server) find(ctx context.Context, cur *routing, hash timeline.TokenHash) (Access, error) {
	for i := range cur.tokens {
		if cur.tokens[i].hash == hash {
			return Access{cur.tokens[i].tenant, timeline.RoleCall}, nil
		}
	}
	if s.stored == nil {
		return Access{}, access.ErrUnknown
	}
	found, err := s.stored.Find(ctx, hash)
	if err == nil && found.Role == timeline.RoleConsole {
		err = access.ErrUnknown // a session is no token
	}
	return Access{found.Tenant, found.Role}, err
}

// refusedToken returns the refusal of a token that admits nobody.
func refusedToken(err error) *refusal {
	switch {
	case errors.Is(err, access.ErrExpired):
		return &refusal{http.StatusUnauthorized, "token_expired",
			"the token in X-Oriel-Token or /k/TOKEN has expired: ask for a new one, which oriel token add makes"}
	case errors.Is(err, access.ErrRevoked):
		return &refusal{http.StatusUnauthorized, "token_revoked",
			"the token in X-Oriel-Token or /k/TOKEN was revoked: ask for a new one, which oriel token add makes"}
	case errors.Is(err, access.ErrUnavailable):
		return &refusal{http.StatusServiceUnavailable, "token_unchecked",
			"this proxy cannot check the token in X-Oriel-Token or /k/TOKEN, because its store does not answer: try again; tokens that were used here before go on working"}
	}
	return &refusal{http.StatusUnauthorized, tokenUnknown,
		"this proxy does not know the token in X-Oriel-Token or /k/TOKEN: use one that oriel token add printed, or the one that it was started with"}
}

// checkCall refuses to forward requests of those who may only read.
func (a Access) checkCall() *refusal {
	if a.Role == timeline.RoleCall {
		return nil
	}
	return &refusal{http.StatusForbidden, "role_not_allowed",
		"this token may read the history and make no calls: use one that was made with oriel token add --role call"}
}

// readingPosts lists the paths that read by POST, and /oriel/mcp, whose handler looks at
// the role of a request itself.
var readingPosts = []string{"/oriel/api/recall", "/oriel/api/fit", mcpPath}

const mcpPath = "/oriel/mcp"

// checkOwn refuses changes by those who may only read.
func (a Access) checkOwn(method, path string) *refusal {
	switch {
	case a.Role == timeline.RoleCall, method == http.MethodGet, method == http.MethodHead, method == http.MethodOptions:
		return nil
	case slices.Contains(readingPosts, path) && method == http.MethodPost, path == mcpPath:
		return nil
	}
	return &refusal{http.StatusForbidden, "role_not_allowed",
		"this token may read the history and change nothing: use one that was made with oriel token add --role call"}
}

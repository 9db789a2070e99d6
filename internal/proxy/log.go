package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/secret"
)

// Counters counts requests since the start by their outcome.
type Counters struct {
	// Calls asked for a model's reply; Passed went upstream for anything else; Own
	// were for Oriel's own paths.
	Calls, Passed, Own int64
	// Answered requests got the provider's complete answer; Errors counts those with
	// a status of 400 or more. Unreachable requests got no answer, Broken ones a
	// part. ClientLeft counts clients that did not wait for the end, Refused Oriel's
	// own refusals.
	Answered, Errors, Unreachable, Broken, ClientLeft, Refused int64
	// Limited counts the refusals of calls beyond a tenant's limit, which are among Refused.
	Limited int64
	// Upgraded requests switched to another protocol, such as WebSocket. Sockets became a
	// WebSocket whose calls are read; they count one by one.
	Upgraded, Sockets int64
	// Calls that passed through unseen, by reason.
	PassedBypass, PassedSize, PassedMemory, PassedEncoding, PassedSigned int64
	// EnginePanics and EngineSlow count calls, or parts of calls, that continued
	// without the engine because it panicked or was too slow.
	EnginePanics, EngineSlow int64
	// BufferedBytes is the memory that bodies hold now.
	BufferedBytes int64
	// RefusedTokens and RefusedSignIns count the requests and the sign-ins at the console
	// that were refused for their token. Every reason has a count: missing, unknown, expired, revoked,
	// unchecked (the store does
	// not answer), crowded (too many wrong ones from the address) and limit (too many
	// sign-ins with the token).
	RefusedTokens, RefusedSignIns map[string]int64
}

// tokenReasons are the reasons for which a token is refused, by the kind of the refusal.
var tokenReasons = map[string]string{
	tokenMissing: "missing", tokenUnknown: "unknown", "token_expired": "expired", "token_revoked": "revoked",
	"token_unchecked": "unchecked", "too_many_wrong_tokens": "crowded", "too_many_sign_ins": "limit",
}

// tokenCounts counts refused tokens by reason.
type tokenCounts struct {
	mu sync.Mutex // protects what follows
	n  map[string]int64
}

// add counts a refusal if it is one of a token; nil is none.
func (c *tokenCounts) add(f *refusal) {
	if f == nil || tokenReasons[f.kind] == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[tokenReasons[f.kind]]++
}

// all returns the counts of all reasons.
func (c *tokenCounts) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]int64, len(tokenReasons))
	for _, reason := range tokenReasons {
		out[reason] = c.n[reason]
	}
	return out
}

type counters struct {
	calls, passed, own                                                           atomic.Int64
	answered, errors, unreachable, broken, clientLeft, refused, upgrade, sockets atomic.Int64
	passedBypass, passedSize, passedMemory, passedEncoding, passedSigned         atomic.Int64
	enginePanics, engineSlow, limited                                            atomic.Int64
	refusedTokens, refusedSignIns                                                tokenCounts
}

// Counters returns the current counts.
func (s *Server) Counters() Counters {
	c := &s.counters
	return Counters{
		Calls: c.calls.Load(), Passed: c.passed.Load(), Own: c.own.Load(),
		Answered: c.answered.Load(), Errors: c.errors.Load(), Unreachable: c.unreachable.Load(),
		Broken:     c.broken.Load(),
		ClientLeft: c.clientLeft.Load(), Refused: c.refused.Load(), Upgraded: c.upgrade.Load(),
		Sockets:      c.sockets.Load(),
		PassedBypass: c.passedBypass.Load(), PassedSize: c.passedSize.Load(), PassedMemory: c.passedMemory.Load(),
		PassedEncoding: c.passedEncoding.Load(), PassedSigned: c.passedSigned.Load(),
		Limited: c.limited.Load(), EnginePanics: c.enginePanics.Load(), EngineSlow: c.engineSlow.Load(),
		BufferedBytes: s.budget.Held(), RefusedTokens: c.refusedTokens.all(),
		RefusedSignIns: c.refusedSignIns.all(),
	}
}

func (c *counters) passedFor(reason string) *atomic.Int64 {
	switch reason {
	case forward.PassedBypass:
		return &c.passedBypass
	case forward.PassedSize:
		return &c.passedSize
	case forward.PassedMemory:
		return &c.passedMemory
	case forward.PassedSigned:
		return &c.passedSigned
	}
	return &c.passedEncoding
}

// loggedHeaders are the headers of an answer that are logged, in this order.
var loggedHeaders = []struct{ name, header string }{
	{"action", "X-Oriel-Action"}, {"before", "X-Oriel-Tokens-Before"}, {"after", "X-Oriel-Tokens-After"},
	{"plan", "X-Oriel-Plan"}, {"conversation", "X-Oriel-Conversation"},
}

// logEnd logs one line for the request, without bodies, headers, queries and tokens.
func (x *exchange) logEnd() {
	level := slog.LevelInfo
	if x.outcome == &x.s.counters.broken || x.outcome == &x.s.counters.unreachable {
		level = slog.LevelWarn
	}
	if !x.s.log.Enabled(context.Background(), level) {
		return
	}
	keys := x.keys()
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs,
		slog.String("id", x.id),
		slog.String("method", clip.To(x.r.Method, clip.Line)),
		slog.String("path", cleaned(keys, x.route.path, clip.Line)),
		slog.Int("status", x.status),
		slog.Int64("in", x.body.read.Load()),
		slog.Int64("out", x.out),
		slog.Duration("took", x.s.now().Sub(x.began)))
	if model := x.call.Model(); model != "" {
		attrs = append(attrs, slog.String("model", cleaned(keys, model, clip.Line)))
	}
	for _, own := range loggedHeaders {
		if v := x.w.Header().Get(own.header); v != "" {
			attrs = append(attrs, slog.String(own.name, clip.To(v, clip.Line)))
		}
	}
	if passed := x.call.Passed(); passed != "" {
		attrs = append(attrs, slog.String("unseen", passed))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", cleaned(keys, x.err.Error(), clip.Text)))
	}
	x.s.log.LogAttrs(context.Background(), level, x.kind(), attrs...)
}

// keys returns the keys that the request may contain.
func (x *exchange) keys() secret.Keys {
	if x.outcome == &x.s.counters.refused {
		return secret.OfRefused(x.r.Header, x.r.URL.RawQuery)
	}
	return secret.Of(x.r.Header, x.r.URL.RawQuery)
}

// cleaned returns a text without keys, of at most n bytes.
func cleaned(keys secret.Keys, text string, n int) string {
	return clip.To(keys.Clean(clip.To(text, 8*clip.Text)), n)
}

// serverLog logs messages of net/http.
func serverLog(log *slog.Logger, text string) {
	level := slog.LevelDebug
	if strings.HasPrefix(text, "http: panic") || strings.HasPrefix(text, "http: Accept") {
		level = slog.LevelError
	}
	log.Log(context.Background(), level, strings.TrimSpace(text))
}

type serverLogWriter struct{ log *slog.Logger }

func (w serverLogWriter) Write(p []byte) (int, error) {
	serverLog(w.log, string(p))
	return len(p), nil
}

// kind returns the request's kind for the log.
func (x *exchange) kind() string {
	switch {
	case x.reads:
		return "websocket"
	case x.status == http.StatusSwitchingProtocols:
		return "upgraded"
	case x.isCall():
		return "call"
	}
	return "passed"
}

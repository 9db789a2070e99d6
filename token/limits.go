package token

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits holds the input limits that refusals taught, by tenant, model and context window:
// model tables err, and some servers are configured for less. A limit that one refusal
// taught is a claim and holds for the refused conversation only; it holds for the whole
// tenant once a refusal of another conversation confirms it. Entries expire after
// LimitAge, so that a repaired server is tried again. The zero value is empty and ready.
// Limits is safe for concurrent use.
type Limits struct {
	mu    sync.Mutex
	known map[string]limit
	bound map[string]string // model → the conversation that claims the binding, "" once confirmed

	journal bool            // changes are kept for Learnt
	changes []func(*Limits) // since the last Save, oldest first
}

// limit is what is known about one model.
type limit struct {
	amount
	// Claim is a smaller amount that awaits confirmation.
	Claim *claim `json:"claim,omitempty"`
}

// amount is the most tokens that a model accepts, 0 for no limit, and when that was learnt.
type amount struct {
	Tokens int       `json:"tokens,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Reply reports whether Tokens includes the reply that is asked for.
	Reply bool `json:"reply,omitempty"`
}

type claim struct {
	amount
	Conversation string `json:"conversation"`
}

// LimitAge is how long a limit holds after it was learnt.
const LimitAge = 7 * 24 * time.Hour

// maxLimits bounds the limits of a tenant, maxAllLimits those of all tenants, and maxLimitName
// the bytes of a tenant and a model together: clients choose the names of models.
const maxLimits, maxAllLimits, maxLimitName = 256, 2048, 512

// Asked identifies a model, the conversation that asks it, and that conversation's tenant.
type Asked struct {
	Tenant, Conversation, Model string
	// Window is the context window of the request: betas may widen it.
	Window int
}

// LearntKey returns the key under which facts about a tenant's model are kept.
func LearntKey(tenant, model string) string { return tenant + "\t" + model }

func (a *Asked) key() string { return LearntKey(a.Tenant, a.Model) + " " + strconv.Itoa(a.Window) }

// Learn notes that a refusal limits a model to tokens, as counted here. reply reports
// whether they include the reply that is asked for.
func (l *Limits) Learn(a Asked, tokens int, reply bool, now time.Time) {
	if tokens <= 0 || len(a.Tenant)+len(a.Model) > maxLimitName {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(func(l *Limits) { l.Learn(a, tokens, reply, now) })
	key := a.key()
	was, _ := l.at(key, now)
	if was.Tokens > 0 && was.Tokens <= tokens {
		return
	}
	is := amount{tokens, now, reply}
	switch c := was.Claim; {
	case c == nil || c.Conversation != a.Conversation && !near(c.Tokens, tokens):
		was.Claim = &claim{is, a.Conversation}
	case c.Conversation == a.Conversation:
		was.Claim = &claim{amount{min(c.Tokens, tokens), now, c.Reply || reply}, a.Conversation}
	default:
		is.Tokens, is.Reply = min(c.Tokens, tokens), c.Reply || reply
		was = limit{amount: is}
	}
	l.put(key, a.Tenant, was)
}

// near reports whether two counts, of two calls, stand for the same limit.
func near(a, b int) bool { return 5*a >= 4*b && 5*b >= 4*a }

// put stores a limit. If the tenant has too many, or all have, the oldest goes.
func (l *Limits) put(key, tenant string, n limit) {
	if l.known == nil {
		l.known = map[string]limit{}
	}
	if _, ok := l.known[key]; !ok {
		if oldest, count := l.oldest(tenant + "\t"); count >= maxLimits {
			delete(l.known, oldest)
		}
		if len(l.known) >= maxAllLimits {
			oldest, _ := l.oldest("")
			delete(l.known, oldest)
		}
	}
	l.known[key] = n
}

// oldest returns the key with a prefix that was learnt first, and how many have the prefix.
func (l *Limits) oldest(prefix string) (key string, count int) {
	for k, v := range l.known {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		if count++; count == 1 || cmp.Or(v.last().Compare(l.known[key].last()), cmp.Compare(k, key)) < 0 {
			key = k
		}
	}
	return key, count
}

// last returns when the limit or its claim was last learnt.
func (n limit) last() time.Time {
	if n.Claim != nil && n.Claim.At.After(n.At) {
		return n.Claim.At
	}
	return n.At
}

// Took notes that a model accepted so many tokens, and reports whether that changed what
// is known.
func (l *Limits) Took(a Asked, tokens int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := a.key()
	n, ok := l.known[key]
	changed := false
	// A claim is set a tenth below the limit that the provider named, so that a request of a
	// tenth more does not refute it.
	if ok && n.Claim != nil && 8*tokens > 9*n.Claim.Tokens {
		n.Claim, changed = nil, true
	}
	if ok && n.Tokens > 0 && tokens > n.Tokens {
		n.Tokens, changed = tokens, true
	}
	if !changed {
		return false
	}
	l.note(func(l *Limits) { l.Took(a, tokens) })
	switch {
	case n.Claim == nil && n.Tokens == 0:
		delete(l.known, key)
	default:
		l.known[key] = n
	}
	return true
}

// LearnBinding notes that a model accepts thinking only if nothing before it has changed.
func (l *Limits) LearnBinding(a Asked) {
	if len(a.Tenant)+len(a.Model) > maxLimitName {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(func(l *Limits) { l.LearnBinding(a) })
	if l.bound == nil || len(l.bound) >= maxLimits {
		l.bound = map[string]string{} // they are learnt again
	}
	key := LearntKey(a.Tenant, a.Model)
	switch by, ok := l.bound[key]; {
	case !ok:
		l.bound[key] = a.Conversation
	case by != a.Conversation:
		l.bound[key] = ""
	}
}

// Binds reports whether a model accepts thinking only if nothing before it has changed.
func (l *Limits) Binds(a Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, ok := l.bound[LearntKey(a.Tenant, a.Model)]
	return ok && (by == "" || by == a.Conversation)
}

// Within returns budget, or less if the model is known to accept less together
// with a reply of reply tokens.
func (l *Limits) Within(a Asked, budget, reply int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.at(a.key(), now)
	budget = n.within(budget, reply)
	if n.Claim != nil && n.Claim.Conversation == a.Conversation {
		budget = n.Claim.within(budget, reply)
	}
	return budget
}

func (n amount) within(budget, reply int) int {
	if n.Tokens == 0 {
		return budget
	}
	if n.Reply && reply > 0 {
		n.Tokens = max(n.Tokens-reply, n.Tokens/4)
	}
	return min(n.Tokens, budget)
}

// at returns the limit under a key, without what has expired.
func (l *Limits) at(key string, now time.Time) (limit, bool) {
	n, ok := l.known[key]
	if !ok {
		return n, false
	}
	if n.Claim != nil && now.Sub(n.Claim.At) >= LimitAge {
		n.Claim = nil
	}
	if n.Tokens > 0 && now.Sub(n.At) >= LimitAge {
		n.amount = amount{}
	}
	if n.Claim == nil && n.Tokens == 0 {
		delete(l.known, key)
		return n, false
	}
	l.known[key] = n
	return n, true
}

// FoundLimit is one limit, for people to read.
type FoundLimit struct {
	Tenant string `json:"tenant"`
	Model  string `json:"model"`
	Window int    `json:"window"`
	Tokens int    `json:"tokens"`
	// Reply reports whether Tokens includes the reply that is asked for.
	Reply bool      `json:"reply,omitempty"`
	At    time.Time `json:"at"`
	// Conversation is the only one that the limit holds for; empty once another
	// conversation has confirmed it.
	Conversation string `json:"conversation,omitempty"`
}

// All returns the limits that hold at a time, sorted by tenant, model and window.
func (l *Limits) All(now time.Time) []FoundLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []FoundLimit
	for _, key := range slices.Sorted(maps.Keys(l.known)) {
		n, _ := l.at(key, now)
		tenant, rest, _ := strings.Cut(key, "\t")
		i := strings.LastIndexByte(rest, ' ')
		window, _ := strconv.Atoi(rest[i+1:])
		f := FoundLimit{Tenant: tenant, Model: rest[:max(i, 0)], Window: window}
		if n.Tokens > 0 {
			f.Tokens, f.Reply, f.At = n.Tokens, n.Reply, n.At
			out = append(out, f)
		}
		if c := n.Claim; c != nil {
			f.Tokens, f.Reply, f.At, f.Conversation = c.Tokens, c.Reply, c.At, cmp.Or(c.Conversation, "?")
			out = append(out, f)
		}
	}
	return out
}

// storedLimits is the JSON form of Limits.
type storedLimits struct {
	Tokens map[string]limit  `json:"tokens,omitempty"`
	Binds  map[string]string `json:"binds,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (l *Limits) MarshalJSON() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.Marshal(storedLimits{l.known, l.bound})
}

// UnmarshalJSON implements json.Unmarshaler. It drops entries that are not valid.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var s storedLimits
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	maps.DeleteFunc(s.Tokens, func(_ string, n limit) bool {
		return n.Tokens < 0 || n.Claim != nil && n.Claim.Tokens <= 0 || n.Tokens == 0 && n.Claim == nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.bound = s.Tokens, s.Binds
	return nil
}

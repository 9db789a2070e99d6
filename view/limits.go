package view

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

// Limits are what providers were found to take, by tenant, by model and by the window
// that it was asked with: the tables are wrong at times, and some servers are set up for
// less. A limit that one refusal taught is a claim: it holds for the conversation that was
// refused. It holds for all conversations of the tenant once a refusal of another one has
// confirmed it. What was found is forgotten after a week, so that a server that was mended
// is asked again. The zero value knows of none. It is safe for concurrent use.
type Limits struct {
	mu    sync.Mutex
	known map[string]limit
	bound map[string]string // the conversation that claims it, "" where it is confirmed
}

// limit is what is known of a model.
type limit struct {
	amount
	// Claim is a smaller amount that waits to be confirmed.
	Claim *claim `json:"claim,omitempty"`
}

// amount is the most tokens that are taken, 0 for no limit, and when that was found.
type amount struct {
	Tokens int       `json:"tokens,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Reply: the reply that is asked for is among them.
	Reply bool `json:"reply,omitempty"`
}

type claim struct {
	amount
	Conversation string `json:"conversation"`
}

// LimitAge is how long a limit holds.
const LimitAge = 7 * 24 * time.Hour

// maxLimits is how many are kept of a tenant: clients choose the names of models.
const maxLimits = 256

// Asked names a model as a conversation of a tenant's asks it.
type Asked struct {
	Tenant, Conversation, Model string
	// Window is that which it is asked with: betas may widen it.
	Window int
}

// LearntKey is the name under which something is kept that was learnt of a tenant's model.
func LearntKey(tenant, model string) string { return tenant + "\t" + model }

func (a *Asked) key() string { return LearntKey(a.Tenant, a.Model) + " " + strconv.Itoa(a.Window) }

// Learn notes that a refusal said that a model takes no more than so many tokens, as
// counted here. reply: the reply that is asked for is among them.
func (l *Limits) Learn(a Asked, tokens int, reply bool, now time.Time) {
	if tokens <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
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

// near reports whether two figures are the same limit, as two calls are counted here.
func near(a, b int) bool { return 5*a >= 4*b && 5*b >= 4*a }

// put stores what is known, in the place of the oldest of the tenant's where there are
// too many.
func (l *Limits) put(key, tenant string, n limit) {
	if l.known == nil {
		l.known = map[string]limit{}
	}
	if _, ok := l.known[key]; !ok {
		oldest, count := "", 0
		for k, v := range l.known {
			if !strings.HasPrefix(k, tenant+"\t") {
				continue
			}
			if count++; oldest == "" || v.last().Before(l.known[oldest].last()) {
				oldest = k
			}
		}
		if count >= maxLimits {
			delete(l.known, oldest)
		}
	}
	l.known[key] = n
}

// last is when something was found last.
func (n limit) last() time.Time {
	if n.Claim != nil && n.Claim.At.After(n.At) {
		return n.Claim.At
	}
	return n.At
}

// Took notes that a model took so many tokens, and reports whether that is more than was
// thought.
func (l *Limits) Took(a Asked, tokens int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := a.key()
	n, ok := l.known[key]
	changed := false
	// A claim is a tenth below what the provider named: that much more denies nothing.
	if ok && n.Claim != nil && 8*tokens > 9*n.Claim.Tokens {
		n.Claim, changed = nil, true
	}
	if ok && n.Tokens > 0 && tokens > n.Tokens {
		n.Tokens, changed = tokens, true
	}
	switch {
	case !changed:
		return false
	case n.Claim == nil && n.Tokens == 0:
		delete(l.known, key)
	default:
		l.known[key] = n
	}
	return true
}

// LearnBinding notes that a model takes thinking only while nothing before it has changed.
func (l *Limits) LearnBinding(a Asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound == nil || len(l.bound) >= maxLimits {
		l.bound = map[string]string{} // who is forgotten is found out again
	}
	key := LearntKey(a.Tenant, a.Model)
	switch by, ok := l.bound[key]; {
	case !ok:
		l.bound[key] = a.Conversation
	case by != a.Conversation:
		l.bound[key] = ""
	}
}

func (l *Limits) binds(a Asked) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, ok := l.bound[LearntKey(a.Tenant, a.Model)]
	return ok && (by == "" || by == a.Conversation)
}

// within is a budget within what the model takes beside a reply of so many tokens.
func (l *Limits) within(a Asked, budget, reply int, now time.Time) int {
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

// at is what is known and not too old.
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

// Found is a limit for people to see.
type Found struct {
	Tenant string `json:"tenant"`
	Model  string `json:"model"`
	Window int    `json:"window"`
	Tokens int    `json:"tokens"`
	// Reply: the reply that is asked for is among the tokens.
	Reply bool      `json:"reply,omitempty"`
	At    time.Time `json:"at"`
	// Conversation is the one that the limit holds for as long as no other has
	// confirmed it; empty where it is confirmed.
	Conversation string `json:"conversation,omitempty"`
}

// All returns the limits that hold at a time, in the order of their names.
func (l *Limits) All(now time.Time) []Found {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Found
	for _, key := range slices.Sorted(maps.Keys(l.known)) {
		n, _ := l.at(key, now)
		tenant, rest, _ := strings.Cut(key, "\t")
		i := strings.LastIndexByte(rest, ' ')
		window, _ := strconv.Atoi(rest[i+1:])
		f := Found{Tenant: tenant, Model: rest[:max(i, 0)], Window: window}
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

// storedLimits is their form in JSON.
type storedLimits struct {
	Tokens map[string]limit  `json:"tokens,omitempty"`
	Binds  map[string]string `json:"binds,omitempty"`
}

// MarshalJSON and UnmarshalJSON keep them over a restart.
func (l *Limits) MarshalJSON() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.Marshal(storedLimits{l.known, l.bound})
}

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

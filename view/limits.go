package view

import (
	"encoding/json"
	"maps"
	"strconv"
	"sync"
	"time"
)

// Limits are what providers were found to take, by model and by the window that it was
// asked with: the tables are wrong at times, and some servers are set up for less. What
// was found is forgotten after a week, so that a server that was mended is asked again.
// The zero value knows of none. It is safe for concurrent use.
type Limits struct {
	mu    sync.Mutex
	known map[string]limit
	bound map[string]bool
}

// limit is the most tokens that are taken, and when that was found.
type limit struct {
	Tokens int       `json:"tokens"`
	At     time.Time `json:"at"`
	// Reply: the reply that is asked for is among them.
	Reply bool `json:"reply,omitempty"`
}

// limitAge is how long a limit holds.
const limitAge = 7 * 24 * time.Hour

// maxLimits is how many are kept: clients choose the names of models.
const maxLimits = 256

// limitKey names a model as it was asked: betas may widen its window.
func limitKey(model string, window int) string { return model + " " + strconv.Itoa(window) }

// Learn remembers that a model takes no more than so many tokens, as counted here, when
// it is asked with a window.
func (l *Limits) Learn(model string, window, tokens int, now time.Time) {
	if tokens <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]limit{}
	}
	key := limitKey(model, window)
	was, ok := l.at(key, now)
	if ok && was.Tokens <= tokens {
		return
	}
	if _, ok := l.known[key]; !ok && len(l.known) >= maxLimits {
		oldest := ""
		for k, v := range l.known {
			if oldest == "" || v.At.Before(l.known[oldest].At) {
				oldest = k
			}
		}
		delete(l.known, oldest)
	}
	l.known[key] = limit{tokens, now, ok && was.Reply}
}

// LearnReply remembers that the reply that is asked for is among the tokens that were
// learnt.
func (l *Limits) LearnReply(model string, window int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was, ok := l.known[limitKey(model, window)]; ok {
		was.Reply = true
		l.known[limitKey(model, window)] = was
	}
}

// Took remembers that a model took so many tokens, and reports whether that is more than
// was thought.
func (l *Limits) Took(model string, window, tokens int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := limitKey(model, window)
	was, ok := l.known[key]
	if !ok || tokens <= was.Tokens {
		return false
	}
	l.known[key] = limit{tokens, was.At, was.Reply}
	return true
}

// LearnBinding remembers that a model takes thinking only while nothing before it has
// changed.
func (l *Limits) LearnBinding(model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound == nil || len(l.bound) >= maxLimits {
		l.bound = map[string]bool{} // who is forgotten is found out again
	}
	l.bound[model] = true
}

func (l *Limits) binds(model string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound[model]
}

// within is a budget within what the model takes beside a reply of so many tokens.
func (l *Limits) within(model string, window, budget, reply int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.at(limitKey(model, window), now); ok {
		if n.Reply && reply > 0 {
			n.Tokens = max(n.Tokens-reply, n.Tokens/4)
		}
		return min(n.Tokens, budget)
	}
	return budget
}

// at is what is known and not too old.
func (l *Limits) at(key string, now time.Time) (limit, bool) {
	n, ok := l.known[key]
	if ok && now.Sub(n.At) >= limitAge {
		delete(l.known, key)
		ok = false
	}
	return n, ok
}

// storedLimits is their form in JSON.
type storedLimits struct {
	Tokens map[string]limit `json:"tokens,omitempty"`
	Binds  map[string]bool  `json:"binds,omitempty"`
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
	maps.DeleteFunc(s.Tokens, func(_ string, n limit) bool { return n.Tokens <= 0 })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.bound = s.Tokens, s.Binds
	return nil
}

package view

import (
	"encoding/json"
	"sync"
)

// Limits are what providers were found to take, by model: the tables are wrong at times,
// and some servers are set up for less. The zero value knows of none. It is safe for
// concurrent use.
type Limits struct {
	mu    sync.Mutex
	known map[string]int
	bound map[string]bool
}

// Learn remembers that a model takes no more than so many tokens, as counted here.
func (l *Limits) Learn(model string, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]int{}
	}
	if was, ok := l.known[model]; tokens > 0 && (!ok || tokens < was) {
		l.known[model] = tokens
	}
}

// LearnBinding remembers that a model takes thinking only while nothing before it has
// changed.
func (l *Limits) LearnBinding(model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound == nil {
		l.bound = map[string]bool{}
	}
	l.bound[model] = true
}

func (l *Limits) binds(model string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound[model]
}

// within is a budget within what the model takes.
func (l *Limits) within(model string, budget int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.known[model]; ok {
		return min(n, budget)
	}
	return budget
}

// MarshalJSON and UnmarshalJSON keep them over a restart.
func (l *Limits) MarshalJSON() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.Marshal(l.known)
}

func (l *Limits) UnmarshalJSON(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.Unmarshal(data, &l.known)
}

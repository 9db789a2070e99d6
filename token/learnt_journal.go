package token

import (
	"maps"
	"slices"
	"strings"
)

// Limits and Calibration keep a journal of what they learn for Learnt, which applies it to
// what other processes have kept meanwhile.

// maxJournal bounds what waits to be kept: the place may not be writable for long.
const maxJournal = 1024

// note keeps a change for Learnt. The caller holds the lock.
func (l *Limits) note(change func(*Limits)) {
	if !l.journal {
		return
	}
	if len(l.changes) >= maxJournal {
		l.changes = slices.Delete(l.changes, 0, 1)
	}
	l.changes = append(l.changes, change)
}

// takeChanges returns the changes since the last Save and removes them from the journal.
func (l *Limits) takeChanges() []func(*Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.changes
	l.changes = nil
	return out
}

// returnChanges puts back changes that could not be kept.
func (l *Limits) returnChanges(changes []func(*Limits)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Concat(changes, l.changes)
	l.changes = all[max(0, len(all)-maxJournal):]
}

// adopt replaces what is known by what from holds, and applies the journal to it.
func (l *Limits) adopt(from *Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := &Limits{known: maps.Clone(from.known), bound: maps.Clone(from.bound)}
	for _, change := range l.changes {
		change(known)
	}
	l.known, l.bound = known.known, known.bound
}

// forget removes the entries of models whose key forgotten accepts, and returns their
// number.
func (l *Limits) forget(forgotten func(key string) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.known, func(key string, _ limit) bool {
		if i := strings.LastIndexByte(key, ' '); i >= 0 { // the window
			key = key[:i]
		}
		if !forgotten(key) {
			return false
		}
		n++
		return true
	})
	maps.DeleteFunc(l.bound, func(key, _ string) bool {
		if !forgotten(key) {
			return false
		}
		n++
		return true
	})
	return n
}

// hold makes observations count only when they are kept.
func (c *Calibration) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// note keeps an observation for Learnt: of each model the newest that a track holds, so that
// a busy model takes no room from others. The caller holds the lock.
func (c *Calibration) note(o observed) {
	if !c.journal {
		return
	}
	oldest, n := 0, 0
	for i, was := range slices.Backward(c.added) {
		if was.model == o.model {
			oldest, n = i, n+1
		}
	}
	switch {
	case n >= calibratePairs:
		c.added = slices.Delete(c.added, oldest, oldest+1)
	case len(c.added) >= maxJournal:
		c.added = slices.Delete(c.added, 0, 1)
	}
	c.added = append(c.added, o)
}

// Next returns the scale that a model will have when everything that was observed here is
// kept. It differs from Scale only after Learnt.Hold.
func (c *Calibration) Next(model string) Scale {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		return c.models[model].fitted()
	}
	t := c.next[model]
	if t == nil {
		t = &track{stale: true}
		if kept := c.models[model]; kept != nil {
			t.pairs = slices.Clone(kept.pairs)
		}
		for _, o := range c.added {
			if o.model == model {
				t.add(o.pair)
			}
		}
		if c.next == nil || len(c.next) >= calibrateModels {
			c.next = map[string]*track{}
		}
		c.next[model] = t // Observe adds to it
	}
	return t.fitted()
}

// takeAdded returns the observations since the last Save and removes them from the journal.
func (c *Calibration) takeAdded() []observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.added
	c.added, c.next = nil, nil
	return out
}

// returnAdded puts back observations that could not be kept.
func (c *Calibration) returnAdded(added []observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Concat(added, c.added)
	c.added, c.next = nil, nil
	for _, o := range all {
		c.note(o)
	}
}

// observeAll learns from observations.
func (c *Calibration) observeAll(all []observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range all {
		c.observe(o.model, o.pair)
	}
}

// adopt replaces what is known by what from holds, and applies the journal to it unless
// observations are held.
func (c *Calibration) adopt(from *Calibration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = nil
	c.models, c.clock, c.pairs = make(map[string]*track, len(from.models)), from.clock, from.pairs
	for name, t := range from.models {
		c.models[name] = &track{pairs: slices.Clone(t.pairs), used: t.used, stale: true}
	}
	if !c.held {
		for _, o := range c.added {
			c.observe(o.model, o.pair)
		}
	}
}

// forget removes the models whose key forgotten accepts, and returns their number.
func (c *Calibration) forget(forgotten func(key string) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.models, func(key string, t *track) bool {
		if !forgotten(key) {
			return false
		}
		n++
		c.pairs -= len(t.pairs)
		return true
	})
	return n
}

// keys returns the models of which something is known.
func (c *Calibration) keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.models))
}

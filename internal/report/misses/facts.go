package misses

import (
	"errors"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// bodies are the prompt of a call as it came and as it was sent; sent is nil if that is not known.
type bodies struct {
	came, sent *Prompt
	// lifetime and longest are those of Facts for the call after this one.
	lifetime, longest time.Duration
}

// load reads the bodies of a call. Those of a call that cannot be read, because its branch was
// deleted or it is damaged, are empty.
func (l *line) load(s *stored) (*bodies, error) {
	if s.read {
		return &s.bodies, nil
	}
	read, data, err := call.ReadSent(l.ctx, l.reader.store, l.tenant, l.conversation, s.record,
		call.SentOptions{Models: l.models})
	switch {
	case l.ctx.Err() != nil:
		return nil, l.ctx.Err()
	case errors.Is(err, timeline.ErrNoConversation):
		return nil, err
	case err != nil && read == nil:
		s.read = true
		s.bodies.lifetime, s.bodies.longest = lifetimes(l.models.Lookup(s.Model), nil, s)
		return &s.bodies, nil
	case err != nil, s.Plan == "" && s.Came != s.Tokens:
		data = nil // its plan is gone, or it was fitted without one
	}
	m := l.models.Lookup(s.Model)
	counter := token.NewCounter(m, token.Options{})
	came, err := read.ReadBody(read.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = bodies{came: NewPrompt(came, counter)}
	s.bodies.sent = s.bodies.came
	if data == nil {
		s.bodies.sent = nil
	} else if s.Plan != "" {
		sent, err := read.ReadBody(data)
		if err != nil {
			return nil, err
		}
		s.bodies.sent = NewPrompt(sent, counter)
	}
	s.bodies.lifetime, s.bodies.longest = lifetimes(m, came, s)
	s.read = true
	return &s.bodies, nil
}

// lifetimes returns how long the provider keeps its cache of a call at least and at most.
func lifetimes(m token.Model, b *wire.Body, s *stored) (shortest, longest time.Duration) {
	if len(m.Cache.TTL) == 0 {
		return 0, 0
	}
	if longest = time.Duration(m.Cache.TTL[0]) * time.Second; b != nil {
		longest = view.Lifetime(m, b)
	}
	if s.Usage.Hour > 0 { // written for the longer lifetime
		longest = max(longest, time.Duration(slices.Max(m.Cache.TTL))*time.Second)
		return longest, longest
	}
	if m.Cache.Mode != "explicit" {
		return min(longest, time.Duration(m.Cache.TTL[0])*time.Second), longest
	}
	return longest, longest
}

// facts returns what is known of call i, and the call before with which it is compared: that of
// the same model which it shares most with, unless the latest of another model shares more. Where
// bodies cannot be read, the times and the usage of the latest call are all that is known. It
// returns nil if there is nothing to compare it with.
func (l *line) facts(i int, same []int, other int) (*Facts, int, error) {
	now := l.all[i]
	b, err := l.load(now)
	if err != nil {
		return nil, 0, err
	}
	var best *Difference
	at, own := -1, 0
	for _, k := range append(slices.Clip(same), other) {
		if k < 0 {
			continue
		}
		a, err := l.load(l.all[k])
		if err != nil {
			return nil, 0, err
		}
		if a.came == nil || b.came == nil {
			continue
		}
		d := difference(a, b)
		if k == other && d.Shared <= own+leastTokens {
			continue
		}
		if best == nil || d.Shared > best.Shared {
			best, at = d, k
		}
		if k != other {
			own = max(own, d.Shared)
		}
		if d.Change == nil && other < 0 {
			break // no older one shares more
		}
	}
	if best == nil {
		best, at = &Difference{}, other
		if len(same) > 0 {
			at = same[0]
		}
	}
	before := l.all[at]
	if c := best.Change; c != nil && c.Where != Messages && now.Thread == thread.Branched {
		return nil, 0, nil // another agent
	}
	u := now.Usage
	f := &Facts{Prompt: prompt(u), Read: u.CacheRead, Written: u.CacheWrite + u.Hour, Before: prompt(before.Usage),
		Kept: before.Usage.CacheRead + before.Usage.CacheWrite + before.Usage.Hour, Change: best.Change,
		Pause: now.Began.Sub(before.Began), Cache: l.models.Lookup(now.Model).Cache,
		Lifetime: before.bodies.lifetime, Longest: before.bodies.longest}
	counted := 0
	switch {
	case b.sent != nil:
		counted = b.sent.Tokens()
	case b.came != nil:
		counted = b.came.Tokens()
	}
	scaled := func(n int) int { return int(float64(n) * float64(f.Prompt) / float64(max(1, counted))) }
	f.Shared, f.Again = scaled(best.Shared), scaled(best.Again)
	f.Said = now.Diagnosis
	if f.Change == nil {
		f.Shared = min(f.Before, f.Prompt)
	}
	if before.Model != now.Model {
		f.Model = before.Model
	}
	if best.Rewritten != nil && f.Read < scaled(best.RewrittenAt)+least(&f.Cache, f.Could()) {
		f.Change = best.Rewritten
		return f, at, nil
	}
	unknown := before.bodies.sent == nil || now.bodies.sent == nil
	if unknown && f.Change == nil && before.Plan != now.Plan { // the client changed nothing
		f.Change = &Break{Where: Messages}
	}
	if f.Change != nil && l.cut(before, now, best) {
		f.Cut, f.Plan = true, now.Plan
		if now.Plan == "" {
			f.Plan = before.Plan
		}
	}
	return f, at, nil
}

// difference compares the prompts of two calls as they were sent, or as they came if one of them
// is not known as it was sent.
func difference(before, now *bodies) *Difference {
	if before.sent == nil || now.sent == nil {
		return Compare(before.came, now.came)
	}
	return Compare(before.sent, now.sent)
}

// cut reports whether Oriel made the change between two prompts as they were sent, and not the
// client: then what the clients sent does not part where the prompts do.
func (l *line) cut(before, now *stored, d *Difference) bool {
	if before.Plan == now.Plan {
		return false // what a plan does stays the same
	}
	if now.bodies.sent == nil || before.bodies.sent == nil {
		return d.Change == nil
	}
	came := Compare(before.bodies.came, now.bodies.came)
	if came.Change == nil {
		return true
	}
	return came.Change.Where == d.Change.Where && came.old.sum != d.old.sum && came.now.sum != d.now.sum
}

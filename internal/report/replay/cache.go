package replay

import "github.com/oriel-context/oriel/token"

// found is what the recording says of the provider's cache at one call.
type found struct {
	alive bool // by the clock
	// reported is what the provider read, if it said so; shared is what it could have
	// read of the prompt of append.
	reported     bool
	read, shared int
	uncached     int
}

// mostlyRead is the part of what could be read from which on the provider had all.
const mostlyRead = .9

// had reports whether the provider still had what it could have.
func (f *found) had() bool {
	if !f.reported || f.shared == 0 {
		return f.alive
	}
	return float64(f.read) >= mostlyRead*float64(f.shared)
}

// reads returns how much of a prompt the provider reads. shared is what the last prompt of the
// policy began with, too, plain what the prompt of append begins with, too.
func (f *found) reads(shared, plain int) int {
	read := 0
	switch {
	case f.had():
		read = shared
	case f.reported:
		read = min(shared, f.read)
	}
	if f.reported && f.read > f.shared { // other calls had it cached
		read = max(read, min(f.read, plain))
	}
	return read
}

// send sends a call by all policies.
func (s *replayed) send(call *Call) {
	c, rules := &call.Recorded, call.Rules
	var plain *Prompt
	var f found
	for i, r := range s.runs {
		p := s.prompt(c, &r.sent)
		last := r.prompts[c.Model]
		shared, whole := p.Shared(last)
		if i == 0 {
			plain = p
			call.Extends = whole
			f = found{reported: c.Reported, read: c.Usage.CacheRead, shared: shared, uncached: c.Usage.Input}
			if last != nil {
				call.Gap = p.At.Sub(last.At)
				f.alive = call.Gap < rules.Lifetime
			}
		}
		same, _ := p.Shared(plain)
		total := p.Tokens()
		uncached := 0
		if c.Reported {
			uncached = f.uncached
		}
		u := rules.Bill(total, f.reads(shared, same), uncached)
		one := Sent{Prompt: p, Shared: shared, Usage: u, Cut: r.cut}
		one.Cost = r.out.bill(rules, u)
		if last != nil && call.Gap >= rules.Lifetime && 2*u.CacheRead < shared {
			one.Idle = shared - u.CacheRead
			warm := rules.Bill(total, shared, uncached)
			r.out.Idle += one.Idle
			r.out.IdleCalls++
			r.out.IdleCost += max(0, one.Cost-rules.Prices.Cost(warm))
		}
		if call.Extends && last != nil && last.Tokens() > 0 {
			r.out.stable += float64(shared) / float64(max(shared, last.Tokens()))
			r.out.stables++
		}
		if s.o.Points {
			r.out.Points = append(r.out.Points, Point{total, u.CacheRead, one.Cost, r.cut, one.Idle > 0})
		}
		r.prompts[c.Model] = p
		call.Sent[i] = one
		if i == 0 && c.Reported {
			s.compare(c.Usage, u, rules.Bill(total, f.byClock(), uncached), &f)
		}
	}
}

// byClock returns what rules and clock alone say that the provider reads.
func (f *found) byClock() int {
	if f.alive {
		return f.shared
	}
	return 0
}

// compare adds a call to the calibration.
func (s *replayed) compare(recorded, replayed, byRules token.Usage, f *found) {
	of := func(u token.Usage) ReadsWrites { return ReadsWrites{u.CacheRead, u.CacheWrite + u.CacheWrite1h} }
	one := Calibration{Calls: 1, Recorded: of(recorded), Replayed: of(replayed), ByRules: of(byRules)}
	switch had := f.had(); {
	case f.shared > 0 && f.alive && !had:
		one.Losses = 1
	case f.shared > 0 && !f.alive && had, f.shared == 0 && f.read > 0:
		one.Finds = 1
	}
	s.out.Calibration.add(&one)
}

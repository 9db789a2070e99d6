package chat

// Cuts reports which sets of exchanges of one history are legal to send. Every policy
// uses it; nothing else decides what is legal.
type Cuts struct {
	Exchanges []Exchange
	// Problems lists the faults of the history as received.
	Problems []Problem
	// asksFirst reports that the first sound exchange after the system run is a user's
	// message, so every view must begin with one too.
	asksFirst bool
	// tail is the first exchange of the run of user messages at the end.
	tail int
}

// NewCuts splits a history into exchanges and returns its legal cuts.
func NewCuts(msgs []Message, rules Rules) *Cuts {
	ex, problems := Split(msgs, rules)
	c := &Cuts{Exchanges: ex, Problems: problems, tail: len(ex)}
	for c.tail > 0 && ex[c.tail-1].First == Question {
		c.tail--
	}
	for i := range ex {
		if ex[i].First != Preamble && ex[i].Broken == "" {
			c.asksFirst = ex[i].First == Question
			break
		}
	}
	return c
}

// Keep returns the legal set nearest to want, which has one flag per exchange:
// everything in want that is not broken, everything that must stay, and what the order
// of roles needs. A legal set is returned unchanged. So is a set of all exchanges,
// broken ones included: nothing is cut.
func (c *Cuts) Keep(want []bool) []bool {
	keep := make([]bool, len(c.Exchanges))
	all := true
	for i := range keep {
		keep[i] = i < len(want) && want[i]
		all = all && keep[i]
	}
	if all {
		return keep
	}
	for i := range keep {
		e := &c.Exchanges[i]
		keep[i] = (keep[i] && e.Broken == "") || e.Fixed != ""
	}
	// Work backwards: closing a gap only adds exchanges before it.
	for i := len(keep) - 1; i >= 0; i-- {
		if keep[i] && c.Exchanges[i].First != Preamble {
			c.mend(keep, i)
		}
	}
	return keep
}

// Legal reports whether the set may be sent as it is.
func (c *Cuts) Legal(keep []bool) bool {
	for i, k := range c.Keep(keep) {
		if i >= len(keep) || k != keep[i] {
			return false
		}
	}
	return true
}

// mend adds the exchanges that the order of roles requires before exchange i.
func (c *Cuts) mend(keep []bool, i int) {
	before := i - 1
	for before >= 0 && !keep[before] {
		before--
	}
	if add := c.missing(before, i); add >= 0 {
		keep[add] = true
		c.mend(keep, i) // the smaller gap may need another
	}
}

// Follows reports whether exchange i may directly follow exchange before when everything
// between them is dropped. A before of -1 means that nothing precedes i.
func (c *Cuts) Follows(before, i int) bool { return c.missing(before, i) < 0 }

// missing returns an exchange that the order of roles requires between before and i, or
// -1 if there is none.
func (c *Cuts) missing(before, i int) int {
	if before == i-1 {
		return -1 // no gap
	}
	last := Preamble
	if before >= 0 {
		last = c.Exchanges[before].Last
	}
	add := -1
	switch first := c.Exchanges[i].First; {
	case first == Question && (last == Question || last == Returns):
		add = c.reply(before, i)
		if add < 0 && last == Returns && i >= c.tail && c.Exchanges[before+1].Broken == "" {
			// A user interrupted that turn. The results must not precede the newest
			// question as if their loop were still running.
			add = before + 1
		}
	case first != Question && (last == Turn || last == Preamble && c.asksFirst):
		add = c.question(before, i)
	}
	return add
}

// reply returns the last unbroken assistant turn after exchange before, up to
// the next question or exchange i, or -1.
func (c *Cuts) reply(before, i int) int {
	found := -1
	for j := before + 1; j < i && c.Exchanges[j].First != Question; j++ {
		if e := &c.Exchanges[j]; e.Broken == "" && e.First == Turn {
			found = j
		}
	}
	return found
}

// question returns the exchange after before that opened the turn of exchange i, or -1.
func (c *Cuts) question(before, i int) int {
	for j := i - 1; j > before; j-- {
		if e := &c.Exchanges[j]; e.Broken == "" && e.Last == Question {
			return j
		}
	}
	return -1
}

// Messages returns the set of messages of a set of exchanges.
func (c *Cuts) Messages(keep []bool) []bool {
	n := 0
	if len(c.Exchanges) > 0 {
		n = c.Exchanges[len(c.Exchanges)-1].End
	}
	out := make([]bool, n)
	for i, e := range c.Exchanges {
		for m := e.Start; keep[i] && m < e.End; m++ {
			out[m] = true
		}
	}
	return out
}

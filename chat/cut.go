package chat

// Cuts knows which sets of exchanges of one history may be sent without the
// others. Every policy asks it; nothing else decides what is legal.
type Cuts struct {
	Exchanges []Exchange
	// Problems is what is wrong with the history as it came.
	Problems []Problem
	// asksFirst says that the history, less the system run and what is broken,
	// begins with a user's message, so that every view of it must too.
	asksFirst bool
	// tail is the first exchange of the run of questions at the end.
	tail int
}

// NewCuts reads the legal cuts of a history.
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

// Keep turns want, one flag an exchange, into the nearest legal set: it has what
// want has and what must stay, less what is broken. It changes nothing in a
// set that is legal already. A want that keeps everything is legal as it is:
// nothing is cut, so nothing is judged.
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
	// From the end to the front: mending a gap only ever adds before it.
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

// mend keeps what the order of roles needs before exchange i.
func (c *Cuts) mend(keep []bool, i int) {
	before := i - 1
	for before >= 0 && !keep[before] {
		before--
	}
	if add := c.missing(before, i); add >= 0 {
		keep[add] = true
		c.mend(keep, i) // the gap is smaller now and may need more
	}
}

// Follows reports whether exchange i may stand behind exchange before, -1 for none, with
// nothing of what is between them.
func (c *Cuts) Follows(before, i int) bool { return c.missing(before, i) < 0 }

// missing is an exchange that the order of roles needs between two; -1 for none.
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
			// A user broke into that turn. The results may not stand before the
			// newest question as if their loop were still running.
			add = before + 1
		}
	case first != Question && (last == Turn || last == Preamble && c.asksFirst):
		add = c.question(before, i)
	}
	return add
}

// reply is the exchange that closed the turn which exchange before belongs to,
// if it stands before exchange i.
func (c *Cuts) reply(before, i int) int {
	found := -1
	for j := before + 1; j < i && c.Exchanges[j].First != Question; j++ {
		if e := &c.Exchanges[j]; e.Broken == "" && e.First == Turn {
			found = j
		}
	}
	return found
}

// question is the exchange that opened the turn which exchange i belongs to, if
// it stands after exchange before.
func (c *Cuts) question(before, i int) int {
	for j := i - 1; j > before; j-- {
		if e := &c.Exchanges[j]; e.Broken == "" && e.Last == Question {
			return j
		}
	}
	return -1
}

// Messages turns a set of exchanges into a set of messages.
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

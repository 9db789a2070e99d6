package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// slack is how many tokens may be left over: no passage is smaller.
const slack = 8

// header is the line above the passages of a day.
func (ss *session) header() string {
	if ss.begin.IsZero() {
		return ""
	}
	return ss.begin.Format("2 January 2006") + ":\n"
}

// prefix says who speaks.
func (s *Scope) prefix(speaker int32, role string) string {
	switch {
	case speaker >= 0:
		return s.people.names[speaker] + ": "
	case role == "":
		return ""
	}
	return role + ": "
}

// gap stands between two passages of a message that do not touch.
const gap = "…\n"

func ended(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// packing chooses passages under a budget of tokens.
type packing struct {
	s        *Scope
	budget   int
	used     int
	top      int  // the most passages; 0 or less for no limit
	repeats  bool // what says the same is taken, too
	sessions map[int32]bool
	chosen   []int32         // in the order of choice
	taken    map[uint64]bool // by what they say
}

func (s *Scope) packing(budget, top int) *packing {
	return &packing{s: s, budget: budget, top: top, sessions: map[int32]bool{}, taken: map[uint64]bool{}}
}

// add takes a passage if it fits and nothing taken says the same.
func (p *packing) add(i int32) bool {
	if p.full() || p.taken[p.same(i)] {
		return false
	}
	session := p.s.messages[p.s.messageOf[i]].session
	cost := int(p.s.cost[i])
	if !p.sessions[session] {
		cost += int(p.s.sessions[session].cost)
	}
	if p.used+cost > p.budget {
		return false
	}
	p.used += cost
	p.sessions[session] = true
	p.taken[p.same(i)] = true
	p.chosen = append(p.chosen, i)
	return true
}

// same is what all passages have in common of which one is taken.
func (p *packing) same(i int32) uint64 {
	if p.repeats {
		return uint64(i)
	}
	return p.s.saying[i]
}

func (p *packing) full() bool {
	return p.budget-p.used < slack || p.top > 0 && len(p.chosen) >= p.top
}

// finish puts the passages in the order of time. Costs are counted passage by
// passage; should the whole ever be more than their sum, the last chosen go.
func (p *packing) finish() (text string, tokens int, order []int32, texts []string) {
	for {
		order = slices.Clone(p.chosen)
		p.s.chronological(order)
		texts = texts[:0]
		reader := p.s.texts.reader()
		for _, i := range order {
			texts = append(texts, reader.at(i))
		}
		text = p.s.write(order, texts)
		tokens = p.s.count(text)
		if tokens <= p.budget || len(p.chosen) == 0 {
			return text, tokens, order, texts
		}
		p.chosen = p.chosen[:len(p.chosen)-1]
	}
}

// chronological sorts passages by time; those of the same time by session, then as
// they were said.
func (s *Scope) chronological(order []int32) {
	slices.SortFunc(order, func(a, b int32) int {
		ma, mb := s.messageOf[a], s.messageOf[b]
		return cmp.Or(s.when(ma).Compare(s.when(mb)), cmp.Compare(s.messages[ma].session, s.messages[mb].session), cmp.Compare(a, b))
	})
}

// when is the time of a message; where it has none, that of its session.
func (s *Scope) when(m int32) time.Time {
	if t := s.origins[m].time; !t.IsZero() {
		return t
	}
	return s.sessions[s.messages[m].session].begin
}

// later reports whether a passage was said after another.
func (s *Scope) later(a, b int32) bool {
	return cmp.Or(s.when(s.messageOf[a]).Compare(s.when(s.messageOf[b])), cmp.Compare(a, b)) > 0
}

// write makes the text that a model is shown. Passages that touch are put together
// again as they stood.
func (s *Scope) write(order []int32, texts []string) string {
	var b strings.Builder
	day := ""
	for k, i := range order {
		m := s.messageOf[i]
		msg := &s.messages[m]
		header := s.sessions[msg.session].header()
		before := int32(-1)
		if k > 0 {
			before = order[k-1]
		}
		switch {
		case before < 0 || header != day:
			b.WriteString(header)
			b.WriteString(s.prefix(msg.speaker, s.origins[m].role))
			day = header
		case s.messageOf[before] != m:
			b.WriteString(s.prefix(msg.speaker, s.origins[m].role))
		case before != i-1 || s.flags[i]&flagTool != 0:
			b.WriteString(gap)
		}
		text := texts[k]
		if k+1 < len(order) && order[k+1] == i+1 && s.messageOf[i+1] == m && s.flags[i+1]&flagTool == 0 {
			b.WriteString(text)
		} else {
			b.WriteString(ended(text))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

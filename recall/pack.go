package recall

import (
	"cmp"
	"slices"
	"strings"
)

// slack is how many tokens may be left over: no passage is smaller.
const slack = 8

// header is the line above the passages of a session.
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
	sessions map[int32]bool
	chosen   []int32 // in the order of choice
	taken    map[int32]bool
}

func (s *Scope) packing(budget int) *packing {
	return &packing{s: s, budget: budget, sessions: map[int32]bool{}, taken: map[int32]bool{}}
}

// add takes a passage if it fits.
func (p *packing) add(i int32) bool {
	if p.taken[i] {
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
	p.taken[i] = true
	p.chosen = append(p.chosen, i)
	return true
}

func (p *packing) full() bool { return p.budget-p.used < slack }

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

// chronological sorts passages by the time of their session, then as they were said.
func (s *Scope) chronological(order []int32) {
	slices.SortFunc(order, func(a, b int32) int {
		ma, mb := s.messageOf[a], s.messageOf[b]
		sa, sb := s.messages[ma].session, s.messages[mb].session
		if sa != sb {
			return cmp.Or(s.sessions[sa].begin.Compare(s.sessions[sb].begin), cmp.Compare(sa, sb))
		}
		return cmp.Compare(a, b)
	})
}

// write makes the text that a model is shown. Passages that touch are put together
// again as they stood.
func (s *Scope) write(order []int32, texts []string) string {
	var b strings.Builder
	for k, i := range order {
		m := s.messageOf[i]
		msg := &s.messages[m]
		before := int32(-1)
		if k > 0 {
			before = order[k-1]
		}
		switch {
		case before < 0 || s.messages[s.messageOf[before]].session != msg.session:
			b.WriteString(s.sessions[msg.session].header())
			b.WriteString(s.prefix(msg.speaker, s.origins[m].role))
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

package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/quote"
)

// slack is how many tokens may be left over: no passage is smaller.
const slack = 8

// header returns the line above the passages of a day.
func (ss *session) header() string {
	if ss.begin.IsZero() {
		return ""
	}
	return ss.begin.Format("2 January 2006") + ":\n"
}

// label returns the author of a passage: the tool for tool output in any
// message, else the speaker or the role. A speaker never gets the name of a
// role.
func (s *Scope) label(speaker int32, role string, flags uint8) string {
	role = roleOf(role, flags)
	if speaker >= 0 && role != string(chat.Tool) && role != string(chat.Function) {
		if name := quote.Label(s.people.names[speaker]); name != "" && !quote.IsRole(name) {
			return name
		}
	}
	return quote.Label(role)
}

// roleOf returns the role of a passage's author. Tool output belongs to the
// tool in every message.
func roleOf(role string, flags uint8) string {
	if flags&flagGiven != 0 {
		return string(chat.Tool)
	}
	return role
}

// gap separates two passages of a message that are not adjacent.
const gap = "…\n"

// quoted formats a text as the words of label, up to the end of its last line.
func quoted(label, text string) string {
	return quote.Text(label, strings.TrimSuffix(text, "\n")) + "\n"
}

// packing chooses passages under a budget of tokens.
type packing struct {
	s        *Scope
	budget   int
	used     int
	top      int  // the most passages; no limit if 0 or less
	repeats  bool // take passages that repeat others, too
	sessions map[int32]bool
	chosen   []int32         // in the order of choice
	taken    map[uint64]bool // by hash of label and text
}

func (s *Scope) packing(budget, top int) *packing {
	return &packing{s: s, budget: budget, top: top, sessions: map[int32]bool{}, taken: map[uint64]bool{}}
}

// add takes a passage if it fits and no taken passage says the same.
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

// same returns a key that is equal for passages of which only one is taken.
func (p *packing) same(i int32) uint64 {
	if p.repeats {
		return uint64(i)
	}
	return p.s.saying[i]
}

func (p *packing) full() bool {
	return p.budget-p.used < slack || p.top > 0 && len(p.chosen) >= p.top
}

// finish sorts the passages by time and writes the text. Costs are counted
// passage by passage; if the whole ever costs more than their sum, finish
// removes the passages chosen last.
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

// chronological sorts passages by time, then by session, then by position.
func (s *Scope) chronological(order []int32) {
	slices.SortFunc(order, func(a, b int32) int {
		ma, mb := s.messageOf[a], s.messageOf[b]
		return cmp.Or(s.when(ma).Compare(s.when(mb)), cmp.Compare(s.messages[ma].session, s.messages[mb].session), cmp.Compare(a, b))
	})
}

// when returns the time of a message or, if it has none, of its session.
func (s *Scope) when(m int32) time.Time {
	if t := s.origins[m].time; !t.IsZero() {
		return t
	}
	return s.sessions[s.messages[m].session].begin
}

// later reports whether passage a was said after passage b.
func (s *Scope) later(a, b int32) bool {
	return cmp.Or(s.when(s.messageOf[a]).Compare(s.when(s.messageOf[b])), cmp.Compare(a, b)) > 0
}

// write formats the text for the model: quotations under the days on which
// they were said. Adjacent passages are joined again.
func (s *Scope) write(order []int32, texts []string) string {
	var b strings.Builder
	day, author := "", ""
	for k := 0; k < len(order); {
		i, text := order[k], texts[k]
		m, before := s.messageOf[i], k-1
		for k++; k < len(order) && s.goesOn(order[k-1], order[k]); k++ {
			text += texts[k]
		}
		header := s.sessions[s.messages[m].session].header()
		label := s.label(s.messages[m].speaker, s.origins[m].role, s.flags[i])
		if before < 0 || header != day {
			b.WriteString(header)
		} else if s.messageOf[order[before]] == m && label == author {
			b.WriteString(gap)
			label = ""
		}
		b.WriteString(quoted(label, text))
		if day = header; label != "" {
			author = label
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// goesOn reports whether passage b begins where passage a ends.
func (s *Scope) goesOn(a, b int32) bool {
	return b == a+1 && s.messageOf[a] == s.messageOf[b] && s.flags[b]&flagTool == 0
}

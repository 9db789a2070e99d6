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
	return ss.begin.Format(dayLayout) + ":\n"
}

// reader returns the time at which somebody reads the passages of a session: now, or the
// latest date that texts tell where they tell dates. The zero time means that it is unknown.
func (s *Scope) reader(ss *session, now time.Time) time.Time {
	if !ss.told || now.IsZero() {
		return now
	}
	return s.lastTold[ss.number]
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

// author returns the label of a passage, and its text without the name that the label has
// already: "Ann: Hello" of the user Ann is quoted as "Ann> Hello".
func (s *Scope) author(i int32, text string) (label, rest string) {
	m := &s.messages[s.messageOf[i]]
	label = s.label(m.speaker, s.origins[s.messageOf[i]].role, s.flags[i])
	speaker := s.speaker(m)
	if m.speaker != none || speaker == none || !s.told.alone(m.told) ||
		s.flags[i]&(flagTool|flagGiven|flagMixed) != 0 || !isPerson(label) {
		return label, text
	}
	name := quote.Label(s.people.names[speaker])
	if name == "" || quote.IsRole(name) {
		return label, text
	}
	if at := speaking.FindStringSubmatchIndex(text); at != nil && text[at[4]:at[5]] == s.people.names[speaker] &&
		(at[2] < 0 || s.dated(i)) {
		text = text[at[1]:]
	}
	return name, text
}

// isPerson reports whether a role is that of somebody who talks.
func isPerson(role string) bool { return role == string(chat.User) || role == string(chat.Assistant) }

// dated reports whether the day of a passage stands above it.
func (s *Scope) dated(i int32) bool {
	return !s.sessions[s.messages[s.messageOf[i]].session].begin.IsZero()
}

// roleOf returns the role of a passage's author. Tool output belongs to the
// tool in every message.
func roleOf(role string, flags uint8) string {
	if flags&flagGiven != 0 {
		return string(chat.Tool)
	}
	return role
}

// gap separates two passages of a message that are not adjacent, and ends one that is
// cut.
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
	now      time.Time
	whole    bool // take no beginnings
	sessions map[int32]bool
	chosen   []int32         // in the order of choice
	taken    map[uint64]bool // by hash of label and text
	begun    map[int32]begun // those of chosen that are cut
	tight    bool            // a beginning did not fit
}

// begun is the beginning of a passage, and its cost in tokens with a gap after it.
type begun struct {
	text string
	cost int32
}

func (s *Scope) packing(budget, top int) *packing {
	return &packing{s: s, budget: budget, top: top, sessions: map[int32]bool{}, taken: map[uint64]bool{},
		begun: map[int32]begun{}}
}

// add takes a passage if it fits and no taken passage says the same. Of a long passage
// that does not fit it takes the beginning.
func (p *packing) add(i int32) bool {
	if p.full() || p.taken[p.same(i)] {
		return false
	}
	session := p.s.messages[p.s.messageOf[i]].session
	left := p.budget - p.used
	if !p.sessions[session] {
		left -= int(p.s.sessions[session].cost)
	}
	cost := int(p.s.cost[i])
	if cost > left {
		b, ok := p.begin(i, left)
		if !ok {
			return false
		}
		p.begun[i] = b
		cost = int(b.cost)
	}
	p.used = p.budget - left + cost
	p.sessions[session] = true
	p.taken[p.same(i)] = true
	p.chosen = append(p.chosen, i)
	return true
}

// begin returns the beginning of a long passage if it fits into left tokens. It tries no
// other passage after one that does not fit.
func (p *packing) begin(i int32, left int) (begun, bool) {
	if p.whole || p.tight || p.s.cost[i] <= beginTokens {
		return begun{}, false
	}
	text := p.s.texts.at(i)
	b := begun{text: beginning(text)}
	if len(b.text) == len(text) || p.s.flags[i]&flagMixed != 0 && !saysTheSame(text, len(b.text)) {
		return begun{}, false
	}
	m := p.s.messageOf[i]
	b.cost = int32(p.s.count(quoted(p.s.label(p.s.messages[m].speaker, p.s.origins[m].role, p.s.flags[i]),
		b.text) + gap))
	p.tight = int(b.cost) > left
	return b, !p.tight
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
			if b, ok := p.begun[i]; ok {
				texts = append(texts, b.text)
			} else {
				texts = append(texts, reader.at(i))
			}
		}
		text = p.write(order, texts)
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
		return cmp.Or(s.when(ma).Compare(s.when(mb)), cmp.Compare(s.messages[ma].session, s.messages[mb].session),
			cmp.Compare(a, b))
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

// write formats the text for the model: quotations under the days on which they were
// said. Adjacent passages are joined again.
func (p *packing) write(order []int32, texts []string) string {
	var b strings.Builder
	s := p.s
	day, author, cut := "", "", false
	for k := 0; k < len(order); {
		i, text := order[k], texts[k]
		m, before := s.messageOf[i], k-1
		for k++; k < len(order) && p.goesOn(order[k-1], order[k]); k++ {
			text += texts[k]
		}
		ss := &s.sessions[s.messages[m].session]
		header := ss.header()
		label, text := s.author(i, text)
		if before < 0 || header != day {
			b.WriteString(header)
		} else if s.messageOf[order[before]] == m && label == author {
			if !cut {
				b.WriteString(gap)
			}
			label = ""
		}
		if label != "" {
			label += p.datesIn(i, ss, text)
		}
		if s.flags[i]&flagMixed != 0 {
			first, lines := QuoteMixed(label, text) // a whole message, which always has a label
			b.WriteString(first + lines + "\n")
			label = "mixed" // what follows has a label of its own
		} else {
			b.WriteString(quoted(label, text))
		}
		if _, cut = p.begun[order[k-1]]; cut {
			b.WriteString(gap)
		}
		if day = header; label != "" {
			author = label
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// datesIn returns what the dates that a passage tells in words mean, for its label, if the
// reader reads it on another day. Calls and results of tools tell none.
func (p *packing) datesIn(i int32, ss *session, text string) string {
	now := p.s.reader(ss, p.now)
	if now.IsZero() || ss.begin.IsZero() || p.s.flags[i]&flagTool != 0 || dayNumber(now) == dayNumber(ss.begin) {
		return ""
	}
	if dates := datesSaid(text, ss.begin); dates != "" {
		return " (" + dates + ")"
	}
	return ""
}

// goesOn reports whether passage b begins where the shown text of passage a ends.
func (p *packing) goesOn(a, b int32) bool {
	_, cut := p.begun[a]
	return b == a+1 && p.s.messageOf[a] == p.s.messageOf[b] && p.s.flags[b]&flagTool == 0 &&
		p.s.flags[a]&flagGiven == p.s.flags[b]&flagGiven && !cut
}

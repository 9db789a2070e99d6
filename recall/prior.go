package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/keyword"
)

// Flags of a passage.
const (
	flagUser uint8 = 1 << iota
	flagInstruction
	flagPreference
	flagRemoved
	flagTool  // sent to a tool, or returned by a tool or in a file
	flagShort // too short to be found
	flagGiven // returned by a tool or in a file
	flagMixed // a person's words beside what a program put there
)

// people holds the named speakers of a scope.
type people struct {
	names []string // as written
	lower []string
	terms []keyword.Term // of all names
}

// add returns the number of a name, and none for the empty name.
func (p *people) add(name string) int32 {
	if name == "" {
		return none
	}
	if i := slices.Index(p.names, name); i >= 0 {
		return int32(i)
	}
	p.names = append(p.names, name)
	p.lower = append(p.lower, strings.ToLower(name))
	p.terms, _ = (&keyword.Analyser{}).Terms(p.terms, name)
	return int32(len(p.names) - 1)
}

// favour returns what each speaker's passages gain: 1 if the query names the
// speaker, -1 if it names only others.
func (p *people) favour(query string) []float32 {
	q := strings.ToLower(query)
	out := make([]float32, len(p.names))
	named := 0
	for i, n := range p.lower {
		if containsWord(q, n) {
			out[i] = 1
			named++
		}
	}
	for i := range out {
		if others := named - int(out[i]); others > 0 {
			out[i]--
		}
	}
	return out
}

// containsWord reports whether text contains name as a whole word.
func containsWord(text, name string) bool {
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(name):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at+i:])
		at += i + size
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lengths are the lengths of what users and assistants without names say, in bytes.
type lengths struct{ users, user, assistants, assistant int }

func (l *lengths) add(m *Message) {
	switch {
	case m.Text == "":
	case m.Role == string(chat.User):
		l.users++
		l.user += len(m.Text)
	case m.Role == string(chat.Assistant):
		l.assistants++
		l.assistant += len(m.Text)
	}
}

// An assistant whose messages are lengthTo times as long as the user's explains, and the
// facts are the user's. One whose messages are about as long may be a person who has said
// them. What the asker says of "me" or "us" is the user's in any case.
const (
	lengthFrom, lengthTo = 1, 3
	leastUser            = .4
)

// userShare returns how far the answer to a query is likely to be in the user's words, from 0 to
// 1.
func (l *lengths) userShare(query string) float32 {
	if l.users == 0 || l.assistants == 0 || us.MatchString(query) {
		return 1
	}
	ratio := float32(l.assistant) * float32(l.users) / (float32(l.assistants) * float32(max(l.user, 1)))
	return max(leastUser, ramp(ratio, lengthFrom, lengthTo))
}

// prior is what a passage scores regardless of its words, for its speaker,
// role, date and directives.
type prior struct {
	speaker []float32 // by number of the speaker
	session []float32 // by number of the session; nil without dates in the query
	user    float32
	tool    float32
	instruction,
	preference float32
}

func (s *Scope) prior(w *Weights, query string, a aim, d dates) prior {
	p := prior{speaker: s.people.favour(query), instruction: w.Instruction, preference: w.Preference}
	for i := range p.speaker {
		p.speaker[i] *= w.Speaker
	}
	p.user = w.User[a] * s.lengths.userShare(query)
	if a == work {
		p.tool = w.Tool
	}
	if !d.none() {
		p.session = make([]float32, len(s.sessions))
		for i := range s.sessions {
			p.session[i] = w.Date * d.match(s.sessions[i].begin)
		}
	}
	return p
}

// of returns the prior of a passage of a speaker, or of nobody with a name.
func (p *prior) of(speaker int32, m *message, flags uint8) (sum float32) {
	if speaker >= 0 && int(speaker) < len(p.speaker) { // else its name was found after the scores
		sum = p.speaker[speaker]
	} else if flags&flagUser != 0 {
		sum = p.user
	}
	if flags&flagTool != 0 {
		sum += p.tool
	}
	if p.session != nil {
		sum += p.session[m.session]
	}
	return sum + p.directive(flags)
}

// directive returns what a passage gains for stating an instruction or a
// preference.
func (p *prior) directive(flags uint8) (sum float32) {
	if flags&flagInstruction != 0 {
		sum += p.instruction
	}
	if flags&flagPreference != 0 {
		sum += p.preference
	}
	return sum
}

package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel/recall/keyword"
)

// Flags of a passage.
const (
	flagUser uint8 = 1 << iota
	flagInstruction
	flagPreference
	flagRemoved
	flagTool  // told to a tool, or given by a tool or in a file
	flagShort // too short to be found
	flagGiven // by a tool or in a file
)

// people are the named speakers of a scope.
type people struct {
	names []string // as they are written
	lower []string
	terms []keyword.Term // of all names
}

// add gives a name's number; none for none.
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

// favour says for each speaker what their passages gain: 1 for one whom the query
// names, -1 where it names only others.
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

// containsWord reports whether a text has a name that is no part of another word.
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

// prior is what is known of a passage before its words are looked at, by who said
// it and when.
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
	p.user = w.User[a]
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

// of is the prior of a passage.
func (p *prior) of(m *message, flags uint8) (sum float32) {
	if m.speaker >= 0 {
		sum = p.speaker[m.speaker]
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

// directive is what a passage has for telling how the user wants things.
func (p *prior) directive(flags uint8) (sum float32) {
	if flags&flagInstruction != 0 {
		sum += p.instruction
	}
	if flags&flagPreference != 0 {
		sum += p.preference
	}
	return sum
}

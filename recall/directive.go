package recall

import (
	"regexp"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/directive"
)

// A Directive is an instruction or preference that a user of a scope has
// stated.
type Directive struct {
	Said
	Block string
	Ref   string
	Time  time.Time
	// Original is what the user said, if Text is an edited text that replaces it. A
	// message whose instructions were edited has one directive.
	Original string
}

// saidIn is a directive with the passage that contains it.
type saidIn struct {
	passage int32
	Said
}

// Directives returns the directives of the scope, oldest first, so that of two
// that contradict each other the newer one comes later. It returns none for
// conversations in which several people have names: those people speak to each
// other.
func (s *Scope) Directives() []Directive {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Directive
	for i := range s.said {
		d := &s.said[i]
		if flags := s.flags[d.passage]; flags&d.Kind.flag() == 0 || flags&flagRemoved != 0 {
			continue
		}
		from := &s.origins[s.messageOf[d.passage]]
		out = append(out, Directive{Said: d.Said, Block: from.block, Ref: from.ref, Time: from.time})
	}
	return out
}

// Kind is the kind of a directive.
type Kind string

// The kinds of directives.
const (
	// Instruction is a rule for the future: "always …", "never …".
	Instruction Kind = "instruction"
	// Preference is something that the user likes or must avoid.
	Preference Kind = "preference"
)

func (k Kind) flag() uint8 {
	if k == Instruction {
		return flagInstruction
	}
	return flagPreference
}

// Said is one sentence that states an instruction or a preference.
type Said struct {
	Kind Kind
	Text string
}

// Detect finds the standing instructions and preferences in the text of a
// user's message. It ignores code, quotations, tables, summaries of earlier
// sessions and what programs put into the message (see [chat.Spoken]), because
// the user did not say them.
func Detect(text string) []Said {
	var out []Said
	for _, d := range detect(text) {
		out = append(out, d.Said)
	}
	return out
}

// saidAt is a directive with its byte offset in a text.
type saidAt struct {
	Said
	at int
}

// detect returns the directives with their offsets. It reads a whole message,
// because a passage may begin or end within code.
func detect(text string) (out []saidAt) {
	if !directive.May(text) || strings.HasPrefix(strings.TrimSpace(text), continued) {
		return nil
	}
	// Blank the code with text of the same length, so that offsets stay valid.
	plain := unfenced(spoken(text))
	at, left := 0, mostSearched
	for line := range strings.Lines(plain) {
		if left <= 0 {
			break
		}
		if line := line[:clip.Floor(line, left)]; !aside(line) {
			left -= len(strings.TrimSpace(line))
			for _, s := range sentences(line) {
				if s.end-s.begin < 6 || s.end-s.begin > 700 {
					continue
				}
				said := text[at+s.begin : at+s.end]
				if kind := kindOf(said); kind != "" {
					out = append(out, saidAt{Said{kind, said}, at + s.begin})
				}
			}
		}
		at += len(line)
	}
	return out
}

// mostSearched is the most bytes of a message, other than white space and what is not the
// user's words, in which directives are looked for. Nobody says more by hand.
const mostSearched = 64 << 10

// unfenced blanks fenced code.
func unfenced(text string) string {
	const ticks, tildes = "```", "~~~"
	find := func(mark string, from int) int {
		if i := strings.Index(text[from:], mark); i >= 0 {
			return from + i
		}
		return len(text)
	}
	var b strings.Builder
	// A mark that was found is kept until it is passed, so that the text is searched once for
	// each mark, however many there are of the other.
	tick, tilde := -1, -1
	for from := 0; ; {
		if tick < from {
			tick = find(ticks, from)
		}
		if tilde < from {
			switch {
			case from == 0 && strings.HasPrefix(text, tildes):
				tilde = 0
			default: // at the beginning of a line
				tilde = min(find("\n"+tildes, max(0, from-1))+1, len(text))
			}
		}
		at, mark := tick, ticks
		if tilde < tick {
			at, mark = tilde, tildes
		}
		b.WriteString(text[from:at])
		if at == len(text) {
			return b.String()
		}
		from = min(find(mark, at+len(mark))+len(mark), len(text))
		b.WriteString(strings.Repeat("\n", from-at))
	}
}

// spoken blanks the parts of a text that are not plainly the user's words; see
// [chat.Spoken].
func spoken(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, s := range chat.Spoken(text) {
		b.WriteString(strings.Repeat("\n", s[0]-b.Len()))
		b.WriteString(text[s[0]:s[1]])
	}
	b.WriteString(strings.Repeat("\n", len(text)-b.Len()))
	return b.String()
}

var fenced = regexp.MustCompile("(?s)```.*?(?:```|$)")

// aside reports whether a line is shown rather than said: a quotation, a row of a table, or
// indented code, but not an indented list item. Every line of a person's message is tested,
// so there is no regular expression.
func aside(line string) bool {
	const white = "\t\n\f\r "
	said := strings.TrimLeft(line, white)
	if said == "" {
		return false
	}
	if len(line)-len(said) <= 3 && (said[0] == '>' || said[0] == '|') {
		return true
	}
	if !strings.HasPrefix(line, "    ") && line[0] != '\t' {
		return false
	}
	if strings.IndexByte("-*+0123456789", said[0]) < 0 {
		return true
	}
	return len(said) > 1 && strings.IndexByte(white, said[1]) < 0
}

// continued is how Claude Code begins the summary of a session that it has
// compacted.
const continued = "This session is being continued from a previous conversation"

// part is a range of bytes in a line.
type part struct{ begin, end int }

// sentences splits a line after the marks that end a sentence.
func sentences(line string) (out []part) {
	add := func(begin, end int) {
		begin += len(line[begin:end]) - len(strings.TrimLeft(line[begin:end], space))
		end = begin + len(strings.TrimRight(line[begin:end], space))
		if begin < end {
			out = append(out, part{begin, end})
		}
	}
	start := 0
	for i := 0; i < len(line)-1; i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && isSpace(line[i+1]) {
			add(start, i+1)
			start = i + 1
		}
	}
	add(start, len(line))
	return out
}

const space = " \t\r\n"

// kindOf returns the kind of directive that a sentence is, or "" if it is
// none.
func kindOf(s string) Kind {
	switch {
	case directive.Instructs(s):
		return Instruction
	case directive.Prefers(s):
		return Preference
	}
	return ""
}

package recall

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/timeline"
)

// Message is something that was said, with what recall needs to know of it.
type Message struct {
	// Conversation tells the conversations of a wider scope apart. Messages of
	// one conversation are added in the order in which they were said.
	Conversation string
	// Block is the owner's id of the message; it names it in hits, and to Remove.
	Block string
	// Ref is the message's own id where it came from.
	Ref  string
	Time time.Time
	// Content is the hash of what it was read from; vectors are kept under it.
	Content timeline.Hash
	// Session groups messages that belong together. Where it is empty, a pause of
	// SessionGap begins a new one.
	Session string
	// Role is who speaks: "user", "assistant", "tool", …
	Role string
	// Name is the speaker's own name, in talks of people.
	Name string
	// Text is what was said, in words. It is indexed, and shown, as it stands.
	Text string
	// Tools are what calls of tools come down to, Given what results and files do, one
	// text each: see Read. What is given is a tool's whoever's message it stands in.
	Tools, Given []string
}

// SessionGap is the pause after which a new session begins.
const SessionGap = 6 * time.Hour

// Sizes of passages in bytes. A token is about four of them.
const (
	passageTarget = 4 * 128 // of assistants' and tools' text
	longTarget    = 4 * 256 // of users' text
	longText      = 4 * 1000
	minIndexed    = 10 // characters; what has no more is not indexed (SPEC D2)
)

// whole reports whether a message stays in one passage: what people say is short
// and means something only as a whole. Splitting it costs a seventh of the recall
// of whole messages.
func (m *Message) whole() bool { return m.Role == "user" || m.Name != "" }

// passages are the pieces of a message that are found and shown by themselves. Put
// together, those of the text are the text.
func (m *Message) passages() []string {
	var out []string
	switch {
	case m.whole() && len(m.Text) <= longText:
		out = append(out, m.Text)
	case m.whole():
		out = split(m.Text, longTarget)
	default:
		out = split(m.Text, passageTarget)
	}
	return out
}

// indexed reports whether a piece says enough to be found.
func indexed(piece string) bool {
	return utf8.RuneCountInString(strings.TrimSpace(piece)) > minIndexed
}

// split cuts a text at the ends of lines, long lines at the ends of sentences, and
// long sentences between words, into pieces of about target bytes.
func split(text string, target int) []string {
	var atoms []string
	for line := range strings.SplitAfterSeq(text, "\n") {
		if len(line) <= target*5/4 {
			atoms = append(atoms, line)
			continue
		}
		for line != "" {
			n := sentence(line)
			for s := line[:n]; s != ""; {
				k := len(s)
				if k > target*3/2 {
					k = wordEnd(s, target/2, target)
				}
				atoms = append(atoms, s[:k])
				s = s[k:]
			}
			line = line[n:]
		}
	}
	return merge(text, atoms, target)
}

// merge joins neighbours while they are short enough. A short end joins what stands
// before it.
func merge(text string, atoms []string, target int) []string {
	var out []string
	start, end := 0, 0
	for _, a := range atoms {
		if end > start && end-start+len(a) > target*11/10 {
			out = append(out, text[start:end])
			start = end
		}
		end += len(a)
	}
	if end > start {
		if n := len(out); n > 0 && end-start < target/4 {
			out[n-1] = text[start-len(out[n-1]) : end]
		} else {
			out = append(out, text[start:end])
		}
	}
	return out
}

// sentence is the length of the first sentence of a line, with the space after it.
func sentence(line string) int {
	for i := 0; i < len(line)-1; i++ {
		if strings.IndexByte(".!?;:", line[i]) >= 0 && isSpace(line[i+1]) {
			i++
			for i < len(line) && isSpace(line[i]) {
				i++
			}
			return i
		}
	}
	return len(line)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// wordEnd is where a text is best cut between from and to: after the last space, or
// at to, but never within a character.
func wordEnd(s string, from, to int) int {
	if i := strings.LastIndexByte(s[from:to], ' '); i >= 0 {
		return from + i + 1
	}
	for to > from && !utf8.RuneStart(s[to]) {
		to--
	}
	return to
}

package recall

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/timeline"
)

// A Message is one message to index.
type Message struct {
	// Conversation separates the conversations of a wider scope. The messages
	// of one conversation must be added in order.
	Conversation string
	// Block is the caller's id of the message. Hits contain it, and Remove
	// takes it.
	Block string
	// Ref is the message's id at its source.
	Ref  string
	Time time.Time
	// Content is the hash of the content that the message was read from.
	// Vectors are stored under it.
	Content timeline.Hash
	// Session groups messages that belong together. If it is empty, a pause of
	// SessionGap begins a new session.
	Session string
	// Role is the author's role: "user", "assistant", "tool", …
	Role string
	// Name is the speaker's own name, in conversations between people.
	Name string
	// Text is the prose of the message. It is indexed and shown unchanged.
	Text string
	// Tools are the texts of tool calls, Given those of results and files, one
	// each; see Read. What is given belongs to a tool in any message.
	Tools, Given []string
}

// SessionGap is the pause after which a new session begins.
const SessionGap = 6 * time.Hour

// Sizes of passages in bytes. A token is about four of them.
const (
	passageTarget = 4 * 128 // of assistants' and tools' text
	longTarget    = 4 * 256 // of users' text
	longText      = 4 * 1000
	beginTokens   = 64 // of the beginning of a passage that does not fit
	minIndexed    = 10 // in characters; shorter texts are not indexed (SPEC D2)
)

// whole reports whether a message stays in one passage. What people say is
// short, and makes sense only as a whole: splitting it costs a seventh of the
// recall of whole messages.
func (m *Message) whole() bool { return m.Role == "user" || m.Name != "" }

// passages returns the pieces of a message that are found and shown
// separately. The pieces of Text add up to Text. A long text is cut where a person's words
// begin and end; see [chat.Spoken].
func (m *Message) passages(spoken [][2]int) []string {
	switch {
	case !m.whole():
		return split(m.Text, passageTarget)
	case len(m.Text) <= longText:
		return []string{m.Text}
	}
	var out []string
	at := 0
	upTo := func(end int) {
		if strings.TrimSpace(m.Text[at:end]) != "" {
			out = append(out, split(m.Text[at:end], longTarget)...)
			at = end
		}
	}
	for _, s := range spoken {
		upTo(s[0])
		upTo(s[1])
	}
	upTo(len(m.Text))
	if n := len(out) - 1; n >= 0 {
		out[n] += m.Text[at:]
	} else {
		out = []string{m.Text}
	}
	return out
}

// indexed reports whether a piece is long enough to be indexed.
func indexed(piece string) bool {
	return utf8.RuneCountInString(strings.TrimSpace(piece)) > minIndexed
}

// beginning returns the first lines or sentences of a text, about beginTokens long.
func beginning(text string) string {
	n := 0
	for _, piece := range split(text, 4*beginTokens) {
		if n += len(piece); n >= 4*beginTokens*3/4 {
			break
		}
	}
	return text[:n]
}

// split cuts a text into pieces of about target bytes: at line ends, long
// lines at sentence ends, long sentences between words.
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

// merge joins adjacent pieces while they stay short enough. A short last piece
// joins the one before it.
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

// sentence returns the length of the first sentence of a line, with the space
// after it.
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

// wordEnd returns the best place to cut a text between from and to: after the
// last space, or at to, but never within a character.
func wordEnd(s string, from, to int) int {
	if i := strings.LastIndexByte(s[from:to], ' '); i >= 0 {
		return from + i + 1
	}
	for to > from && !utf8.RuneStart(s[to]) {
		to--
	}
	return to
}

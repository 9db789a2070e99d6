/*
Package quote writes text of other authors as data: a reader can always tell a quoted
line from a line of the writer, whatever the quoted text says.

A quotation is

	label> first line
	> second line

Every quoted line has the mark ">" before its text; only the first line of a quotation
has a label before the mark, and no label contains a mark. Line separators of Unicode
and control characters that end a line count as line ends. [Disarm] breaks what models
and agents take for structure: labels of speakers, Oriel's own markers, reserved tags
and the control tokens of chat templates. It inserts one backslash into each.

# What it guarantees

  - [Undo] returns the quoted text, character by character.
  - No line of a quotation begins with text that was quoted.

# Caveats

A model may still follow what it reads in a quotation; the quotation only shows where
the text comes from. Disarm knows the structures listed in this package.
*/
package quote

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark precedes the text of every quoted line.
const mark = '>'

// Text quotes a text as the words of label, which may be empty.
func Text(label, text string) string { return Lines(label, Disarm(text)) }

// Lines is Text without Disarm.
func Lines(label, text string) string {
	var b strings.Builder
	b.Grow(len(label) + len(text) + 16)
	b.WriteString(label)
	for {
		n, end := line(text)
		b.WriteByte(mark)
		if n > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text[:end])
		if text = text[end:]; n == end {
			return b.String()
		}
	}
}

// Continue marks every line of a text except the first, which follows a label
// of another form, and disarms the text.
func Continue(text string) string {
	text = Disarm(text)
	n, end := line(text)
	if n == end {
		return text
	}
	return text[:end] + Lines("", text[end:])
}

// Undo removes marks and labels, and the backslashes that Disarm inserted. It
// returns lines without a mark unchanged.
func Undo(quoted string) string {
	var b strings.Builder
	b.Grow(len(quoted))
	for {
		n, end := line(quoted)
		text := quoted[:n]
		if i := strings.IndexByte(text, mark); i >= 0 {
			text = strings.TrimPrefix(text[i+1:], " ")
		}
		b.WriteString(text)
		b.WriteString(quoted[n:end])
		if quoted = quoted[end:]; n == end {
			return eachStructure(b.String(), arm)
		}
	}
}

// line returns the length of the first line of a text, without and with its
// line end. Both are equal for the last line.
func line(text string) (n, end int) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
			return i, i + 2
		case '\n' <= c && c <= '\r': // \n, \v, \f, \r
			return i, i + 1
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == '\u0085' || r == '\u2028' || r == '\u2029' {
				return i, i + size
			}
			i += size
		}
	}
	return len(text), len(text)
}

// Label makes a name safe to stand before a mark, or anywhere outside a quotation: one line
// without marks, of at most 64 bytes before it is disarmed.
func Label(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == mark || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, name)
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return Disarm(strings.TrimSpace(name))
}

// Disarm inserts a backslash wherever a text could be read as structure:
// "user: " at the beginning of a line becomes "user\: ".
func Disarm(text string) string {
	return eachStructure(text, disarm)
}

// IsRole reports whether name is the name of a role.
func IsRole(name string) bool { return role.MatchString(name) }

// IsLabel reports whether a word before a colon labels a part of a text, such as "Answer",
// and names nobody.
func IsLabel(word string) bool { return label.MatchString(word) }

// roles are the names that chat formats give to the parties.
const roles = `users?|humans?|assistants?|systems?|developers?|tools?|functions?|models?|ai|bots?|claude|chatgpt|gpt|gemini|operator|administrator|admin`

// structure matches what Disarm breaks. Each alternative has exactly one place
// where backslashes match, any number of them, so the same places are found
// before and after Disarm.
var (
	role      = regexp.MustCompile(`(?i)^(?:` + roles + `)$`)
	label     = regexp.MustCompile(`(?i)^(?:q|a|questions?|answers?|thoughts?|observations?|actions?(?: input)?|final answer|notes?|summary|tasks?|results?|contexts?|examples?|inputs?|outputs?|steps?|errors?|warnings?|info|debug|todo|tips?|hints?|important|prompts?|responses?|reply|plans?|goals?|edit|update|status|subject|title|name|date|file|path|query|request|instructions?|reason(?:ing)?|conclusion|problem|solution|fix|key|value|topic|options?|part|section|chapter)$`)
	structure = regexp.MustCompile(`(?i)` +
		// A label: a role at the beginning of a line, in markup or with a note in
		// brackets, and a colon.
		`(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[^\pL\pN\\\n\r\v\f\x{85}\x{2028}\x{2029}]{0,12}(?:` + roles +
		`)(?:[ \t]{0,3}[([][^()[\]\\\n]{0,40}[)\]])?[ \t*_"'` + "`" + `]{0,4}\\*[:：]=?` +
		// The label of a quotation: a role and a mark.
		`|(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[^\pL\pN\\<\n\r\v\f\x{85}\x{2028}\x{2029}]{0,12}(?:` + roles +
		`)(?:[ \t]{0,3}[([][^()[\]\\\n]{0,40}[)\]])?[ \t*_"'` + "`" + `]{0,4}\\*>=?` +
		// A tag of a role at the beginning of a line.
		`|(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[ \t>*-]{0,12}<\\*/?(?:` + roles + `)\b` +
		// A label in brackets or a title of an assembled context at the beginning of
		// a line.
		`|(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[ \t>*-]{0,12}\[\\*(?:\d{4}-\d\d-\d\d \d\d:\d\d|(?:` + roles +
		`|file|git|error)\])` +
		`|(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[ \t>*-]{0,12}#\\* ?(?:Recent Context|Relevant Historical Context|Current Query)\b` +
		// Reserved tags, markers and control tokens anywhere.
		`|<\\*/?(?:system[-_]|antml:|function_(?:calls|results?)|tool_(?:use|result|call)|local-command-|command-(?:name|message|args)|start_of_turn|end_of_turn)` +
		`|<\\*\|` +
		`|<\\*<sys>>` +
		`|\[\\*/?(?:Oriel|INST|SYSTEM|AVAILABLE_TOOLS|TOOL_)`)
)

// place returns the position of a match's backslashes: before the colon or the
// mark of a label, after the bracket of everything else. It returns -1 for an
// assignment or a comparison, which is not a label.
func place(match string) int {
	switch {
	case strings.HasSuffix(match, "="):
		return -1
	case strings.HasSuffix(match, "："):
		return len(strings.TrimRight(strings.TrimSuffix(match, "："), `\`))
	case strings.HasSuffix(match, ":") && !reserved(match), strings.HasSuffix(match, ">") && !reserved(match):
		return len(strings.TrimRight(match[:len(match)-1], `\`))
	}
	return strings.IndexAny(match, "<[#") + 1
}

// reserved reports whether a match is a tag. The name of a tag may end in a
// colon or a mark.
func reserved(match string) bool { return match[0] == '<' }

func disarm(match string) string {
	at := place(match)
	if at < 0 {
		return match
	}
	return match[:at] + `\` + match[at:]
}

func arm(match string) string {
	at := place(match)
	if at < 0 || match[at] != '\\' {
		return match
	}
	return match[:at] + match[at+1:]
}

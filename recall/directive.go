package recall

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
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
	if !mayDirect(text) || strings.HasPrefix(strings.TrimSpace(text), continued) {
		return nil
	}
	// Blank the code with text of the same length, so that offsets stay valid.
	plain := fenced.ReplaceAllStringFunc(spoken(text), func(code string) string { return strings.Repeat("\n", len(code)) })
	at := 0
	for line := range strings.Lines(plain) {
		if !aside(line) {
			for _, s := range sentences(line) {
				if s.end-s.begin < 6 || s.end-s.begin > 700 {
					continue
				}
				said := text[at+s.begin : at+s.end]
				if !mayDirect(said) {
					continue
				}
				if kind := kindOf(strings.ReplaceAll(said, "\u2019", "'")); kind != "" {
					out = append(out, saidAt{Said{kind, said}, at + s.begin})
				}
			}
		}
		at += len(line)
	}
	return out
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

// kindOf returns the kind of directive that a sentence is, or "" if it is
// none.
func kindOf(s string) Kind {
	switch {
	case questions.MatchString(s), tells.MatchString(s):
		return ""
	case imperative(s), instructs.MatchString(s):
		return Instruction
	case prefers.MatchString(s):
		return Preference
	}
	return ""
}

// imperative reports whether a sentence begins with a command to always or
// never do something: "never use", but not "never works".
func imperative(s string) bool {
	m := ever.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	verb := strings.ToLower(m[1])
	third := strings.HasSuffix(verb, "s") && !strings.HasSuffix(verb, "ss") && verb != "focus"
	return !third && !slices.Contains(noVerbs, verb)
}

// mayDirect is a cheap test that most texts and sentences fail: each of the
// expressions below needs one of these words.
func mayDirect(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(hints, func(w string) bool { return strings.Contains(text, w) })
}

var (
	hints = []string{
		"always", "never", "now on", "here on", "this point", "henceforth", "rest of", "in all", "for all", "going forward", "future,", "i ask", "i request",
		" ever", "no circumstances", "no matter", "remember", "in mind", "forget", "note ", "only", "prefer", "rather", "like", "love", "hate", "stand", "enjoy",
		"allergic", "vegetarian", "vegan", "a fan", "call me",
	}
	fenced = regexp.MustCompile("(?s)```.*?(?:```|$)")
)

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

// ever matches "always" or "never" at the beginning of a sentence, also after
// a purpose ("for tests, always …"), and captures the verb.
var ever = regexp.MustCompile(`(?i)^(?:[-*+•]\s+|\d{1,2}[.)]\s+)?["*_]{0,2}(?:` + strings.Join([]string{
	`(?:(?:please|also|and|but|ok(?:ay)?|so|btw),?\s+)*`,
	`(?:remember|reminder|note|important)[:,]\s+(?:please\s+)?`,
	`(?:for|in|on) (?:this|our|my|the|all|any|every) (?:\w+ )?(?:projects?|repo|repository|codebase|conversation|chat|session|files?|folder|branch|document|tasks?|app|service|package|module),?\s+(?:please\s+)?`,
	`(?:when|whenever|if|before|after) you [^,.]{1,60},\s+(?:please\s+)?`,
}, "|") + `)["*_]{0,2}(?:always|never)["*_]{0,2}\s+(\w+)`)

// noVerbs are words after "always" and "never" that make the sentence a
// statement of fact.
var noVerbs = []string{
	"mind", "seen", "gonna", "got", "had", "been", "was", "were", "did", "saw", "the", "a", "an", "again", "happened", "worked", "received", "heard", "knew", "thought",
}

// questions matches sentences that are questions from their first word on. "I
// prefer examples, so can you …?" is not one of them: it states a
// preference.
var questions = regexp.MustCompile(`(?i)^(?:and |but |so )?(?:what|which|who|why|how|where|is|are|was|were|do|does|did|can|could|would|will|should|has|have|if|remember)\b.*\?$`)

// tells matches sentences that report something in the words of an
// instruction.
var tells = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`^(?:(?:when(?:ever)?|if|every time|each time|any time) i (?:ask|request)\b).*\b(?:it|server|api|app|page|endpoint|tool|script|program|service|site)\b.*\b(?:fails?|failed|returns?|returned|crash(?:es|ed)?|gives?|gave|errors?|throws?|hangs?|shows?)\b`,
	`\b(?:when(?:ever)?|if) i (?:ask|request)\b[^,]*\b(?:i get|i got|it (?:fails|crashes|hangs))\b`,
	`\bno matter what i (?:do|did|try|tried)\b`,
	`\bunder no circumstances (?:does|did|do|is|was|will it)\b`,
	`\byou can never be\b`,
	`\bcall me (?:crazy|maybe|paranoid|old|stupid|dumb|silly|naive|cynical|biased|back|later|tomorrow|when)\b`,
}, "|"))

var instructs = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(?:from now on|from here on(?: out)?|from this point (?:on|forward)|henceforth|for the rest of (?:this|our)|in all (?:your|future) (?:replies|responses|answers)|for all future)\b`,
	`^(?:going forward|in (?:the )?future),`,
	`\b(?:when(?:ever)?|if|every time|each time|any time) i (?:ask|request)\b`,
	`\byou (?:should|must|need to|have to|can) (?:always|never)\b`,
	`\b(?:please |just )?(?:make|be) sure (?:to |that you |you )(?:always|never)\b`,
	`\b(?:do not|don'?t) ever\b|\bunder no circumstances\b|\bno matter what\b`,
	`(?:^|[.,;:!?]\s+|\b(?:please|and|also|but|so|just)\s+)(?:remember|keep in mind|bear in mind|don'?t forget)\s+(?:that|to|this)\b`,
	`(?:^|[.,;:!?]\s+|\b(?:please|and|also)\s+)note (?:to\b|(?:that|this)\b.*\b(?:always|never|must|should|only|prefer|want|don'?t|do not)\b)`,
	`\bi (?:want|need|expect|would like|'d like) you to (?:always|never|only)\b`,
	`\b(?:only|always) (?:respond|reply|answer|use|write|format|include|provide)\b.*\b(?:when|if|for)\b`,
	`^(?:(?:please|also|and|but|so|just|you (?:can|may)),?\s+)*call me\s+["']?\p{L}+["']?(?:[.,!;]|$| from| instead| please)`,
}, "|"))

var prefers = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\bi(?:'d| would)? (?:really |much |generally |usually |strongly |also |always |personally )?prefer\b`,
	`\bmy (?:\w+ )?preferences?\b|\bpreferred\b|\bpreference for\b`,
	`\bi(?:'d| would) rather\b|\bi(?:'d| would) (?:much )?(?:like|love) (?:it )?(?:if|when)\b`,
	`\bi (?:really )?(?:like|love|hate|dislike|don'?t like|can'?t stand|enjoy) (?:it when|when|to|using|having)\b`,
	`\bi(?:'m| am) (?:allergic|vegetarian|vegan|not a fan|a fan)\b`,
}, "|"))

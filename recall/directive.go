package recall

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Directive is what a user of a scope said about how things are to be.
type Directive struct {
	Said
	Block string
	Ref   string
	Time  time.Time
}

// saidIn is what was said in a passage.
type saidIn struct {
	passage int32
	Said
}

// Directives lists what was said, oldest first: where two contradict each other, the
// newer one stands behind the older with its time. Where several people have names
// they speak to each other, and nothing is a directive.
func (s *Scope) Directives() []Directive {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.people.instruct() {
		return nil
	}
	var out []Directive
	for i := range s.said {
		d := &s.said[i]
		if flags := s.flags[d.passage]; flags&d.Kind.flag() == 0 || flags&flagRemoved != 0 {
			continue
		}
		from := &s.origins[s.messageOf[d.passage]]
		out = append(out, Directive{d.Said, from.block, from.ref, from.time})
	}
	return out
}

// Dismiss makes what a message says no directive: it is found like all else.
func (s *Scope) Dismiss(block string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.byBlock[block]; ok {
		m := &s.messages[id]
		for i := m.first; i < m.first+m.count; i++ {
			s.flags[i] &^= flagInstruction | flagPreference
		}
	}
}

// Kind of a directive.
type Kind string

// The kinds of directives.
const (
	// Instruction is what the user wants done from now on: "always …", "never …".
	Instruction Kind = "instruction"
	// Preference is what the user likes or cannot have.
	Preference Kind = "preference"
)

func (k Kind) flag() uint8 {
	if k == Instruction {
		return flagInstruction
	}
	return flagPreference
}

// Said is a sentence that tells how the user wants things.
type Said struct {
	Kind Kind
	Text string
}

// Detect finds the standing instructions and preferences in what a user says. Code
// blocks are left out: what they say is not said to anybody.
func Detect(text string) []Said {
	if !mayDirect(text) {
		return nil
	}
	var out []Said
	text = fenced.ReplaceAllString(strings.ReplaceAll(text, "\u2019", "'"), "\n")
	for _, s := range sentences(text) {
		if len(s) < 6 || len(s) > 700 {
			continue
		}
		switch {
		case instructs.MatchString(s):
			out = append(out, Said{Instruction, s})
		case prefers.MatchString(s):
			out = append(out, Said{Preference, s})
		}
	}
	return out
}

// mayDirect is a cheap test that most texts fail: each of the expressions below needs
// one of these words.
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

// sentences cuts at line ends and after the marks that end a sentence.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		start := 0
		for i := 0; i < len(line)-1; i++ {
			if (line[i] == '.' || line[i] == '!' || line[i] == '?') && isSpace(line[i+1]) {
				out = append(out, strings.TrimSpace(line[start:i+1]))
				start = i + 1
			}
		}
		if rest := strings.TrimSpace(line[start:]); rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

var instructs = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`^(?:(?:please|also|and|but|ok(?:ay)?|so|btw),?\s+)*(?:always|never)\s+\w+`,
	`\b(?:from now on|from here on(?: out)?|from this point (?:on|forward)|henceforth|for the rest of (?:this|our)|in all (?:your|future) (?:replies|responses|answers)|for all future)\b`,
	`^(?:going forward|in (?:the )?future),`,
	`\b(?:when(?:ever)?|if|every time|each time|any time) i (?:ask|request)\b`,
	`\byou (?:should|must|need to|have to|can) (?:always|never)\b`,
	`\b(?:please |just )?(?:make|be) sure (?:to |that you |you )(?:always|never)\b`,
	`\b(?:do not|don'?t) ever\b|\bunder no circumstances\b|\bno matter what\b`,
	`(?:^|[.,;:!?]\s+|\b(?:please|and|also|but|so|just)\s+)(?:remember|keep in mind|bear in mind|don'?t forget|note)\s+(?:that|to|this)\b`,
	`\bi (?:want|need|expect|would like|'d like) you to (?:always|never|only)\b`,
	`\b(?:only|always) (?:respond|reply|answer|use|write|format|include|provide)\b.*\b(?:when|if|for)\b`,
	`^(?:(?:please|also|and|but|so|just),?\s+)*call me\s+["']?\p{L}+["']?(?:[.,!;]|$| from| instead| please)`,
}, "|"))

var prefers = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\bi(?:'d| would)? (?:really |much |generally |usually |strongly |also |always |personally )?prefer\b`,
	`\bmy (?:\w+ )?preferences?\b|\bpreferred\b|\bpreference for\b`,
	`\bi(?:'d| would) rather\b|\bi(?:'d| would) (?:much )?(?:like|love) (?:it )?(?:if|when)\b`,
	`\bi (?:really )?(?:like|love|hate|dislike|don'?t like|can'?t stand|enjoy) (?:it when|when|to|using|the|having)\b`,
	`\bi(?:'m| am) (?:allergic|vegetarian|vegan|not a fan|a fan)\b`,
}, "|"))

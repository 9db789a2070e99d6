package chat

import (
	"regexp"
	"slices"
	"strings"
)

// Words returns the person's own words in a user's message, one text per part, empty for
// a part without any. A message whose name is a tool's has none. Words is the only place
// that separates people's words from what programs put beside them; see [Spoken] for the
// rules.
func (m *Message) Words() []string {
	words := make([]string, len(m.Parts))
	if m.Role != User || ToolName(m.Name) {
		return words
	}
	// An element may open in one part and close in a later one. What a program writes in the
	// user's name ends with its part.
	var all strings.Builder
	begin := make([]int, len(m.Parts)+1)
	for i := range m.Parts {
		begin[i] = all.Len()
		p := &m.Parts[i]
		if p.Kind != Text || p.Inserted() {
			continue
		}
		if text := p.Text.String(); !beginsAs(text, programs) {
			all.WriteString(text)
			all.WriteByte('\n')
		}
	}
	begin[len(m.Parts)] = all.Len()
	text, spoken := all.String(), Spoken(all.String())
	for i := range m.Parts {
		var own []string
		for ; len(spoken) > 0 && spoken[0][0] < begin[i+1]; spoken = spoken[1:] {
			s := &spoken[0]
			own = append(own, text[s[0]:min(s[1], begin[i+1])])
			if s[1] > begin[i+1] {
				s[0] = begin[i+1]
				break
			}
		}
		words[i] = strings.TrimRight(strings.Join(own, "\n"), "\n")
	}
	return words
}

// Spoken returns the start and end offsets of the stretches of a user's text that are
// clearly a person's words, in order. The following are not:
//
//   - an element such as <document url="…"> or <environment_details>, from its first
//     opening tag to its last closing tag, because its content may contain closing tags.
//     Elements in which agents wrap the user's words, such as <task>, are not skipped,
//     and neither is markup of single words or in code that somebody has pasted;
//   - what follows a line that announces a tool's result, a file's content, a page or a
//     letter, such as "[read_file for 'a.go'] Result:", "Contents of README.md:", "Translate
//     this text:" or "Context information is below.", except a person's answer to a tool
//     that asks, and the question that LlamaIndex and LangChain put beside passages;
//   - what stands between marks such as [CONTEXT 0] and [END CONTEXT 0], BEGIN and END, or
//     three quotation marks, from the first mark to the last, and JSON, except in code;
//   - texts that agents write in the user's name.
func Spoken(text string) [][2]int {
	if beginsAs(text, programs) || beginsAs(text, observing) {
		return nil
	}
	last, ok := closings(text)
	if !ok {
		return nil
	}
	end := given(text, last)
	var out [][2]int
	add := func(begin, stop int) {
		if stop = min(stop, end); begin < stop {
			out = append(out, [2]int{begin, stop})
		}
	}
	from, code := 0, fence{}
	for at := 0; at < end; {
		i := strings.IndexByte(text[at:end], '<')
		if i < 0 {
			break
		}
		at += i
		if at >= code.end {
			code = fenceAfter(text, max(from, code.end))
		}
		name := tagName(strings.TrimPrefix(text[at+1:], "/"))
		stop, closed := last[name]
		switch {
		case !closed || slices.Contains(markup, name) || code.begin <= at && at <= code.last[name]:
			at++
		case quotesUser(name):
			add(from, at)
			at = tagEnd(text, at)
			from = at
		case stop <= at:
			at++
		default:
			if slices.Contains(reminders, name) { // people's words may stand between two reminders
				stop = at + strings.Index(text[at:], "</"+name)
			}
			add(from, at)
			at = tagEnd(text, stop)
			from = at
		}
	}
	add(from, end)
	out = without(out, enclosed(text[:end]))
	if answer := answered(text[end:]); answer[0] < answer[1] {
		out = append(out, [2]int{end + answer[0], end + answer[1]})
	}
	return out
}

// programs lists the beginnings of texts that agent programs write in the user's name.
var programs = []string{
	"[Request interrupted by user", "Base directory for this skill:", "Caveat: The messages below were generated",
	"This session is being continued from a previous conversation",
	"Another language model started to solve this problem and produced a summary",
	"Here is a summary of the conversation to date", "Here is a summary of our conversation so far",
	"This is the Gemini CLI. We are setting up the context for our chat",
	"This is the Qwen Code. We are setting up the context for our chat",
}

// observing lists the beginnings of messages in which agents report what a tool returned.
var observing = []string{"Observation:", "OBSERVATION:"}

func beginsAs(text string, beginnings []string) bool {
	head := strings.TrimSpace(text)
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(head, b) })
}

// markup lists the elements with which people format words.
var markup = []string{"b", "i", "u", "s", "em", "strong", "kbd", "mark", "small", "sub", "sup"}

// quotesUser reports whether agents wrap the user's words in elements of this name, such as
// <task>, <user_query> and <userRequest>. What <user_info> contains is said about the user.
func quotesUser(name string) bool {
	name = strings.ToLower(name)
	if name == "task" || name == "feedback" || name == "answer" {
		return true
	}
	rest, ok := strings.CutPrefix(name, "user")
	if !ok || rest == "" {
		return false
	}
	if rest[0] == '_' || rest[0] == '-' {
		return !slices.Contains(aboutUser, rest[1:])
	}
	return slices.Contains(userSays, rest)
}

// aboutUser and userSays are what follows "user" in names of elements.
var (
	aboutUser = []string{"info", "information", "context", "environment", "metadata"}
	userSays  = []string{"request", "query", "message", "prompt", "input", "question", "instructions", "task",
		"feedback"}
)

// manyNames is more distinct element names than a text by a person has.
const manyNames = 4096

// closings returns the offset of the last closing tag of each name, or false if there are
// too many names.
func closings(text string) (map[string]int, bool) {
	last := map[string]int{}
	for at := 0; ; at += len("</") {
		i := strings.Index(text[at:], "</")
		if i < 0 {
			return last, true
		}
		at += i
		if name := tagName(text[at+len("</"):]); name != "" {
			if last[name] = at; len(last) > manyNames {
				return nil, false
			}
		}
	}
}

// tagName returns the name of the tag whose text after the bracket is s, or "" if there
// is none.
func tagName(s string) string {
	n := 0
	for ; n < len(s); n++ {
		c := s[n]
		if !letter(c) && (n == 0 || !('0' <= c && c <= '9') && !strings.ContainsRune("-_.:", rune(c))) {
			break
		}
		if n == 64 {
			return ""
		}
	}
	if n < len(s) && !strings.ContainsRune(" \t\r\n/>", rune(s[n])) {
		return ""
	}
	return s[:n]
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// tagEnd returns the end of the tag at an offset.
func tagEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:min(len(text), at+1024)], '>'); i >= 0 {
		return at + i + 1
	}
	return at + 1
}

// ToolName reports whether the name of a message's author is a tool's, such as
// "tool_output", rather than a person's.
func ToolName(name string) bool { return toolName.MatchString(name) }

var toolName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:tools?|functions?|outputs?|results?|observations?|responses?|files?|documents?|retriev(?:er|al)|fetch(?:er)?|search|browser|web|shell|bash|terminal|system)(?:[^a-z]|$)`)

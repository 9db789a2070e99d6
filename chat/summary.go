package chat

import (
	"regexp"
	"slices"
	"strings"
)

// AsksForSummary reports whether a request is an agent's own compaction: its last message
// asks for a summary that takes the place of the history. System messages behind that, such as
// reminders, belong to it. What a message only quotes does not count: a page that an agent read
// may ask for a summary, too.
func AsksForSummary(messages []Message) bool {
	for i := range slices.Backward(messages) {
		m := &messages[i]
		if m.asksForSummary() {
			return true
		}
		if m.Role != System && m.Role != Developer {
			break
		}
	}
	return false
}

// asksForSummary reports whether a message asks for a summary.
func (m *Message) asksForSummary() bool {
	if m.Type == compactionTrigger {
		return true
	}
	if m.Role == Assistant || m.Role == Tool || m.observes() {
		return false
	}
	text, before := m.lastText()
	text = strings.TrimSpace(text)
	text = answerElement.ReplaceAllString(text[len(summaryElement.FindString(text)):], "$1")
	head := text[:min(len(text), summaryHead)]
	if m.Role != User || !summaryPrompt.MatchString(head) { // most texts need no further reading
		return summaryPrompt.MatchString(head)
	}
	if continues(before, text) {
		return false
	}
	var own strings.Builder
	for _, s := range Spoken(text) {
		if s[0] < len(head) {
			own.WriteString(text[s[0]:min(s[1], len(head))] + "\n")
		}
	}
	return summaryPrompt.MatchString(unquoted(own.String()))
}

// lastText returns the last text of a message, and the one before it. Agents ask for a
// summary in the last one, but for what they add to every message.
func (m *Message) lastText() (text, before string) {
	found := false
	for _, p := range slices.Backward(m.Parts) {
		switch {
		case p.Kind != Text || p.Inserted() || reminds(p.Text):
		case found:
			return text, p.Text.String()
		default:
			text = p.Text.String()
			found = !strings.HasPrefix(text, "<environment_details>")
		}
	}
	return text, ""
}

// continues reports whether the text of a part is given by the one before it: that ends with
// a line that announces something, or leaves an element open that the text closes.
func continues(before, text string) bool {
	before = strings.TrimSpace(before)
	line := before[strings.LastIndexByte(before, '\n')+1:] + "\nx"
	if given(line, nil) < len(line) {
		return true
	}
	last, _ := closings(text)
	closed, _ := closings(before)
	for at := strings.IndexByte(before, '<'); at >= 0; {
		name := tagName(before[at+1:])
		_, closes := last[name]
		if stop, over := closed[name]; closes && !slices.Contains(markup, name) && (!over || stop < at) {
			return true
		}
		next := strings.IndexByte(before[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return false
}

// unquoted returns a text without lines that somebody quotes, code, and what stands in
// quotation marks.
func unquoted(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		s := strings.TrimLeft(line, " \t")
		mark := fenceOf(s)
		switch {
		case mark != "" && fence == "":
			fence = mark
		case mark != "" && mark == fence:
			fence = ""
		case fence == "" && !strings.HasPrefix(s, ">"):
			out.WriteString(line)
		}
	}
	return quotation.ReplaceAllString(out.String(), "")
}

var quotation = regexp.MustCompile(`"[^"]*(?:"|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)`)

// compactionTrigger is the type of the item by which Codex asks its provider to compact.
const compactionTrigger = "compaction_trigger"

// summaryHead is how many bytes of a text are searched for the request of a summary. Agents
// say first that no tool may be called.
const summaryHead = 1000

// summaryElement matches the beginning of an element in which Cline, LangChain and AgentScope
// put the request.
var summaryElement = regexp.MustCompile(`(?i)^<(?:explicit_instructions type="summarize_task"|role|system-hint)>\s*`)

// answerElement matches the tags of elements in which the answer is to stand. A prompt speaks
// of them before it shows them.
var answerElement = regexp.MustCompile(`</?(analysis|summary|state_snapshot)>`)

// summaryPrompt matches what agents ask for: Claude Code, Copilot, Cline, Roo Code and
// Continue; Codex; opencode and Kilo; Qwen Code and Gemini CLI; Goose; LangChain, LangGraph
// and Strands; Anthropic's SDKs, AgentScope, Semantic Kernel and Pi. Words that stand in the middle
// of a sentence are somebody's words about a
// summary.
var summaryPrompt = regexp.MustCompile(`(?im)(?:^|[.!:] |\n)\W*(?:` + strings.Join([]string{
	`(?:now, )?your (?:urgent )?task is to create a (?:comprehensive|detailed|concise)[a-z, ]{0,24} summary of (?:the|this|our) ` +
		`(?:entire )?(?:RECENT portion of the )?(?:conversation|session)`,
	`the current conversation is rapidly running out of context\. now, your urgent task is to create`,
	`(?:please )?(?:create|provide|write|generate|produce) a (?:comprehensive|detailed|concise|brief)[a-z, ]{0,24} summary of ` +
		`(?:the|this|our) (?:entire )?(?:conversation|session)`,
	`(?:please )?(?:create|write) a summary of (?:the|this|our) (?:entire )?conversation(?: above| so far| to date|[.:]?$)`,
	`(?:please )?summari[sz]e (?:the|this|our) (?:entire )?(?:conversation(?: history)?(?: above| so far| to date| provided in the system prompt|[.:]?$)|session for continuation)`,
	`extend the summary by taking into account the new messages above`,
	`distill the above chat messages into a single summary`,
	`you are performing a context checkpoint compaction`,
	`provide a detailed prompt for continuing our conversation above`,
	`create a new anchored summary from the conversation history`,
	`first, reason in your scratchpad\. then, generate the state_snapshot`,
	`an llm context limit was reached when a user was in a working session`,
	`context extraction assistant\s*</role>`,
	`(?:now )?write a continuation summary that will allow you`,
	`provide a concise and complete summari[sz]ation of the entire dialog that does not exceed`,
	`the messages (?:above|below) are (?:a conversation to summari[sz]e|new conversation messages to incorporate into the existing summary)`,
}, "|") + `)`)

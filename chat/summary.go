package chat

import (
	"regexp"
	"strings"
)

// AsksForSummary reports whether a request is an agent's own compaction: its last message
// asks for a summary that takes the place of the history.
func AsksForSummary(messages []Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := &messages[len(messages)-1]
	if last.Type == compactionTrigger {
		return true
	}
	if last.Role == Assistant || last.Role == Tool || last.observes() {
		return false
	}
	for i := range last.Parts {
		p := &last.Parts[i]
		if p.Kind != Text || p.Inserted() {
			continue
		}
		if text := strings.TrimSpace(p.Text.String()); summaryPrompt.MatchString(text[:min(len(text), summaryHead)]) {
			return true
		}
	}
	return false
}

// compactionTrigger is the type of the item by which Codex asks its provider to compact.
const compactionTrigger = "compaction_trigger"

// summaryHead is how many bytes of a text are searched for the request of a summary. Agents
// say first that no tool may be called.
const summaryHead = 1000

// summaryPrompt matches what agents ask for: Claude Code, Copilot, Cline, Roo Code and
// Continue; Codex; opencode and Kilo; Qwen Code and Gemini CLI; Goose; LangChain. Words that
// stand in the middle of a sentence are somebody's words about a summary.
var summaryPrompt = regexp.MustCompile(`(?im)(?:^|[.!:] |\n)\W*(?:` + strings.Join([]string{
	`(?:now, )?your (?:urgent )?task is to create a (?:comprehensive|detailed|concise)[a-z, ]{0,24} summary of (?:the|this|our) ` +
		`(?:entire )?(?:RECENT portion of the )?(?:conversation|session)`,
	`the current conversation is rapidly running out of context\. now, your urgent task is to create`,
	`(?:please )?(?:create|provide|write|generate|produce) a (?:comprehensive|detailed|concise|brief)[a-z, ]{0,24} summary of ` +
		`(?:the|this|our) (?:entire )?(?:conversation|session)`,
	`(?:please )?summari[sz]e (?:the|this|our) (?:entire )?(?:conversation(?: history)?(?: so far| provided in the system prompt)|session for continuation)`,
	`you are performing a context checkpoint compaction`,
	`provide a detailed prompt for continuing our conversation above`,
	`create a new anchored summary from the conversation history`,
	`first, reason in your scratchpad\. then, generate the <state_snapshot>`,
	`an llm context limit was reached when a user was in a working session`,
	`<role>\s*context extraction assistant\s*</role>`,
}, "|") + `)`)

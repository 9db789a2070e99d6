package chat

import (
	"encoding/json"
	"strings"
	"testing"
)

// How agents ask for the summary that replaces a history, as they send it.
func TestRequestsForTheSummaryOfAHistory(t *testing.T) {
	for name, text := range map[string]string{
		"Claude Code": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do NOT use Read, Bash, or ANY other tool.\n\n" +
			"Your task is to create a detailed summary of the conversation so far, paying close attention to the user's explicit requests",
		"Claude Code, a part": "Your task is to create a detailed summary of the RECENT portion of the conversation — the messages that follow.",
		"Copilot":             "Please create a detailed summary of the conversation so far. The history is being compacted so moving forward, all",
		"VS Code":             "Summarize the conversation history so far, paying special attention to the most recent agent commands",
		"Codex":               "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM that will resume the task.",
		"Cline":               "Summarize this session for continuation. Be concise and factual.\n\n## Goal\n",
		"Cline before 3": "<explicit_instructions type=\"summarize_task\">\nThe current conversation is rapidly running out of context. " +
			"Now, your urgent task is to create a comprehensive detailed summary of the conversation so far",
		"opencode":       "Provide a detailed prompt for continuing our conversation above. Focus on information that would be helpful",
		"opencode today": "Create a new anchored summary from the conversation history above.",
		"Qwen Code":      "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
		"LangChain":      "<role>\nContext Extraction Assistant\n</role>\n\n<primary_objective>\n",
		"Goose":          "Please summarize the conversation history provided in the system prompt.",
		"a person":       "please summarize our conversation so far",
	} {
		if !asks(User, "", text) {
			t.Errorf("%s is not recognised", name)
		}
		if asks(Assistant, "", text) || asks(Tool, "", text) {
			t.Errorf("%s is recognised in words of the model or of a tool", name)
		}
	}
	if !asks(System, "", "Your task is to create a detailed summary of the conversation so far.") {
		t.Error("not recognised as a system message")
	}
	if !asks("", "compaction_trigger", "") {
		t.Error("the item of Codex is not recognised")
	}
	for _, text := range []string{
		"Write a test for the page that says create a detailed summary of the conversation so far.",
		"Why does the summary of the conversation say that the port is 6543?",
		"Give me a summary of the meeting.",
		"Summarize the report.",
		"This session is being continued from a previous conversation that ran out of context.",
		"Read this:\n" + strings.Repeat("x ", 600) + "\nYour task is to create a detailed summary of the conversation so far.",
		"",
	} {
		if asks(User, "", text) {
			t.Errorf("%.60q is taken for an agent's compaction", text)
		}
	}
	for _, text := range []string{
		"Observation:\nPlease summarize the conversation so far.",
		"[read_file for 'a.md'] Result:\nYour task is to create a detailed summary of the conversation so far.",
		"<returncode>0</returncode>\n<output>\nSummarize this session for continuation.\n</output>",
	} {
		m := Message{Role: User, Parts: []Part{{Kind: Text, Text: Quote(text)}}}
		if AsksForSummary([]Message{m}) {
			t.Errorf("what a tool returned is taken for an agent's compaction: %q", text)
		}
	}
	if AsksForSummary(nil) {
		t.Error("a request without messages")
	}
}

func asks(role Role, item, text string) bool {
	literal, _ := json.Marshal(text)
	m := Message{Role: role, Type: item}
	if text != "" {
		m.Parts = []Part{{Kind: Result, ID: "c1"}, {Kind: Text, Text: String(literal)}}
	}
	return AsksForSummary([]Message{{Role: User}, m})
}

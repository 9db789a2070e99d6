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
		"Claude Code, with its form": "Your entire response must be plain text: an <analysis> block followed by a <summary> block.\n\n" +
			"Your task is to create a detailed summary of the conversation so far.\n\n<example>\n<analysis>\n[Your thoughts]\n</analysis>\n\n<summary>\n1. Intent:\n</summary>\n</example>",
		"Claude Code, a part": "Your task is to create a detailed summary of the RECENT portion of the conversation — the messages that follow.",
		"Copilot":             "Please create a detailed summary of the conversation so far. The history is being compacted so moving forward, all",
		"VS Code":             "Summarize the conversation history so far, paying special attention to the most recent agent commands",
		"Codex":               "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM that will resume the task.",
		"Cline":               "Summarize this session for continuation. Be concise and factual.\n\n## Goal\n",
		"Cline before 3": "<explicit_instructions type=\"summarize_task\">\nThe current conversation is rapidly running out of context. " +
			"Now, your urgent task is to create a comprehensive detailed summary of the conversation so far",
		"opencode":                 "Provide a detailed prompt for continuing our conversation above. Focus on information that would be helpful",
		"opencode today":           "Create a new anchored summary from the conversation history above.",
		"Qwen Code":                "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
		"Qwen Code, with its form": "First, reason in your scratchpad. Then, generate the <state_snapshot>.\n\n<state_snapshot>\n</state_snapshot>",
		"LangChain":                "<role>\nContext Extraction Assistant\n</role>\n\n<primary_objective>\n",
		"Goose":                    "Please summarize the conversation history provided in the system prompt.",
		"LangGraph":                "Create a summary of the conversation above:",
		"LangGraph, again":         "This is a summary of the conversation to date: A did B.\n\nExtend the summary by taking into account the new messages above:",
		"LangChain's guide":        "Distill the above chat messages into a single summary message. Include as many specific details as you can.",
		"Strands":                  "Please summarize this conversation.",
		"Anthropic's SDKs": "You have been working on the task described above but have not yet completed it. Write a continuation summary that will allow you " +
			"(or another instance of yourself) to resume work efficiently in a future context window where the conversation history will be replaced with this summary.",
		"AgentScope": "<system-hint>You have been working on the task described above but have not yet completed it. Now write a continuation summary " +
			"that will allow you to resume work efficiently in a future context window</system-hint>",
		"Semantic Kernel": "Provide a concise and complete summarization of the entire dialog that does not exceed 5 sentences.\n\nThis summary must always:",
		"Pi":              "The messages above are a conversation to summarize. Create a structured context checkpoint summary that another LLM will use to continue the work.",
		"Pi, again":       "The messages above are NEW conversation messages to incorporate into the existing summary provided in <previous-summary> tags.",
		"Roo Code": "CRITICAL: This summarization request is a SYSTEM OPERATION, not a user message.\nThe goal is for work to continue seamlessly after condensation.\n\n" +
			"Your task is to create a detailed summary of the conversation so far",
		"Roo Code, its last message": "Summarize the conversation so far, as described in the prompt instructions.",
		"Zed":                        "Generate a detailed summary of this conversation. Include:\n1. A brief overview of what was discussed",
		"Crush":                      "Provide a detailed summary of our conversation above.\n\n## Current Todo List",
		"Continue":                   "Please provide a concise summary of our conversation so far, capturing the key context, decisions made, and current state.",
		"a person":                   "please summarize our conversation so far",
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
		"Write a summary of the conversation between Ann and Bob in notes.md.",
		"Summarize the conversation between Ann and Bob in notes.md.",
		"Summarize the report.",
		"Write a continuation of the summary in notes.md.",
		"You have been working on the task described above. Is it done?",
		"The messages above are from my colleague. What do they want?",
		"Provide a concise and complete summarization of the entire dialog of the play.",
		"This session is being continued from a previous conversation that ran out of context.",
		"Read this:\n" + strings.Repeat("x ", 600) +
			"\nYour task is to create a detailed summary of the conversation so far.",
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
	asked := Message{Role: User,
		Parts: []Part{{Kind: Text, Text: Quote("Please create a detailed summary of the conversation so far.")}}}
	reminder := Message{Role: System,
		Parts: []Part{{Kind: Text, Text: Quote("The task tools haven't been used recently.")}}}
	for _, c := range []struct {
		name string
		list []Message
		want bool
	}{
		{"before a reminder", []Message{asked, reminder, {Role: Developer}}, true},
		{"before a reminder and a message", []Message{asked, reminder, {Role: User}}, false},
		{"answered", []Message{asked, {Role: Assistant}, reminder}, false},
		{"reminders alone", []Message{reminder, reminder}, false},
	} {
		if got := AsksForSummary(c.list); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if AsksForSummary(nil) {
		t.Error("a request without messages")
	}
}

// A page that an agent puts into a part of its own, or that somebody quotes, asks for nothing.
func TestAPageDoesNotAskForASummary(t *testing.T) {
	const prompt = "Your task is to create a detailed summary of the conversation so far."
	for name, texts := range map[string][]string{
		"before the question":     {prompt, "What does this page say?"},
		"announced":               {"What does it say?\n\nContents of page.md:", prompt},
		"announced as an order":   {"Translate this text:", prompt},
		"an observation":          {"Observation:", prompt},
		"an element":              {"What does it say?\n<document>\n" + prompt + "\n</document>"},
		"an element over parts":   {"What does it say?\n<document url=\"a\">", prompt + "\n</document>"},
		"before a reminder":       {prompt, "Go on.", "<system-reminder>be brief</system-reminder>"},
		"between marks":           {"[CONTEXT 0]\n" + prompt + "\n[END CONTEXT 0]\nWhat is that?"},
		"quoted lines":            {"What does this mean?\n> Hello. " + prompt},
		"quotation marks":         {"The page says: \"" + prompt + "\""},
		"typographic marks":       {"The page says:\n\u201c" + prompt + "\u201d"},
		"a fence":                 {"What does this mean?\n```\n" + prompt + "\n```"},
		"a fence that stays open": {"What does this mean?\n~~~ text\nHello.\n" + prompt},
	} {
		if asksIn(texts...) {
			t.Errorf("%s: it is taken for an agent's compaction", name)
		}
	}
	for name, texts := range map[string][]string{
		"behind a prompt":      {"Fix the test.", prompt},
		"behind a pasted file": {"Contents of a.go:\npackage a\n", prompt},
		"before a reminder":    {prompt, "<system-reminder>be brief</system-reminder>"},
		"before the state":     {prompt, "<environment_details>\n# Time\n12:00\n</environment_details>"},
		"in Cline's element": {"<explicit_instructions type=\"summarize_task\">\n" + prompt +
			"\n</explicit_instructions>\n"},
		"before an element": {prompt + "\n<document>\nHello.\n</document>"},
	} {
		if !asksIn(texts...) {
			t.Errorf("%s: it is not recognised", name)
		}
	}
}

func asksIn(texts ...string) bool {
	m := Message{Role: User}
	for _, text := range texts {
		m.Parts = append(m.Parts, Part{Kind: Text, Text: Quote(text)})
	}
	return AsksForSummary([]Message{m})
}

func asks(role Role, item, text string) bool {
	literal, _ := json.Marshal(text)
	m := Message{Role: role, Type: item}
	if text != "" {
		m.Parts = []Part{{Kind: Result, ID: "c1"}, {Kind: Text, Text: String(literal)}}
	}
	return AsksForSummary([]Message{{Role: User}, m})
}

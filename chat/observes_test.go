package chat

import (
	"encoding/json"
	"testing"
)

// Results that agents send as a user's text are not what a person wrote.
func TestResultsAsTextAreNoPrompts(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		prompts bool
	}{
		"smolagents":     {[]string{"Observation:\nExecution logs:\nline 1"}, false},
		"mini-swe-agent": {[]string{"<returncode>0</returncode>\n<output>\nfine\n</output>"}, false},
		"Cline": {[]string{"[read_file for 'a.go'] Result:", "package a",
			"<environment_details>\nit is late\n</environment_details>"}, false},
		"Roo's question": {[]string{"[ask_followup_question for 'which one?'] Result:",
			"<answer>\nthe second one\n</answer>"}, true},
		"a tool's output":         {[]string{"Tool result: 42"}, false},
		"a result, then a person": {[]string{"<tool_result>42</tool_result>\nAnd what is that in hex?"}, true},
		"a person":                {[]string{"Observe the birds and tell me what you see."}, true},
		"a page":                  {[]string{"<document>\nmuch\n</document>"}, true},
		"aider's files": {[]string{
			"I have *added these files to the chat* so you can go ahead and edit them.\n\na.go"}, true},
		"nothing": {[]string{""}, true},
	} {
		m := Message{Role: User}
		for _, text := range c.texts {
			literal, _ := json.Marshal(text)
			m.Parts = append(m.Parts, Part{Kind: Text, Text: literal})
		}
		if got := m.Prompts(); got != c.prompts {
			t.Errorf("%s: prompts %t, want %t", name, got, c.prompts)
		}
		if m.Parts = append(m.Parts, Part{Kind: Image}); !m.Prompts() {
			t.Errorf("%s: a picture is attached", name)
		}
	}
}

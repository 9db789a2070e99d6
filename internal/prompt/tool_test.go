package prompt_test

import (
	"fmt"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
)

func TestOwnToolsAreKnownByTheServersName(t *testing.T) {
	for name, want := range map[string]string{
		"mcp__oriel__recall": "recall", "oriel_read": "read", "oriel__list_conversations": "list_conversations",
		"mcp_oriel_unpin": "unpin", "oriel.pin": "pin",
		"recall": "", "mcp__other__recall": "", "mcp__memoriel__recall": "", "mcp__oriel__recall_all": "", "oriel": "",
		"Read": "", "mcp__oriel__": "",
	} {
		if got := prompt.OwnTool(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestOwnToolsAreKnownByTheirNamespace(t *testing.T) {
	namespace := chat.ToolDef{Name: "mcp__oriel",
		Raw: []byte(`{"type":"namespace","name":"mcp__oriel","tools":[{"type":"function","name":"recall"}]}`)}
	plain := chat.ToolDef{Name: "mcp__oriel__recall", Raw: []byte(`{"name":"mcp__oriel__recall"}`)}
	other := chat.ToolDef{Name: "recall", Raw: []byte(`{"name":"recall"}`)}
	for _, tc := range []struct {
		tools []chat.ToolDef
		tool  string
		want  string
	}{
		{[]chat.ToolDef{other, plain}, "recall", "mcp__oriel__recall"},
		{[]chat.ToolDef{other, plain}, "read", ""},
		{[]chat.ToolDef{other, namespace}, "recall", "mcp__oriel.recall"},
		{[]chat.ToolDef{namespace}, "read", ""},
		{[]chat.ToolDef{other}, "recall", ""},
		{nil, "recall", ""},
	} {
		if got := prompt.FindTool(tc.tools, tc.tool); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.tools, tc.tool, got, tc.want)
		}
	}
	for raw, want := range map[string]string{
		`{"type":"function_call","name":"recall","namespace":"mcp__oriel"}`:   "recall",
		`{"type":"function_call","name":"recall","namespace":"mcp__oriel__"}`: "recall",
		`{"type":"function_call","name":"recall","namespace":"mcp__other"}`:   "",
		`{"type":"function_call","name":"recall"}`:                            "",
		`{"namespace`: "",
	} {
		if got := prompt.OwnCall(&chat.Part{Kind: chat.Call, Name: "recall", Raw: []byte(raw)}); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestStubsAndMarkersLoseTheNameOfATool(t *testing.T) {
	for _, tool := range []string{"mcp__oriel__recall", "mcp__oriel.recall", "oriel_recall"} {
		with := fmt.Sprintf(prompt.StubTool, "Bash", " ls", 12, prompt.StubOldest,
			tool) + fmt.Sprintf(prompt.MissingTool,
			3, 40, tool) +
			"[Oriel digest of 1 earlier message; look them up with " + tool + "]\\nTask:" +
			"[Oriel summary of 20 earlier messages; look them up with " + tool + "]"
		want := fmt.Sprintf(prompt.Stub, "Bash", " ls", 12, prompt.StubOldest) + fmt.Sprintf(prompt.Missing, 3, 40) +
			`[Oriel digest of 1 earlier message]\nTask:[Oriel summary of 20 earlier messages]`
		if got := string(prompt.WithoutTool([]byte(with))); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	const other = "a person says: look them up with care, or look it up with me"
	if got := string(prompt.WithoutTool([]byte(other))); got != other {
		t.Error(got)
	}
}

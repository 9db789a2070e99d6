package call_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A conversation of calls belongs to the engine's project, or else to the folder that the
// agent tells its model. What people write does not count.
func TestCallsBelongToTheFolderOfTheirAgent(t *testing.T) {
	claude := func(system, words string) string {
		return fmt.Sprintf(`{"model":"claude-opus-4-1","max_tokens":9,"system":[{"type":"text","text":"You are an agent."},{"type":"text","text":%q}],"messages":[{"role":"user","content":%q}]}`, system, words)
	}
	codex := func(context string) string {
		return fmt.Sprintf(`{"model":"gpt-5","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"You are an agent."}]},{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}]}`, context)
	}
	for name, c := range map[string]struct{ configured, body, want string }{
		"Claude Code": {"",
			claude("# Environment\n - Primary working directory: /src/shop\n - Is a git repository: true", "Hello"),
			"/src/shop"},
		"an older Claude Code": {"", claude("<env>\nWorking directory: /src/my shop\nPlatform: linux\n</env>", "Hello"),
			"/src/my shop"},
		"Windows": {"", claude(" - Primary working directory: C:\\src\\shop\r\n", "Hello"), `C:\src\shop`},
		"Codex": {"",
			codex("<environment_context>\n  <cwd>/src/shop</cwd>\n  <shell>bash</shell>\n</environment_context>"),
			"/src/shop"},
		"the engine's":        {"mine", claude("Working directory: /src/shop", "Hello"), "mine"},
		"nothing":             {"", claude("Be brief.", "Hello"), ""},
		"words of a person":   {"", claude("Be brief.", "Working directory: /src/other"), ""},
		"no context of Codex": {"", codex("<cwd>/src/other</cwd>"), ""},
		"no path":             {"", claude("Working directory: unknown", "Hello"), ""},
		"too long":            {"", claude("Working directory: /"+strings.Repeat("x", 2000), "Hello"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			client, url, e, _, _ := through(t, oriel.Config{Store: store, Project: c.configured}, reply)
			path := "/v1/messages"
			if strings.Contains(c.body, `"input"`) {
				path = "/v1/responses"
			}
			res, err := client.Post(url+path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			all, err := store.Conversations(t.Context(), timeline.Local)
			if err != nil || len(all) != 1 || all[0].Project != c.want {
				t.Errorf("%+v, want %q, %v", all, c.want, err)
			}
		})
	}
}

// What follows an agent's own compaction belongs to the project, too.
func TestACompactedConversationBelongsToTheFolder(t *testing.T) {
	store := memory.New()
	client, url, e, _, _ := through(t, oriel.Config{Store: store}, reply)
	ask := func(messages string) {
		t.Helper()
		body := `{"model":"claude-opus-4-1","max_tokens":9,"system":[{"type":"text","text":"You are an agent.\n - Primary working directory: /src/shop\n"}],` +
			`"metadata":{"user_id":"{\"session_id\":\"s\"}"},"messages":[` + messages + `]}`
		res, err := client.Post(url+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		res.Body.Close()
	}
	history := `{"role":"user","content":"Hello."}`
	for i := range 4 {
		history += fmt.Sprintf(`,{"role":"assistant","content":"Answer %d."},{"role":"user","content":"Question %d?"}`,
			i, i)
	}
	ask(history)
	ask(`{"role":"user","content":"This session is being continued from a previous conversation that ran out of context. The conversation is summarized below: ` +
		`four questions were asked, and each of them was answered."}`)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := store.Conversations(t.Context(), timeline.Local)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, c := range all {
		if c.Project != "/src/shop" {
			t.Errorf("%q continues %q, and has the project %q", c.Name, c.Continues, c.Project)
		}
	}
	if all[0].Continues+all[1].Continues != "s" {
		t.Errorf("nothing was compacted: the test shows nothing: %+v", all)
	}
}

package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/term"
)

// --mine finds what every agent keeps where it keeps it, by files that the agents wrote,
// and the table of what it found fits a terminal.
func TestMineFindsEveryAgent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the usual places are those of Linux")
	}
	home := emptyHome(t)
	put := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../../internal/importer/testdata", from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(home, to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(home, to), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("claude-code.jsonl", ".claude/projects/-home-ann-harbour/84120f2d.jsonl")
	put("codex.jsonl", ".codex/sessions/2026/11/16/rollout-2026-11-16T18-45-13.jsonl")
	put("gemini-cli/chats/session.jsonl", ".gemini/tmp/harbour/chats/session-2026-11-16T18-55-2718b905.jsonl")
	put("gemini-cli.json", ".gemini/tmp/2ab9ff63/chats/session-2026-11-16T18-55-4dfbd24c.json")
	put("qwen-code.jsonl", ".qwen/projects/-home-ann-harbour/chats/a43cd0a4.jsonl")
	put("README.md", ".gemini/tmp/harbour/notes.md")
	put("cline/1794855053498_j688f/1794855053498_j688f.messages.json",
		".cline/data/sessions/1794855053498_j688f/1794855053498_j688f.messages.json")
	put("cline/1794855053498_j688f/1794855053498_j688f.json",
		".cline/data/sessions/1794855053498_j688f/1794855053498_j688f.json")
	put("task-1714550400000/api_conversation_history.json",
		".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1714550400000/api_conversation_history.json")
	put("task-1714550400000/api_conversation_history.json",
		".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks/0198/api_conversation_history.json")
	put(".aider.chat.history.md", "harbour/.aider.chat.history.md")
	put("copilot-cli/events.jsonl", ".copilot/session-state/0146da6f/events.jsonl")
	put("continue.json", ".continue/sessions/0e3991d6.json")
	put("pi.jsonl", ".pi/agent/sessions/--home-ann-harbour--/2026.jsonl")
	for file, at := range map[string]string{
		"opencode.sql": ".local/share/opencode/opencode.db", "kilo.sql": ".local/share/kilo/kilo.db",
		"goose.sql": ".local/share/goose/sessions/sessions.db", "crush.sql": "harbour/.crush/crush.db",
	} {
		put(file, at+".sql")
		statements, err := os.ReadFile(filepath.Join("../../internal/importer/testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(home, at))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(string(statements)); err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	below := filepath.Join(home, "harbour", "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	var out bytes.Buffer
	found, _, err := findMine(t.Context(), &out, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines [][2]string
	for line := range strings.Lines(strings.TrimSpace(out.String()) + "\n") {
		agent, rest, _ := strings.Cut(line, "  ")
		words := strings.Fields(rest)
		lines = append(lines, [2]string{agent + " " + words[0], words[len(words)-1]})
	}
	want := [][2]string{
		{"Claude Code 1", "~/.claude/projects"},
		{"Codex 1", "~/.codex/sessions"},
		{"Gemini CLI 2", "~/.gemini/tmp"},
		{"Qwen Code 1", "~/.qwen/projects"},
		{"opencode 1", "~/.local/share/opencode/opencode.db"},
		{"Kilo Code 1", "~/.local/share/kilo/kilo.db"},
		{"Cline 1", "~/.cline/data/sessions"},
		{"Copilot CLI 1", "~/.copilot/session-state"},
		{"Continue 1", "~/.continue/sessions"},
		{"Pi 1", "~/.pi/agent/sessions"},
		{"Goose 1", "~/.local/share/goose/sessions/sessions.db"},
		{"Roo Code 1", "~/.vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks"},
		{"Cline 1", "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"},
		{"aider 1", "~/harbour/.aider.chat.history.md"},
		{"Crush 1", "~/harbour/.crush/crush.db"},
	}
	if diff := cmp.Diff(want, lines); diff != "" || len(found) != len(want) {
		t.Errorf("%d found (-want +got):\n%s", len(found), diff)
	}
	table := &term.Table{Left: []bool{true, false, false, true}}
	table.Row("Roo Code", "1 file", "359 B", want[11][1])
	fitPaths(table, 80)
	var b bytes.Buffer
	table.Draw(&b)
	if got := b.String(); term.Cells(strings.TrimSpace(got)) != 80 || !strings.HasSuffix(got, "roo-cline/tasks\n") ||
		!strings.Contains(got, "~/.vscode") {
		t.Errorf("%d columns: %s", term.Cells(strings.TrimSpace(got)), got)
	}
}

// emptyHome makes a home folder without anything, and returns it.
func emptyHome(t *testing.T) string {
	home := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
		"GEMINI_CLI_HOME", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "OPENCODE_DB",
		"AIDER_CHAT_HISTORY_FILE", "COPILOT_HOME", "CONTINUE_GLOBAL_DIR", "PI_CODING_AGENT_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	return home
}

// --mine names what it cannot read with the reason, imports the rest, and exits as every
// import does that could not read something.
func TestMineNamesWhatItCannotRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the usual places are those of Linux")
	}
	home := emptyHome(t)
	session, err := os.ReadFile("../../internal/importer/testdata/claude-code.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	dir := func(path string) string {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine := func() (int, string, string) {
		var out, errs bytes.Buffer
		code := run([]string{"import", "--mine", "--data", filepath.Join(home, "data")}, strings.NewReader(""), &out,
			&errs)
		return code, out.String(), errs.String()
	}
	// Links that lead to themselves cannot be read by root either.
	for _, path := range []string{".codex/sessions", ".local/share/opencode/opencode.db"} {
		if err := os.Symlink(filepath.Base(path), dir(path)); err != nil {
			t.Fatal(err)
		}
	}
	damaged := append([]byte("SQLite format 3\x00"), make([]byte, 84)...)
	if err := os.WriteFile(dir(".qwen/projects/harbour/damaged.db"), damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := mine()
	if code != 2 || out != "" ||
		!strings.Contains(errs,
			"\noriel: --mine: no agent keeps conversations in its usual place here that can be read") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(dir(".claude/projects/harbour/84120f2d.jsonl"), session, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs = mine()
	if code != 2 || out != "" {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, want := range []string{
		"oriel: note: cannot read " + home + "/.codex/sessions: too many levels of symbolic links\n",
		"oriel: note: cannot read " + home + "/.local/share/opencode/opencode.db: too many levels of symbolic links\n",
		"oriel: note: cannot read " + home + "/.qwen/projects/harbour/damaged.db: ",
		"\nClaude Code  1 file ",
		"\noriel: 3 lines or messages could not be read and were left out, first " + home + "/.codex/sessions: ",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in %s", want, errs)
		}
	}
	var listed bytes.Buffer
	if code := run([]string{"conversations", "--data", filepath.Join(home, "data")}, strings.NewReader(""), &listed,
		&listed); code != 0 || !strings.Contains(listed.String(), "harbour") {
		t.Errorf("exit %d: %s", code, listed.String())
	}
}

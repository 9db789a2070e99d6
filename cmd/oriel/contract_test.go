package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs of others call these commands with these flags; testdata/script/contract.txt
// shows what they print. More flags are welcome, these stay.
func TestCommandsKeepTheirFlags(t *testing.T) {
	for command, flags := range map[string]string{
		"fit": "format model window reserve budget low policy mode profile query pin now plan threshold fraction max-items keep-recent " +
			"would-manage preset max-interactions result-limit preserve-first keep-results",
		"count":         "format model json text encoding data",
		"models":        "json",
		"embed":         "json",
		"import":        "format conversation project data json",
		"replay":        "mine format since policy window json html",
		"tune":          "mine format since write config json",
		"conversations": "data json project since search limit",
		"show":          "plan sent diff calls branches full data json",
		"export":        "data json",
		"pin":           "data json",
		"unpin":         "data json",
		"private":       "data json off",
		"undo":          "data json",
		"release":       "data json",
		"delete":        "data json",
		"backup":        "data json",
		"verify":        "data json",
		"stats":         "data json",
		"context":       "json data",
		"statusline":    "json data",
		"usage":         "by since json watch data",
		"recall":        "conversation all project context complete scope budget top floor mode json data",
		"eval":          "format budget policy details json scope",
		"serve":         "listen upstream-openai upstream-anthropic upstream-gemini upstream-ollama profile config data",
		"run":           "upstream-openai upstream-anthropic upstream-gemini upstream-ollama profile config data no-mcp",
		"mcp":           "conversation read-only data",
		"setup":         "write undo url json data",
		"demo":          "",
		"doctor":        "data json",
		"config":        "data json",
		"token add":     "tenant role expires data json",
		"token list":    "tenant data json",
		"token revoke":  "data",
	} {
		cmd, rest, err := rootCommand().Find(strings.Fields(command))
		if err != nil || len(rest) > 0 || cmd.CommandPath() != "oriel "+command {
			t.Errorf("oriel %s: %v", command, err)
			continue
		}
		for _, flag := range strings.Fields(flags) {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("oriel %s has no --%s", command, flag)
			}
		}
	}
}

// Bad input and bad usage: exit 2, one line on standard error, nothing on standard output.
func TestBadInputIsRefusedInOneLine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("ORIEL_DATA", filepath.Join(dir, "data"))
	for name, content := range map[string]string{
		"talk.jsonl":  `{"conversation":"c1","text":"where is the key?"}` + "\n",
		"broken.json": `{"messages":[`,
		"chat.json":   `{"messages":[{"role":"user","content":"what is the weather like in Lisbon today?"}]}`,
		"words.txt":   "words",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := run([]string{"import", "talk.jsonl"}, strings.NewReader(""), new(bytes.Buffer),
		new(bytes.Buffer)); code != 0 {
		t.Fatalf("import: exit %d", code)
	}
	for _, line := range strings.Split(strings.TrimSpace(`
nonsense
nonsense --help
--nonsense
help nonsense
fit nowhere.json
fit broken.json
fit words.txt
fit chat.json chat.json
fit --budget 0 chat.json
fit --budget x chat.json
fit --budget 1 chat.json
fit --low -1 chat.json
fit --window -1 chat.json
fit --reserve -1 chat.json
fit --window 10 chat.json
fit --policy nonsense chat.json
fit --policy trajectory chat.json
fit --mode nonsense chat.json
fit --profile nonsense chat.json
fit --format nonsense chat.json
fit --format anthropic broken.json
fit --pin 9 chat.json
fit --pin x chat.json
fit --now yesterday chat.json
fit --fraction 2 chat.json
fit --fraction NaN chat.json
fit --max-items -1 chat.json
fit --keep-recent -1 chat.json
fit --plan no/such/folder/plan.json chat.json
count nowhere.json
count broken.json
count --text --encoding nonsense words.txt
count --format nonsense chat.json
models --models nowhere.json
models nonsense extra
embed a b
import
import nowhere.jsonl
import broken.json
import --format nonsense talk.jsonl
conversations extra
show
show nonsense
show c1 --branch 9
export nonsense
pin c1
pin c1 x
pin c1 99
pin nonsense 1
unpin c1 99
undo
undo c1
undo c1 nonsense
release nonsense
delete nonsense --yes
backup
verify extra
stats extra
recall
recall key --all --conversation c1
recall key --conversation nonsense
recall key --conversation c1 --mode nonsense
recall key --conversation c1 --scope nonsense
recall key --conversation c1 --budget 0
recall key --conversation c1 --top -1
recall key --conversation c1 --floor NaN
recall key --conversation c1 --floor 7
eval talk.jsonl
eval talk.jsonl --format nonsense
eval nowhere --format locomo
eval talk.jsonl --format generic --policy nonsense
eval talk.jsonl --format generic --budget x
serve --listen nonsense
serve --profile nonsense
serve --config nowhere.toml
serve --upstream-openai nonsense
serve extra
run
run --profile nonsense -- true
config extra
config --profile nonsense
doctor extra
demo extra
`), "\n") {
		var out, errOut bytes.Buffer
		code := run(strings.Fields(line), strings.NewReader(""), &out, &errOut)
		if code != 2 || out.Len() > 0 || strings.Count(errOut.String(), "\n") != 1 ||
			!strings.HasPrefix(errOut.String(), "oriel: ") {
			t.Errorf("oriel %s: exit %d\nstandard output: %s\nstandard error: %s", line, code, &out, &errOut)
		}
	}
}

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// hostile is a text that sets a terminal's title, rings, moves up, clears a line, colours
// by both forms of an escape, turns the direction of writing and begins a new line.
const hostile = "evil\x1b]0;PWNED\x07\x1b[1A\x1b[2K\x1b[31m\u009b31m\u202edlrow\u2028\x7f\r\nINJECTED \xff"

// actsOnNothing reports the first character of an output that acts on a terminal.
func actsOnNothing(out string) error {
	for i, r := range out {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			return fmt.Errorf("%q at %d: …%q", r, i, out[max(0, i-60):min(len(out), i+40)])
		}
		if strings.HasPrefix(out[i:], "INJECTED") && i > 0 && out[i-1] == '\n' {
			return fmt.Errorf("a foreign line at %d: …%q", i, out[max(0, i-60):min(len(out), i+40)])
		}
	}
	return nil
}

// Nothing that others wrote acts on the terminal of whoever reads the output of a command:
// names of models, tools, conversations and files, texts, errors of providers, arguments.
func TestNoOutputActsOnATerminal(t *testing.T) {
	dir := t.TempDir()
	data, in := filepath.Join(dir, "data"), filepath.Join(dir, "in "+strings.ReplaceAll(hostile, "\x00", ""))
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Skipf("the file system refuses such names: %v", err)
	}
	text, err := json.Marshal(strings.ToValidUTF8(hostile, "")) // JSON has no invalid bytes
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(in, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	talk := file("talk.jsonl",
		fmt.Sprintf(`{"conversation":%[1]s,"ref":%[1]s,"time":"2024-05-01T10:00:00Z","role":"user","text":%[1]s}
{"conversation":%[1]s,"ref":"2","time":"2024-05-01T10:01:00Z","role":"assistant","text":%[1]s}
{"conversation":%[1]s,"ref":"3","time":"2024-05-01T10:01:00Z","role":%[1]s,"text":3}
nonsense %[1]s
`, text))
	messages := []string{}
	for i := range 30 {
		messages = append(messages,
			fmt.Sprintf(`{"role":"user","content":%[1]s},{"role":"assistant","content":null,"tool_calls":[{"id":"c%[2]d","type":"function","function":{"name":%[1]s,"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[2]d","content":%[1]s}`, text, i))
	}
	body := fmt.Sprintf(
		`{"model":%[1]s,"user":%[1]s,"prompt_cache_key":%[1]s,"messages":[%[2]s,{"role":"user","content":%[1]s}]}`,
		text, strings.Join(messages, ","))
	request := file("request.json", body)
	config := file("config.toml", fmt.Sprintf("profile = 'full'\n[models.%s]\nwindow = 5000\n[thresholds]\nchat = 3\n",
		tomlText(text)))
	badConfig := file("bad.toml", fmt.Sprintf("%[1]s = %[1]s\n", tomlText(text)))

	check := func(t *testing.T, args ...string) string {
		t.Helper()
		_, out, errOut := command(t, args...)
		for i, text := range []string{out, errOut} {
			if err := actsOnNothing(text); err != nil &&
				!(i == 0 && (strings.HasPrefix(out, "{") || strings.HasPrefix(out, "["))) {
				t.Errorf("oriel %.80q: %s: %v", args, []string{"standard output", "standard error"}[i], err)
			}
		}
		if strings.Contains(out+errOut, "\x1b") {
			t.Errorf("oriel %.80q: an escape", args)
		}
		return out
	}
	// What an upstream and a client bring into a history: a model, a session, an error.
	provider := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"error":{"type":%[1]s,"code":%[1]s,"message":%[1]s}}`, text)
			return
		}
		fmt.Fprintf(w, `{"id":%[1]s,"model":%[1]s,"choices":[{"index":0,"finish_reason":%[1]s,"message":{"role":"assistant","content":%[1]s}}]}`, text)
	})
	up := startServerOf(t, provider)
	s := startServe(t, "--data", data, "--upstream-openai", up, "--upstream-anthropic", up, "--config", config)
	var name string
	for i := range 4 {
		r, err := http.NewRequest("POST", s.openAI+"/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			r.Header.Set("X-Fail", "1")
		}
		if i > 1 {
			r.Header.Set("X-Oriel-Budget", "900")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		name = res.Header.Get("X-Oriel-Conversation")
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
	if err := actsOnNothing(s.errors.String()); err != nil {
		t.Errorf("the log: %v", err)
	}
	if name == "" {
		t.Fatal("the calls are in no conversation")
	}

	rows := map[string][][]string{ // by command; {DATA} is added where it is known
		"backup":     {{filepath.Join(in, "backup.db")}, {filepath.Join(in, "no", "backup.db")}},
		"completion": {{hostile}},
		"config": {{"--config", config}, {"--config", badConfig}, {"--config", in}, {"--profile", hostile},
			{"--upstream-openai", hostile}},
		"context":       {{}, {name}, {name, "1"}, {name, "1", "--json"}, {name, hostile}, {hostile}},
		"conversations": {{}, {"--json"}},
		"count":         {{request}, {"--model", hostile, request}, {talk}, {in}},
		"delete":        {{hostile, "--yes"}, {hostile}},
		"demo":          {{"--listen", hostile}},
		"directives":    {{name}, {hostile}},
		"doctor": {{"--listen", "127.0.0.1:0", "--upstream-openai", "http://127.0.0.1:1", "--upstream-anthropic",
			"http://127.0.0.1:1", "--config", config}, {"--config", badConfig}, {"--listen", hostile}},
		"embed":  {{in}},
		"eval":   {{in}, {talk}},
		"export": {{name}, {hostile}},
		"fit": {{"--budget", "900", "--plan", request}, {"--budget", "900", request},
			{"--model", hostile, request}, {"--policy", hostile, request}, {"--profile", hostile, request}, {talk}},
		"help":    {{hostile}},
		"import":  {{talk}, {in}},
		"man":     {{in}},
		"models":  {{hostile}, {"--models", talk}},
		"pin":     {{name, "1"}, {name, hostile}, {hostile, "1"}},
		"prune":   {{"--older-than", "1s", "--dry-run"}, {"--older-than", hostile}},
		"recall":  {{name, "evil words"}, {name, hostile}, {hostile, "x"}},
		"release": {{name}, {hostile}},
		"replay": {{talk}, {in}, {"--policy", hostile, talk}, {"--window", hostile, talk}, {"--since", hostile, talk},
			{hostile}},
		"run": {{"--", hostile}, {"--show", "--", "sh", "one line \x1b[31m"},
			{"--profile", hostile, "--", "true"}},
		"serve":      {{"--listen", hostile}, {"--config", badConfig}, {"--events", in}},
		"show":       {{name}, {name, "--plan"}, {name, "--calls"}, {name, "--json"}, {hostile}},
		"stats":      {{}},
		"statusline": {{}, {"--json"}, {hostile}},
		"token": {{"add", "--tenant", hostile}, {"add", "--tenant", "ann", "--role", hostile},
			{"add", "--tenant", "ann", "--expires", hostile}, {"list", "--tenant", hostile}, {"revoke", hostile},
			{hostile}},
		"tune":    {{talk}, {in}, {"--since", hostile, talk}, {"--write", hostile, talk}, {hostile}},
		"top":     {{"--url", hostile}, {hostile}},
		"console": {{"--print", hostile}, {"--print", "--data", hostile}},
		"mcp":     {{"--conversation", hostile}, {hostile}},
		"copy": {{"--from", hostile, "--to", hostile}, {"--from", "postgres://" + hostile, "--to", in},
			{hostile}},
		"service": {{hostile}, {"status", hostile}, {"install", "--config", hostile}},
		"setup":   {{hostile}, {"--url", hostile, hostile}},
		"status":  {{hostile}},
		"undo":    {{name}, {name, hostile}, {hostile}},
		"unpin":   {{name, "1"}, {hostile, "1"}},
		"private": {{name}, {hostile}},
		"usage": {{}, {"--cache"}, {"--by", "model"}, {"--by", "conversation", "--json"}, {"--by", hostile},
			{"--since", hostile}},
		"verify":  {{}},
		"version": {{hostile}},
	}
	for _, c := range rootCommand().Commands() {
		if rows[c.Name()] == nil {
			t.Errorf("oriel %s has no row here: what does it print of what others wrote?", c.Name())
		}
	}
	imported := strings.ToValidUTF8(hostile, "")
	for _, verb := range []string{"import", "replay", "tune", "token", "conversations", "stats", "usage", "context", "statusline", "show",
		"recall", "directives", "pin", "unpin", "private", "undo", "release", "export", "verify", "backup", "prune",
		"count", "fit", "models", "setup", "service", "status", "copy", "mcp", "top", "console", "config", "run",
		"serve", "doctor", "demo", "eval", "embed", "man", "completion", "help", "version", "delete"} {
		t.Run(verb, func(t *testing.T) {
			for _, args := range rows[verb] {
				args = append([]string{verb}, args...)
				if c, _, err := rootCommand().Find([]string{verb}); err == nil && c.Flags().Lookup("data") != nil {
					args = append(args[:1:1], append([]string{"--data", data}, args[1:]...)...)
				}
				check(t, args...)
				for i := range args { // the conversation that was imported, too
					if args[i] == name {
						args[i] = imported
						check(t, args...)
					}
				}
			}
			delete(rows, verb)
		})
	}
	for verb := range rows {
		t.Errorf("oriel %s was not tried", verb)
	}
	check(t, hostile)
	check(t, "--"+hostile)
}

// tomlText is a JSON text as TOML has it.
func tomlText(text []byte) string { return strings.ReplaceAll(string(text), "\u007f", `\u007f`) }

// The summary of a run has names of models and words of providers in it.
func TestTheSummaryOfARunActsOnNoTerminal(t *testing.T) {
	text, err := json.Marshal(strings.ToValidUTF8(hostile, ""))
	if err != nil {
		t.Fatal(err)
	}
	fails := 0
	up := startServerOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails++; fails%2 == 0 {
			w.WriteHeader(429)
			fmt.Fprintf(w, `{"error":{"type":%[1]s,"message":%[1]s}}`, text)
			return
		}
		fmt.Fprintf(w, `{"model":%[1]s,"choices":[{"index":0,"message":{"role":"assistant","content":%[1]s}}]}`, text)
	}))
	body := fmt.Sprintf(`{"model":%[1]s,"user":%[1]s,"messages":[{"role":"user","content":%[1]s}]}`, text)
	var errOut syncBuffer
	cmd := startOriel(t, nil, &errOut, "run", "--data", t.TempDir(), "--upstream-openai", up, "--", "sh", "-c",
		`child post /chat/completions "$1"; child post /chat/completions "$1" 2>/dev/null`, "sh", body)
	cmd.Wait()
	got := errOut.String()
	if !strings.Contains(got, "no price is known of evil") || !strings.Contains(got, "failed") {
		t.Errorf("%q", got)
	}
	if err := actsOnNothing(got); err != nil {
		t.Error(err)
	}
}

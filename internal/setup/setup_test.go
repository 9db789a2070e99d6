package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const base = "http://127.0.0.1:8780"

func newHome(t *testing.T, files map[string]string) Place {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return Place{Home: home, Getenv: func(string) string { return "" }}
}

func text(t *testing.T, at Place, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(at.Home, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every agent's files are changed as text, and have every byte again after an undo.
func TestFilesAreChangedAsTextAndRestored(t *testing.T) {
	for _, tc := range []struct {
		name, agent string
		files, want map[string]string // want: "" for a file that must not be there
	}{
		{"Claude Code", "claude-code", map[string]string{
			".claude/settings.json": "{\n    \"model\": \"opus\", // mine\n    \"env\": {\n        \"A\": \"1\"\n    }\n}\n",
			".claude.json":          `{"numStartups":3,"mcpServers":{"x":{"command":"x"}}}`,
		}, map[string]string{
			".claude/settings.json": "{\n    \"model\": \"opus\", // mine\n    \"env\": {\n        \"A\": \"1\",\n        \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:8780\"\n    }\n}\n",
			".claude.json":          `{"numStartups":3,"mcpServers":{"x":{"command":"x"}, "oriel": { "type": "http", "url": "http://127.0.0.1:8780/oriel/mcp" }}}`,
		}},
		{"Claude Code, new", "claude-code", nil, map[string]string{
			".claude/settings.json": "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:8780\"\n  }\n}\n",
			".claude.json":          "{\n  \"mcpServers\": {\n    \"oriel\": { \"type\": \"http\", \"url\": \"http://127.0.0.1:8780/oriel/mcp\" }\n  }\n}\n",
		}},
		{"Codex", "codex",
			map[string]string{
				".codex/config.toml": "# mine\nmodel = \"gpt-5\" # best\nprompt = \"\"\"\n[not a table]\n\"\"\"\n\n# tools\n[tools]\nweb = true\n"}, map[string]string{
				".codex/config.toml": "# mine\nmodel = \"gpt-5\" # best\nprompt = \"\"\"\n[not a table]\n\"\"\"\nopenai_base_url = \"http://127.0.0.1:8780/v1\"\n\n# tools\n[tools]\nweb = true\n\n[mcp_servers.oriel]\nurl = \"http://127.0.0.1:8780/oriel/mcp\"\n",
			}},
		{"Codex, its provider", "codex",
			map[string]string{
				".codex/config.toml": "model_provider = \"x\"\r\n[model_providers.x]\r\nbase_url = 'http://x/v1' # own\r\nname = \"x\"\r\n"}, map[string]string{
				".codex/config.toml": "model_provider = \"x\"\r\n[model_providers.x]\r\nbase_url = \"http://127.0.0.1:8780/v1\" # own\r\nname = \"x\"\r\n\r\n[mcp_servers.oriel]\r\nurl = \"http://127.0.0.1:8780/oriel/mcp\"\r\n",
			}},
		{"Codex, new", "codex", nil, map[string]string{
			".codex/config.toml": "openai_base_url = \"http://127.0.0.1:8780/v1\"\n\n[mcp_servers.oriel]\nurl = \"http://127.0.0.1:8780/oriel/mcp\"\n",
		}},
		{"Gemini CLI", "gemini-cli", map[string]string{".gemini/settings.json": "{ \"theme\": \"x\" }"},
			map[string]string{
				".gemini/settings.json": "{ \"theme\": \"x\", \"mcpServers\": { \"oriel\": { \"httpUrl\": \"http://127.0.0.1:8780/oriel/mcp\" } } }",
			}},
		{"opencode", "opencode",
			map[string]string{
				".config/opencode/opencode.jsonc": "{\n  // my own\n  \"model\": \"m\", // the best\n}\n"},
			map[string]string{
				".config/opencode/opencode.jsonc": "{\n  // my own\n  \"model\": \"m\", // the best\n  \"provider\": {\n    \"anthropic\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:8780/v1\"\n      }\n    },\n    \"openai\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:8780/v1\"\n      }\n    }\n  },\n  \"mcp\": {\n    \"oriel\": { \"type\": \"remote\", \"url\": \"http://127.0.0.1:8780/oriel/mcp\", \"enabled\": true }\n  }\n}\n",
			}},
		{"Kilo Code, without its compaction", "kilo",
			map[string]string{".config/kilo/kilo.json": "{\n  \"model\": \"m\"\n}\n"},
			map[string]string{
				".config/kilo/kilo.json": "{\n  \"model\": \"m\",\n  \"provider\": {\n    \"anthropic\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:8780/v1\"\n      }\n    },\n    \"openai\": {\n      \"options\": {\n        \"baseURL\": \"http://127.0.0.1:8780/v1\"\n      }\n    }\n  },\n  \"mcp\": {\n    \"oriel\": { \"type\": \"remote\", \"url\": \"http://127.0.0.1:8780/oriel/mcp\", \"enabled\": true }\n  },\n  \"compaction\": {\n    \"auto\": false\n  }\n}\n",
			}},
		{"Pi, without its compaction", "pi", map[string]string{".pi/agent/settings.json": "{ \"theme\": \"dark\" }"},
			map[string]string{
				".pi/agent/models.json":   "{\n  \"providers\": {\n    \"anthropic\": {\n      \"baseUrl\": \"http://127.0.0.1:8780\"\n    },\n    \"openai\": {\n      \"baseUrl\": \"http://127.0.0.1:8780/v1\"\n    }\n  }\n}\n",
				".pi/agent/settings.json": "{ \"theme\": \"dark\", \"compaction\": { \"enabled\": false } }",
			}},
		{"Goose", "goose",
			map[string]string{
				".config/goose/config.yaml": "GOOSE_PROVIDER: openai\nextensions:\n  developer:\n    enabled: true\n"},
			map[string]string{
				".config/goose/config.yaml": "GOOSE_PROVIDER: openai\nextensions:\n  developer:\n    enabled: true\nOPENAI_HOST: \"http://127.0.0.1:8780\"\nANTHROPIC_HOST: \"http://127.0.0.1:8780\"\n",
			}},
		{"Copilot CLI", "copilot-cli", nil, map[string]string{
			".copilot/mcp-config.json": "{\n  \"mcpServers\": {\n    \"oriel\": { \"type\": \"http\", \"url\": \"http://127.0.0.1:8780/oriel/mcp\", \"tools\": [\"*\"] }\n  }\n}\n",
		}},
		{"Cursor", "cursor", map[string]string{".cursor/mcp.json": "{ \"mcpServers\": {} }"}, map[string]string{
			".cursor/mcp.json": "{ \"mcpServers\": {\n  \"oriel\": { \"url\": \"http://127.0.0.1:8780/oriel/mcp\" }\n} }",
		}},
		{"aider", "aider", map[string]string{".aider.conf.yml": "# mine\nmodel: x\nopenai-api-base: http://old/v1\n"},
			map[string]string{
				".aider.conf.yml": "# mine\nmodel: x\nopenai-api-base: \"http://127.0.0.1:8780/v1\"\nset-env: [\"ANTHROPIC_API_BASE=http://127.0.0.1:8780\"]\n",
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := newHome(t, tc.files)
			at.NoCompaction = strings.HasSuffix(tc.name, "without its compaction")
			record := filepath.Join(t.TempDir(), "setup", tc.agent+".json")
			p, _, err := New(tc.agent, base+"/", at)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Changes {
				if d := p.Changes[i].Diff(); !strings.Contains(d, "+ ") ||
					strings.Contains(d, "mine") && strings.Contains(d, "- # mine") {
					t.Errorf("the difference is\n%s", d)
				}
			}
			for name, was := range tc.files {
				if got := text(t, at, name); got != was {
					t.Errorf("%s was changed before it was written", name)
				}
			}
			if err := p.Write(record); err != nil {
				t.Fatal(err)
			}
			for name, want := range tc.want {
				if diff := cmp.Diff(want, text(t, at, name)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", name, diff)
				}
			}
			again, _, err := New(tc.agent, base, at)
			if err != nil || len(again.Changes) != 0 {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			if err := p.Write(record); err == nil || !strings.Contains(err.Error(), "--undo") {
				t.Errorf("a second time: %v", err)
			}
			if _, err := Undo(record); err != nil {
				t.Fatal(err)
			}
			for name := range tc.want {
				was, there := tc.files[name]
				path := filepath.Join(at.Home, name)
				info, err := os.Stat(path)
				switch {
				case !there && err == nil:
					t.Errorf("%s is still there", name)
				case there && (err != nil || text(t, at, name) != was || info.Mode().Perm() != 0o640):
					t.Errorf("%s is not as it was: %v", name, err)
				}
				if _, err := os.Stat(path + ".oriel-backup"); err == nil {
					t.Errorf("the backup of %s is still there", name)
				}
			}
			if _, err := os.Stat(record); err == nil {
				t.Error("the record is still there")
			}
		})
	}
}

// A file that was changed since loses only what was put in.
func TestUndoTakesOutOnlyItsOwnPart(t *testing.T) {
	at := newHome(t, map[string]string{".codex/config.toml": "model = \"a\"\n", ".claude/settings.json": "{}\n",
		".claude.json": "{\n  \"a\": 1\n}\n"})
	for agent, change := range map[string]func(){
		"codex": func() {
			write(t, at, ".codex/config.toml", strings.Replace(text(t, at, ".codex/config.toml"), `"a"`, `"b"`, 1)+
				"\n[tui]\nx = 1\n")
		},
		"claude-code": func() {
			// As Claude Code writes it: everything in a form of its own.
			var all map[string]any
			if err := json.Unmarshal([]byte(text(t, at, ".claude.json")), &all); err != nil {
				t.Fatal(err)
			}
			all["b"] = 2
			out, _ := json.MarshalIndent(all, "", "    ")
			write(t, at, ".claude.json", string(out))
		},
	} {
		record := filepath.Join(t.TempDir(), agent+".json")
		p, _, err := New(agent, base, at)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(record); err != nil {
			t.Fatal(err)
		}
		change()
		if _, err := Undo(record); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := text(t, at, ".codex/config.toml"), "model = \"b\"\n\n[tui]\nx = 1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text(t, at, ".claude.json")), &all); err != nil ||
		!cmp.Equal(all, map[string]any{"a": 1.0, "b": 2.0}) {
		t.Errorf("%v, %v", all, err)
	}
	if got := text(t, at, ".claude/settings.json"); got != "{}\n" {
		t.Errorf("%q", got)
	}
	// A value that somebody else wrote is not taken out.
	record := filepath.Join(t.TempDir(), "codex.json")
	p, _, _ := New("codex", base, at)
	if err := p.Write(record); err != nil {
		t.Fatal(err)
	}
	write(t, at, ".codex/config.toml", strings.Replace(text(t, at, ".codex/config.toml"), base+"/v1", "http://mine/v1",
		1))
	if _, err := Undo(record); err == nil ||
		!strings.Contains(err.Error(), "openai_base_url is \"http://mine/v1\" now") {
		t.Errorf("%v", err)
	}
}

// Somebody may have deleted or changed the copy; the settings are taken out all the same.
func TestUndoWithoutItsCopy(t *testing.T) {
	for _, agent := range Agents() {
		for _, change := range []func(string) error{os.Remove,
			func(name string) error { return os.WriteFile(name, []byte("{}"), 0o600) }} {
			before := map[string]string{
				".codex/config.toml": "model = \"a\"\n", ".claude/settings.json": "{ \"a\": 1 }\n",
				".claude.json":          "{\n  \"a\": 1\n}\n",
				".gemini/settings.json": "{ \"a\": 1 }\n", ".config/opencode/opencode.json": "{ \"a\": 1 }\n",
				".aider.conf.yml": "a: 1\n", ".config/kilo/kilo.json": "{ \"a\": 1 }\n",
				".pi/agent/models.json": "{ \"a\": 1 }\n", ".config/goose/config.yaml": "a: 1\n",
				".copilot/mcp-config.json": "{ \"a\": 1 }\n", ".cursor/mcp.json": "{ \"a\": 1 }\n",
				".gemini/.env": "A=1\n", ".qwen/settings.json": "{ \"a\": 1 }\n",
				".cline/data/settings/providers.json": "{ \"providers\": { \"openai-compatible\": { \"settings\": " +
					"{ \"model\": \"m\" } } } }\n",
				".cline/data/settings/cline_mcp_settings.json": "{ \"a\": 1 }\n",
			}
			at := newHome(t, before)
			record := filepath.Join(t.TempDir(), agent+".json")
			p, _, err := New(agent, base, at)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Write(record); err != nil {
				t.Fatal(err)
			}
			for _, c := range p.Changes {
				if err := change(c.Backup); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Undo(record); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
			for name, want := range before {
				if got := text(t, at, name); got != want {
					t.Errorf("%s: %s is %q, want %q", agent, name, got, want)
				}
			}
		}
	}
}

func write(t *testing.T, at Place, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(at.Home, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Wherever the program dies, the record is there before a file is changed, and undo works.
func TestADeathBetweenTheWritesIsUndone(t *testing.T) {
	files := map[string]string{".claude/settings.json": `{"model":"opus"}`, ".claude.json": `{"numStartups":3}`}
	begin := func(t *testing.T) (at Place, p *Edits, record string) {
		at = newHome(t, files)
		p, _, err := New("claude-code", base, at)
		if err != nil {
			t.Fatal(err)
		}
		return at, p, filepath.Join(at.Home, "oriel", "claude-code.json")
	}
	t.Run("the record cannot be written", func(t *testing.T) {
		at, p, record := begin(t)
		if err := os.WriteFile(filepath.Dir(record), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		was := map[string]os.FileInfo{}
		for name := range files {
			was[name], _ = os.Stat(filepath.Join(at.Home, name))
		}
		if err := p.Write(record); err == nil {
			t.Error("no error")
		}
		for name := range files {
			if now, err := os.Stat(filepath.Join(at.Home, name)); err != nil || !os.SameFile(now, was[name]) {
				t.Errorf("%s was written before the record", name)
			}
		}
	})
	for died := range 4 { // after so many of: copy, file, copy, file
		t.Run(fmt.Sprint("death after ", died), func(t *testing.T) {
			at, p, record := begin(t)
			if err := p.Write(record); err != nil {
				t.Fatal(err)
			}
			for i := range p.Changes { // what was not written yet
				c := &p.Changes[i]
				if died <= 2*i+1 {
					if err := os.WriteFile(c.File, []byte(c.before), 0o640); err != nil {
						t.Fatal(err)
					}
				}
				if died <= 2*i {
					if err := os.Remove(c.Backup); err != nil {
						t.Fatal(err)
					}
				}
			}
			if done, err := Undo(record); err != nil || len(done) != 2 {
				t.Errorf("%q, %v", done, err)
			}
			for name, want := range files {
				if got := text(t, at, name); got != want {
					t.Errorf("%s: %s", name, got)
				}
				if _, err := os.Stat(filepath.Join(at.Home, name+".oriel-backup")); err == nil {
					t.Errorf("the copy of %s is left", name)
				}
			}
			if _, err := os.Stat(record); err == nil {
				t.Error("the record is left")
			}
		})
	}
	t.Run("a file cannot be written", func(t *testing.T) {
		_, p, record := begin(t)
		if err := os.WriteFile(p.Changes[1].File, []byte(`{"other":1}`), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(record); err == nil || !strings.Contains(err.Error(), "changed by another program") {
			t.Error(err)
		}
		for i, want := range []string{p.Changes[0].before, `{"other":1}`} {
			if data, err := os.ReadFile(p.Changes[i].File); err != nil || string(data) != want {
				t.Errorf("%s: %s, %v", p.Changes[i].File, data, err)
			}
		}
		if _, err := os.Stat(record); err == nil {
			t.Error("the record is left")
		}
	})
}

func TestLinksStayLinks(t *testing.T) {
	at := newHome(t, map[string]string{"dots/settings.json": "{}"})
	if err := os.MkdirAll(filepath.Join(at.Home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(at.Home, ".gemini", "settings.json")
	if err := os.Symlink(filepath.Join(at.Home, "dots", "settings.json"), link); err != nil {
		t.Skip(err)
	}
	record := filepath.Join(t.TempDir(), "r.json")
	p, _, err := New("gemini-cli", base, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(record); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 ||
		!strings.Contains(text(t, at, "dots/settings.json"), "oriel") {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Undo(record); err != nil || text(t, at, "dots/settings.json") != "{}" {
		t.Errorf("%v, %s", err, text(t, at, "dots/settings.json"))
	}
	os.Remove(filepath.Join(at.Home, "dots", "settings.json"))
	if _, _, err := New("gemini-cli", base, at); err == nil ||
		!strings.Contains(err.Error(), "link to a file that is not there") {
		t.Errorf("%v", err)
	}
}

func TestWhatCannotBeChangedIsSaid(t *testing.T) {
	for _, tc := range [][4]string{
		{"codex", ".codex/config.toml", "a = ", "config.toml cannot be read"},
		{"codex", ".codex/config.toml", "mcp_servers = { oriel = { url = \"x\" } }\n", "change it by hand"},
		{"codex", ".codex/config.toml", "mcp_servers = 3\n", "is not a table"},
		{"gemini-cli", ".gemini/settings.json", "{\"a\":1", "line 1"},
		{"gemini-cli", ".gemini/settings.json", "[]", "it is not a JSON object"},
		{"gemini-cli", ".gemini/settings.json", "{\"mcpServers\":[]}", "is not an object"},
		{"gemini-cli", ".gemini/settings.json", "{\"mcpServers\":{},\"a\":1,\"mcpServers\":{\"x\":{}}}",
			"mcpServers occurs twice: keep one of them"},
		{"gemini-cli", ".gemini/settings.json", "{\"mcpServers\":{\"oriel\":{},\"oriel\":{\"url\":\"x\"}}}",
			"mcpServers.oriel occurs twice"},
		{"aider", ".aider.conf.yml", "set-env:\n  - A=1\n", "change it by hand"},
		{"aider", ".aider.conf.yml", "set-env: [\"A=1\"]\n", "add ANTHROPIC_API_BASE"},
		{"emacs", "x", "", "there are aider, claude-code, cline-cli, codex"},
	} {
		at := newHome(t, map[string]string{tc[1]: tc[2]})
		if _, _, err := New(tc[0], base, at); err == nil || !strings.Contains(err.Error(), tc[3]) {
			t.Errorf("%s %q: %v, want %q", tc[0], tc[2], err, tc[3])
		}
		if got := text(t, at, tc[1]); got != tc[2] {
			t.Errorf("%s was changed", tc[1])
		}
	}
}

// Whatever a file says, a value that is set is read again, everything else stays, and without
// it the settings are as they were.
func TestSettingsOfAnyFile(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "env", "x y", "ü"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Float64Range(-9, 9).AsAny())
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.MapOfN(names, value(depth-1), 0, 3).AsAny(),
			rapid.SliceOfN(value(depth-1), 0, 3).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.MapOfN(names, value(2), 0, 4).Draw(t, "all")
		raw, err := json.MarshalIndent(all, "", rapid.SampledFrom([]string{"", "  ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if rapid.Bool().Draw(t, "compact") {
			raw, _ = json.Marshal(all)
			text = string(raw)
		}
		path := rapid.SliceOfN(names, 1, 3).Draw(t, "path")
		d, err := parseJSON(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_, had, err := d.Get(path)
		if err != nil {
			return // something on the way is no object
		}
		next, err := d.Set(path, `"new"`)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(next), &got); err != nil {
			t.Fatalf("%s\n%s: %v", text, next, err)
		}
		want := decoded(t, raw)
		put(want, path, "new")
		if !cmp.Equal(want, got) {
			t.Fatalf("%s\n%s", text, next)
		}
		if had {
			return
		}
		after, err := parseJSON(next)
		if err != nil {
			t.Fatal(err)
		}
		out, err := after.Remove(path)
		if err != nil {
			t.Fatal(err)
		}
		drop(want, path)
		if got := decoded(t, []byte(out)); !cmp.Equal(want, got) {
			t.Fatalf("%s\n%s\n%s", text, next, out)
		}
	})
}

func decoded(t *rapid.T, raw []byte) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func put(v map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := v[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			v[name] = next
		}
		v = next
	}
	v[path[len(path)-1]] = value
}

func drop(v map[string]any, path []string) {
	for _, name := range path[:len(path)-1] {
		v = v[name].(map[string]any)
	}
	delete(v, path[len(path)-1])
}

func TestKeysOfTOML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		keys := rapid.SampledFrom([]string{"a", "b", "url"})
		section := func(prefix string) {
			for _, k := range rapid.SliceOfNDistinct(keys, 0, 3, rapid.ID[string]).Draw(t, prefix+" keys") {
				fmt.Fprintf(&b, "%s = %s # %s\n", k,
					rapid.SampledFrom([]string{`"x"`, "'y'", "3", "[1, 2]", "\"\"\"\n[url]\nurl = 1\n\"\"\""}).Draw(t,
						k), k)
			}
		}
		section("top")
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"one", "two", "mcp_servers.oriel",
			"mcp_servers.other"}), 0, 4, rapid.ID[string]).Draw(t, "tables") {
			fmt.Fprintf(&b, "\n# about %s\n[%s]\n", name, name)
			section(name)
		}
		text := b.String()
		d, err := parseTOML(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		path := rapid.SampledFrom([][]string{{"url"}, {"mcp_servers", "oriel", "url"}, {"one", "b"}}).Draw(t, "path")
		old, had, err := d.Get(path)
		if err != nil || had && strings.HasPrefix(old, "[") || had && strings.HasPrefix(old, `""`) {
			return // in a form that is not changed
		}
		next, err := d.Set(path, `"new"`)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if _, err := toml.Decode(text, &want); err != nil {
			t.Fatal(err)
		}
		if _, err := toml.Decode(next, &got); err != nil {
			t.Fatalf("%s\n%s: %v", text, next, err)
		}
		if want == nil {
			want = map[string]any{}
		}
		put(want, path, "new")
		if !cmp.Equal(want, got) {
			t.Fatalf("%s\n--\n%s\n%s", text, next, cmp.Diff(want, got))
		}
	})
}

// A change that was recorded and never made is undone, also if another program has written
// the file meanwhile.
func TestAChangeThatWasNotMadeIsUndone(t *testing.T) {
	const was, now = `{"env":{"ANTHROPIC_BASE_URL":"https://models.example"}}`,
		`{"env":{"ANTHROPIC_BASE_URL":"https://models.example"},"model":"opus"}`
	at := newHome(t, map[string]string{".claude/settings.json": was, ".claude.json": "{}"})
	p, _, err := New("claude-code", base, at)
	if err != nil {
		t.Fatal(err)
	}
	write(t, at, ".claude/settings.json", now)
	record := filepath.Join(at.Home, "oriel", "claude-code.json")
	if err := p.Write(record); err == nil || strings.Contains(err.Error(), "by hand") {
		t.Error(err)
	}
	if got := text(t, at, ".claude/settings.json"); got != now {
		t.Error(got)
	}
	if got := text(t, at, ".claude.json"); got != "{}" {
		t.Error(got)
	}
	if _, err := os.Stat(record); err == nil {
		t.Error("the record is left")
	}
}

// A file that has the name of the copy is somebody's: it stays as it is.
func TestABackupOfOthersStays(t *testing.T) {
	const mine = "model = \"gpt-5\"\n"
	at := newHome(t, map[string]string{".codex/config.toml": mine, ".codex/config.toml.oriel-backup": "somebody's"})
	record := filepath.Join(t.TempDir(), "codex.json")
	p, _, err := New("codex", base, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(record); err != nil {
		t.Fatal(err)
	}
	if got := text(t, at, ".codex/config.toml.oriel-backup-2"); got != mine {
		t.Errorf("the copy is %q", got)
	}
	if _, err := Undo(record); err != nil {
		t.Fatal(err)
	}
	if got := text(t, at, ".codex/config.toml.oriel-backup"); got != "somebody's" {
		t.Errorf("what was there is %q", got)
	}
	if _, err := os.Stat(filepath.Join(at.Home, ".codex/config.toml.oriel-backup-2")); err == nil {
		t.Error("the copy is still there")
	}
	if got := text(t, at, ".codex/config.toml"); got != mine {
		t.Errorf("the file is %q", got)
	}
}

package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Place is where an agent's configuration is looked for.
type Place struct {
	// Home is the person's home folder.
	Home string
	// Getenv reads a variable.
	Getenv func(string) string
	// StatusLine has Claude Code show Oriel's figures in its status line.
	StatusLine bool
	// NoCompaction switches off the agent's own compaction of its history.
	NoCompaction bool
}

// Agents returns the names of the agents that can be set up.
func Agents() []string {
	return []string{"aider", "claude-code", "cline-cli", "codex", "copilot-cli", "cursor", "gemini-cli", "goose", "kilo",
		"opencode", "pi", "qwen-code"}
}

// Calls reports whether the calls of an agent that is set up go through the proxy. Otherwise
// it only searches the history there.
func Calls(agent string) bool {
	return agent != "copilot-cli" && agent != "cursor"
}

// Compacts reports whether an agent has a setting in its files for its own compaction.
func Compacts(agent string) bool { return slices.Contains(Compacting, agent) }

// Compacting are the agents with such a setting.
var Compacting = []string{"opencode", "kilo", "pi", "cline-cli", "qwen-code"}

// ByHand are agents whose configuration is not a file, or is in a form that is not changed
// here, with what to do.
var ByHand = map[string]string{
	"cline": "Cline keeps its provider in the editor: set Base URL there to %s/v1 (OpenAI Compatible) or %[1]s " +
		"(Anthropic), and under MCP Servers, Remote Servers, add oriel with %[1]s/oriel/mcp. Its command line is " +
		"cline-cli here: oriel setup cline-cli",
	"continue": "Continue has a base URL for each model: in ~/.continue/config.yaml set apiBase of your models to " +
		"%s/v1, and add to mcpServers: name oriel, type streamable-http, url %[1]s/oriel/mcp. Its command line counts its " +
		"history itself, summarises it from some 96,000 tokens on, and has no setting for that: give the model a larger " +
		"contextLength under defaultCompletionOptions",
}

// New returns the change that makes an agent use the proxy at base, and what else the person
// should know. A plan without changes means that all is set up.
func New(agent, base string, at Place) (*Edits, []string, error) {
	base = strings.TrimRight(base, "/")
	text := func(s string) string { // the same in JSON, TOML and YAML
		out, _ := json.Marshal(s)
		return string(out)
	}
	url, v1, mcp := text(base), text(base+"/v1"), text(base+"/oriel/mcp")
	type file struct {
		name  string
		edits []Edit
	}
	var files []file
	var notes []string
	switch agent {
	case "claude-code":
		folder, state := at.Getenv("CLAUDE_CONFIG_DIR"), ""
		if folder != "" {
			state = filepath.Join(folder, ".claude.json")
		} else {
			folder, state = filepath.Join(at.Home, ".claude"), filepath.Join(at.Home, ".claude.json")
		}
		files = []file{
			{filepath.Join(folder, "settings.json"), []Edit{{Path: []string{"env", "ANTHROPIC_BASE_URL"}, Value: url}}},
			{state, []Edit{{Path: []string{"mcpServers", "oriel"}, Value: `{ "type": "http", "url": ` + mcp + ` }`}}},
		}
		if at.StatusLine {
			files[0].edits = append(files[0].edits,
				Edit{Path: []string{"statusLine"}, Value: `{ "type": "command", "command": "oriel statusline" }`})
		} else {
			notes = append(notes, "with --statusline Claude Code shows Oriel's figures in its status line, too")
		}
		notes = append(notes, "close Claude Code before --write: it writes "+state+" itself")
	case "codex":
		folder := at.Getenv("CODEX_HOME")
		if folder == "" {
			folder = filepath.Join(at.Home, ".codex")
		}
		name := filepath.Join(folder, "config.toml")
		edits, note := codexEdits(name, v1)
		files = []file{{name, append(edits, Edit{Path: []string{"mcp_servers", "oriel", "url"}, Value: mcp})}}
		notes = append(notes, note...)
	case "gemini-cli":
		folder := filepath.Join(cmp.Or(at.Getenv("GEMINI_CLI_HOME"), at.Home), ".gemini")
		files = []file{
			{filepath.Join(folder, "settings.json"),
				[]Edit{{Path: []string{"mcpServers", "oriel"}, Value: `{ "httpUrl": ` + mcp + ` }`}}},
			{filepath.Join(folder, ".env"), []Edit{{Path: []string{"GOOGLE_GEMINI_BASE_URL"}, Value: base}}},
		}
		notes = append(notes, "Gemini CLI with a Google login does not go through Oriel, with a key of the Gemini API it "+
			"does; a file .env of a project takes the place of "+filepath.Join(folder, ".env"))
	case "qwen-code":
		files = []file{{filepath.Join(at.Home, ".qwen", "settings.json"), []Edit{
			{Path: []string{"mcpServers", "oriel"}, Value: `{ "httpUrl": ` + mcp + ` }`},
			{Path: []string{"env", "OPENAI_BASE_URL"}, Value: v1},
		}}}
		if at.NoCompaction { // it compacts at a part of the window
			files[0].edits = append(files[0].edits,
				Edit{Path: []string{"model", "generationConfig", "contextWindowSize"}, Value: "10000000"})
		}
		notes = append(notes, "Qwen Code's own login does not go through Oriel, a key for OpenAI's API does")
	case "cline-cli":
		folder := cmp.Or(at.Getenv("CLINE_DIR"), filepath.Join(at.Home, ".cline"))
		folder = filepath.Join(cmp.Or(at.Getenv("CLINE_DATA_DIR"), filepath.Join(folder, "data")), "settings")
		name := filepath.Join(folder, "providers.json")
		edits, note := clineEdits(name, base)
		files = []file{
			{name, edits},
			{filepath.Join(folder, "cline_mcp_settings.json"), []Edit{{Path: []string{"mcpServers", "oriel"},
				Value: `{ "transport": { "type": "streamableHttp", "url": ` + mcp + ` } }`}}},
		}
		if at.NoCompaction {
			files = append(files, file{filepath.Join(folder, "global-settings.json"),
				[]Edit{{Path: []string{"compactionEnabled"}, Value: "false"}}})
		}
		notes = append(notes, note...)
	case "opencode", "kilo":
		files = []file{{openCodeFile(at), []Edit{
			{Path: []string{"provider", "anthropic", "options", "baseURL"}, Value: v1},
			{Path: []string{"provider", "openai", "options", "baseURL"}, Value: v1},
			{Path: []string{"mcp", "oriel"}, Value: `{ "type": "remote", "url": ` + mcp + `, "enabled": true }`},
		}}}
		if agent == "kilo" {
			files[0].name = configFile(at, "kilo", "kilo.jsonc", "kilo.json")
		}
		if at.NoCompaction {
			files[0].edits = append(files[0].edits, Edit{Path: []string{"compaction", "auto"}, Value: "false"})
		}
	case "pi":
		folder := at.Getenv("PI_CODING_AGENT_DIR")
		if folder == "" {
			folder = filepath.Join(at.Home, ".pi", "agent")
		}
		files = []file{{filepath.Join(folder, "models.json"), []Edit{
			{Path: []string{"providers", "anthropic", "baseUrl"}, Value: url},
			{Path: []string{"providers", "openai", "baseUrl"}, Value: v1},
		}}}
		if at.NoCompaction {
			files = append(files, file{filepath.Join(folder, "settings.json"),
				[]Edit{{Path: []string{"compaction", "enabled"}, Value: "false"}}})
		}
		notes = append(notes, "Pi takes no MCP server")
	case "goose":
		files = []file{{configFile(at, "goose", "config.yaml"), []Edit{
			{Path: []string{"OPENAI_HOST"}, Value: url},
			{Path: []string{"ANTHROPIC_HOST"}, Value: url},
		}}}
		notes = append(notes,
			"to search the history, goose configure, Add Extension, Remote Extension (Streaming HTTP): "+
				base+"/oriel/mcp")
	case "copilot-cli":
		folder := at.Getenv("COPILOT_HOME")
		if folder == "" {
			folder = filepath.Join(at.Home, ".copilot")
		}
		files = []file{{filepath.Join(folder, "mcp-config.json"), []Edit{{Path: []string{"mcpServers", "oriel"},
			Value: `{ "type": "http", "url": ` + mcp + `, "tools": ["*"] }`}}}}
		notes = append(notes,
			"the models of a Copilot subscription do not go through Oriel; with a key of your own set "+
				"COPILOT_PROVIDER_BASE_URL="+base+"/v1, or for Claude models COPILOT_PROVIDER_BASE_URL="+base+
				" and COPILOT_PROVIDER_TYPE=anthropic, where your shell starts",
			"Copilot CLI counts its history itself and summarises it: COPILOT_PROVIDER_MAX_PROMPT_TOKENS=900000 leaves "+
				"that to Oriel")
	case "cursor":
		files = []file{{filepath.Join(at.Home, ".cursor", "mcp.json"),
			[]Edit{{Path: []string{"mcpServers", "oriel"}, Value: `{ "url": ` + mcp + ` }`}}}}
		notes = append(notes, "Cursor's own servers call its models: its calls do not go through Oriel on this machine")
	case "aider":
		files = []file{{filepath.Join(at.Home, ".aider.conf.yml"), []Edit{
			{Path: []string{"openai-api-base"}, Value: v1},
			{Path: []string{"set-env"}, Value: "[" + text("ANTHROPIC_API_BASE="+base) + "]"},
		}}}
		notes = append(notes, "aider takes no MCP server")
	default:
		return nil, nil, fmt.Errorf("no agent is called %q: there are %s", agent, strings.Join(Agents(), ", "))
	}
	p := &Edits{Agent: agent, URL: base}
	for _, f := range files {
		if len(f.edits) == 0 {
			continue
		}
		c, err := newChange(f.name, f.edits)
		if err != nil {
			return nil, nil, err
		}
		if c == nil {
			continue
		}
		for _, e := range c.Edits {
			if old := strings.Trim(e.Old, `"'`); e.Had && strings.HasPrefix(old, "http") &&
				!strings.Contains(strings.Join(e.Path, " "), "oriel") {
				upstream := "--upstream-openai or --upstream-anthropic"
				if e.Path[0] == "GOOGLE_GEMINI_BASE_URL" {
					upstream = "--upstream-gemini"
				}
				notes = append(notes, fmt.Sprintf("%s was %s: start oriel serve with that as %s",
					strings.Join(e.Path, "."), old, upstream))
			}
			if slices.Equal(e.Path, []string{"set-env"}) && e.Had {
				return nil, nil, fmt.Errorf("%s has a set-env already: add ANTHROPIC_API_BASE=%s to it by hand", c.File,
					base)
			}
		}
		p.Changes = append(p.Changes, *c)
	}
	return p, notes, nil
}

// codexEdits returns the edit of the base URL of the provider that Codex calls.
func codexEdits(file, v1 string) ([]Edit, []string) {
	var settings struct {
		Provider  string `toml:"model_provider"`
		Providers map[string]struct {
			Base string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	if _, text, _, err := read(file); err == nil {
		_, _ = toml.Decode(text, &settings) // newChange reports what is wrong
	}
	if name := settings.Provider; name != "" && name != "openai" {
		if settings.Providers[name].Base == "" {
			return nil, []string{
				fmt.Sprintf("Codex calls its provider %q, which has no base_url: its calls do not go through Oriel",
					name)}
		}
		return []Edit{{Path: []string{"model_providers", name, "base_url"}, Value: v1}}, nil
	}
	return []Edit{{Path: []string{"openai_base_url"}, Value: v1}},
		[]string{"Codex with a ChatGPT login does not go through Oriel: log in with a key"}
}

// openCodeFile returns the file with opencode's settings of the person.
func openCodeFile(at Place) string {
	return configFile(at, "opencode", "opencode.jsonc", "opencode.json", "config.json")
}

// configFile returns the first of the files that exists in an agent's folder for settings, or
// the one that is made: the second, if there are several.
func configFile(at Place, agent string, names ...string) string {
	folder := at.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		folder = filepath.Join(at.Home, ".config")
	}
	folder = filepath.Join(folder, agent)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return filepath.Join(folder, name)
		}
	}
	return filepath.Join(folder, names[min(1, len(names)-1)])
}

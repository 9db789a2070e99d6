package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/internal/voice"
)

// registration tells an agent of the MCP server of a run, by its command line or its
// environment. No file of the person's is changed.
type registration struct {
	// args come first among the agent's arguments; changed are variables.
	args, changed []string
	// file is the content of a temporary file whose path is the value of variable; nil if
	// there is none.
	file     []byte
	variable string
}

// claudeCommands are the commands of Claude Code that start no session.
var claudeCommands = []string{"agents", "auth", "auto-mode", "config", "doctor", "gateway", "install", "mcp", "plugin", "plugins", "project", "setup-token", "update", "upgrade"}

// register returns how an agent is told of the MCP server of the proxy at base; nil for
// programs that take none, and where the person's own arguments or variables exclude it.
func register(name string, args []string, env environment, base string) *registration {
	url := base + mcp.Path
	switch name {
	case "claude":
		if len(args) > 0 && slices.Contains(claudeCommands, args[0]) || slices.Contains(args, "--strict-mcp-config") {
			return nil
		}
		// With a space it would take the arguments that follow for further files.
		return &registration{args: []string{"--mcp-config=" + object("mcpServers", map[string]string{"type": "http", "url": url})}}
	case "codex":
		// The whole table, because a server of that name in its settings may have a command.
		return &registration{args: []string{"-c", fmt.Sprintf("mcp_servers.%s={url=%q}", voice.ToolServer, url)}}
	case "opencode":
		const variable = "OPENCODE_CONFIG_CONTENT"
		if env.get(variable) != "" {
			return nil
		}
		return &registration{changed: []string{variable + "=" + object("mcp", map[string]any{"type": "remote", "url": url, "enabled": true})}}
	case "gemini":
		const variable = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
		if _, err := os.Stat(geminiDefaults()); err == nil || env.get(variable) != "" {
			return nil // its content would be hidden
		}
		return &registration{file: []byte(object("mcpServers", map[string]string{"httpUrl": url})), variable: variable}
	}
	return nil
}

// object writes the settings of the server as an agent reads them.
func object(servers string, settings any) string {
	out, err := json.Marshal(map[string]any{servers: map[string]any{voice.ToolServer: settings}})
	if err != nil {
		panic(err) // strings only
	}
	return string(out)
}

// geminiDefaults returns the file with the defaults of Gemini CLI for all users.
func geminiDefaults() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/GeminiCli/system-defaults.json"
	case "windows":
		return `C:\ProgramData\gemini-cli\system-defaults.json`
	}
	return "/etc/gemini-cli/system-defaults.json"
}

// write writes the temporary file, if there is one, and returns the function that removes
// it.
func (r *registration) write() (remove func(), err error) {
	if r == nil || r.file == nil {
		return func() {}, nil
	}
	f, err := os.CreateTemp("", "oriel-mcp-*.json")
	if err != nil {
		return func() {}, err
	}
	remove = func() { os.Remove(f.Name()) }
	if _, err = f.Write(r.file); err == nil {
		err = f.Close()
	}
	if err != nil {
		remove()
		return func() {}, err
	}
	r.changed = append(r.changed, r.variable+"="+f.Name())
	return remove, nil
}

// shown returns the variables as oriel run --show prints them.
func (r *registration) shown() []string {
	if r.file == nil {
		return r.changed
	}
	return append(slices.Clone(r.changed), r.variable+"="+filepath.Join(os.TempDir(), "oriel-mcp-*.json")+" # "+string(r.file))
}

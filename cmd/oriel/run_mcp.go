package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/internal/prompt"
)

// registration registers the MCP server of a run with an agent, by its command line or its
// environment. No file of the person's is changed.
type registration struct {
	// args come first among the agent's arguments; changed are variables.
	args, changed []string
}

// claudeCommands are the commands of Claude Code that start no session.
var claudeCommands = []string{"agents", "auth", "auto-mode", "config", "doctor", "gateway", "install", "mcp", "plugin",
	"plugins", "project", "setup-token", "update", "upgrade"}

// register returns how an agent is told of the MCP server of the proxy at base; nil for
// programs that take none, and where the person's own arguments or variables exclude it.
// Gemini CLI takes one only by files of the person's or of root.
func register(name string, args []string, env environment, base string) *registration {
	url := base + mcp.Path
	switch name {
	case "claude":
		if len(args) > 0 && slices.Contains(claudeCommands, args[0]) || slices.Contains(args, "--strict-mcp-config") {
			return nil
		}
		// With a space it would take the arguments that follow for further files.
		return &registration{args: []string{"--mcp-config=" +
			object("mcpServers", map[string]string{"type": "http", "url": url})}}
	case "codex":
		// The whole table, because a server of that name in its settings may have a command.
		return &registration{args: []string{"-c", fmt.Sprintf("mcp_servers.%s={url=%q}", prompt.ToolServer, url)}}
	case "opencode":
		const variable = "OPENCODE_CONFIG_CONTENT"
		if env.get(variable) != "" {
			return nil
		}
		return &registration{changed: []string{variable + "=" +
			object("mcp", map[string]any{"type": "remote", "url": url, "enabled": true})}}
	}
	return nil
}

// object writes the settings of the server as an agent reads them.
func object(servers string, settings any) string {
	out, err := json.Marshal(map[string]any{servers: map[string]any{prompt.ToolServer: settings}})
	if err != nil {
		panic(err) // strings only
	}
	return string(out)
}

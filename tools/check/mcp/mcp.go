// Package mcp has the MCP server used by programs of others: the command line of the MCP
// inspector, which walks every tool with good and bad input, over stdio and over HTTP, and
// Claude Code and Codex under oriel run, whose scripted model calls every tool.
//
//	./scripts/check mcp [-only inspector|agents|sessions] [-calls 60] [-install DIR] [claude codex]
//
// The agents read a fact, then so much else that it leaves their window. Then the model calls
// recall, which must return it. Claude Code also runs twice in one folder: what the first
// session decided is in the first request of the second with recall.scope = "project", and
// is not with "conversation". The agents and the inspector are installed from npm by name,
// once.
package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs the inspector and the agents that the arguments name, or both.
func Check(args []string) error {
	flags := kit.Flags("mcp")
	only := flags.String("only", "", "inspector, agents or sessions (default all)")
	calls := flags.Int("calls", 60, "tool calls of each agent before it looks back")
	install := flags.String("install", kit.AgentsFolder(), "folder for the agents from npm")
	names := kit.Agents(kit.Parse(flags, args))
	if !slices.Contains([]string{"", "inspector", "agents", "sessions"}, *only) {
		return fmt.Errorf("-only %q: use inspector, agents, sessions", *only)
	}
	dir, err := os.MkdirTemp("", "check-mcp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	oriel, err := kit.BuildOriel(dir)
	if err != nil {
		return err
	}
	var problems []error
	if *only == "" || *only == "inspector" {
		problems = append(problems, inspect(oriel, dir))
	}
	bin := filepath.Join(*install, "node_modules", ".bin")
	if *only != "inspector" {
		if err := kit.InstallAgents(*install); err != nil {
			return err
		}
	}
	if *only == "" || *only == "sessions" {
		for scope, want := range map[string]bool{"conversation": false, "project": true} {
			a := &agent{oriel: oriel, bin: bin, dir: filepath.Join(dir, "sessions-"+scope)}
			problems = append(problems, a.sessions(scope, want))
		}
	}
	if *only == "" || *only == "agents" {
		for _, name := range names {
			a := &agent{name: name, oriel: oriel, bin: bin, dir: filepath.Join(dir, name), calls: *calls}
			if err := a.check(); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%w: %w", kit.ErrFailed, err)
	}
	return nil
}

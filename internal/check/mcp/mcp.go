// Package mcp has the MCP server used by programs of others: the command line of the MCP
// inspector, which walks every tool with good and bad input, over stdio and over HTTP, and
// Claude Code and Codex under oriel run, whose scripted model calls every tool.
//
//	./scripts/check mcp [-only inspector|agents] [-calls 60] [-install DIR] [claude codex]
//
// The agents read a fact, then so much else that it leaves their window. Then the model calls
// recall, which must return it. The agents and the inspector are installed from npm by name,
// once.
package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/oriel-context/oriel/internal/check/kit"
)

// Check runs the inspector and the agents that the arguments name, or both.
func Check(args []string) error {
	flags := kit.Flags("mcp")
	only := flags.String("only", "", "inspector or agents (default both)")
	calls := flags.Int("calls", 60, "tool calls of each agent before it looks back")
	install := flags.String("install", kit.AgentsFolder(), "folder for the agents from npm")
	names := kit.Agents(kit.Parse(flags, args))
	if !slices.Contains([]string{"", "inspector", "agents"}, *only) {
		return fmt.Errorf("-only %q: use inspector, agents", *only)
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
	if *only != "agents" {
		problems = append(problems, inspect(oriel, dir))
	}
	if *only != "inspector" {
		if err := kit.InstallAgents(*install); err != nil {
			return err
		}
		for _, name := range names {
			a := &agent{name: name, oriel: oriel, bin: filepath.Join(*install, "node_modules", ".bin"), dir: filepath.Join(dir, name), calls: *calls}
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

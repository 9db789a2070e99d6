package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is an agent that people use, and one way to use it.
type program struct {
	name    string // of the row
	title   string // what people call it
	api     string // the vendor's API that it calls
	set     string // what points it at a server
	npm     string // PACKAGE@VERSION, or
	pypi    string // PACKAGE==VERSION; both may have more of them behind it
	main    string // the package whose version is shown; default: the first
	bin     string // its executable, or
	script  string // the file of folder matrix that uses the packages, with its mode
	newNode bool   // it needs a newer Node than this machine may have
	// parts is how many files it reads, or how many questions it is asked first.
	parts int
	// budget has room for tools and instructions, and some of the parts.
	budget int
	// compacts reports that it asks for a summary of its conversation.
	compacts bool
	// chat reports that its turns have no tools.
	chat bool
	// apart reports that each of its sessions is a process's own, so that none is resumed; then
	// asked is 0.
	apart bool
	// known are parts of problems that are explained, with bars between them, and why it is so.
	known, why string
	// sockets reports that it asks for a WebSocket, overSocket that the provider has one.
	sockets, overSocket bool
	// asked is how often it is asked for the fact.
	asked int
	// does are the verbs between the first and the last; the default is to ask.
	does []string
	// drive lets it do what a verb says.
	drive func(s *seat, do string) error
}

// The packages, with versions, since each program is known for how it changes its own history.
const (
	newNode      = "node@24.21.0" // for those that need a new one
	claudePinned = "@anthropic-ai/claude-code@2.1.197"
	codexPinned  = "@openai/codex@0.169.0"
	copilot      = "@github/copilot@1.0.102"
	qwen         = "@qwen-code/qwen-code@0.24.4"
	goose        = "@aaif/goose@0.20.1"
	cline        = "cline@3.0.65"
	aider        = "aider-chat==0.86.2"
	continueCLI  = "@continuedev/cli@1.5.47"
)

// programs are in the order of the table.
var programs = []program{
	{name: "claude", title: "Claude Code", api: "Messages", set: "ANTHROPIC_BASE_URL",
		npm: claudePinned, bin: "claude", parts: 60, budget: 48_000, asked: 1, drive: driveClaude},
	{
		name: "claude-compact", title: "Claude Code, /compact", api: "Messages", set: "ANTHROPIC_BASE_URL",
		npm: claudePinned, bin: "claude", parts: 60, budget: 48_000, asked: 1, compacts: true,
		does: []string{compact, ask}, drive: driveClaude,
	},
	{name: "codex", title: "Codex, no WebSocket upstream", api: "Responses", set: "openai_base_url",
		npm: codexPinned, bin: "codex", parts: 40, budget: 20_000, asked: 1, sockets: true,
		drive: driveCodex},
	{
		name: "codex-compact", title: "Codex, compaction", api: "Responses", set: "openai_base_url",
		npm: codexPinned, bin: "codex", parts: 40, budget: 20_000, asked: 1, sockets: true,
		compacts: true,
		drive:    driveCodexCompact,
	},
	{name: "codex-websocket", title: "Codex", api: "Responses, WebSocket", set: "openai_base_url",
		npm: codexPinned, bin: "codex", parts: 40, budget: 20_000, asked: 1, sockets: true,
		overSocket: true, drive: driveCodex},
	{name: "codex-websocket-compact", title: "Codex, compaction", api: "Responses, WebSocket", set: "openai_base_url",
		npm: codexPinned, bin: "codex", parts: 40, budget: 20_000, asked: 1,
		sockets: true, overSocket: true, compacts: true, drive: driveCodexCompact},
	{name: "copilot-chat", title: "Copilot CLI", api: "Chat", set: "COPILOT_PROVIDER_BASE_URL",
		npm: copilot, bin: "copilot", newNode: true, parts: 50, budget: 28_000, asked: 1,
		compacts: true, drive: driveCopilotChat},
	{name: "copilot-responses", title: "Copilot CLI", api: "Responses", set: "COPILOT_PROVIDER_BASE_URL",
		npm: copilot, bin: "copilot", newNode: true, parts: 40, budget: 28_000, asked: 1,
		drive: driveCopilotResponses},
	{name: "copilot-anthropic", title: "Copilot CLI", api: "Messages", set: "COPILOT_PROVIDER_BASE_URL",
		npm: copilot, bin: "copilot", newNode: true, parts: 40, budget: 28_000, asked: 1,
		drive: driveCopilotAnthropic},
	{name: "qwen", title: "Qwen Code", api: "Chat", set: "OPENAI_BASE_URL",
		npm: qwen, bin: "qwen", newNode: true, parts: 40, budget: 32_000, asked: 1, drive: driveQwen},
	{name: "goose", title: "Goose", api: "Responses", set: "OPENAI_HOST",
		npm: goose, bin: "goose", parts: 40, budget: 16_000, asked: 2, does: []string{ask, ask},
		drive: driveGoose},
	{name: "goose-anthropic", title: "Goose", api: "Messages", set: "ANTHROPIC_HOST",
		npm: goose, bin: "goose", parts: 40, budget: 16_000, asked: 2, does: []string{ask, ask},
		drive: driveGooseAnthropic},
	{name: "cline", title: "Cline CLI", api: "Chat", set: "cline auth -b",
		npm: cline, bin: "cline", newNode: true, parts: 80, budget: 24_000, asked: 1, compacts: true,
		drive: driveCline},
	{name: "continue", title: "Continue CLI", api: "Responses", set: "apiBase",
		npm: continueCLI, bin: "cn", newNode: true, parts: 110, budget: 24_000, asked: 1, compacts: true,
		drive: driveContinue},
	{name: "aider-system", title: "aider, gpt-4o", api: "Chat", set: "--openai-api-base",
		pypi: aider, chat: true, bin: "aider", parts: 16, budget: 6_000, asked: 2, compacts: true,
		drive: driveAiderSystem},
	{name: "aider-inside", title: "aider, gpt-5", api: "Chat", set: "--openai-api-base",
		pypi: aider, chat: true, bin: "aider", parts: 16, budget: 6_000, asked: 2, compacts: true,
		drive: driveAiderInside},
}

// choosePrograms returns the programs whose names begin with one of the given ones, or all of
// those that are known for changing their own history.
func choosePrograms(names []string) ([]program, error) {
	if len(names) == 0 {
		return slices.Clone(programs), nil
	}
	var chosen []program
	var known []string
	for _, p := range slices.Concat(programs, others) {
		known = append(known, p.name)
		if slices.ContainsFunc(names, func(name string) bool {
			return p.name == name ||
				strings.HasPrefix(p.name, name+"-")
		}) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no program of %q: %s are known", names, strings.Join(known, ", "))
	}
	return chosen, nil
}

const programRow = "%-23s %-8s %5v %8v %7v %7v %8v %9v %7v  %s\n"

// checkPrograms runs programs that are known for changing their own history, prints a line for
// each and returns how many failed. One that cannot be installed or started here is named and
// skipped.
func checkPrograms(names []string, oriel, install, keep string, parts int) (failed int, err error) {
	chosen, err := choosePrograms(names)
	if err != nil {
		return 0, err
	}
	dir, oriel, err := workspace(oriel)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	fmt.Println("a token is four bytes of the body; recalled: questions that were sent with the fact; whole: requests for a summary that were sent whole")
	fmt.Printf(programRow, "program", "version", "calls", "sessions", "budget", "largest", "recalled", "whole",
		"seconds", "verdict")
	skipped := 0
	for i := range chosen {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		p := &chosen[i]
		p.parts = cmp.Or(parts, p.parts)
		began := time.Now()
		s, err := p.seat(oriel, install, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			skipped++
			fmt.Printf("SKIPPED %s %s, NOT CHECKED: %.600v\n", p.name, p.version(), err)
			continue
		}
		if err := s.check(); err != nil {
			return failed, err
		}
		if s.explained() {
			s.problems = nil
		}
		verdict := "ok"
		if len(s.problems) > 0 {
			failed, verdict = failed+1, "FAILED"
		}
		whole := "none"
		if s.model.summaries > 0 {
			whole = fmt.Sprintf("%d/%d", s.model.summaries-s.shortened, s.model.summaries)
		}
		recalled, took := fmt.Sprintf("%d/%d", s.recalled, s.asked), int(time.Since(began).Seconds())
		fmt.Printf(programRow, p.name, p.version(), len(s.calls), s.sessions, p.budget, s.largest, recalled, whole,
			took, verdict)
		for _, problem := range s.problems[:min(len(s.problems), 8)] {
			fmt.Printf("        %.600s\n", problem)
		}
		if more := len(s.problems) - 8; more > 0 {
			fmt.Printf("        and %d more\n", more)
		}
		if keep != "" {
			if err := s.keep(filepath.Join(keep, p.name)); err != nil {
				return failed, err
			}
		}
	}
	if skipped == len(chosen) {
		return failed, errors.New("no program could be checked")
	}
	return failed, nil
}

// Package agents runs real agent programs headless through the proxy against a
// scripted model that keeps them busy: Claude Code and Codex, and with
// -only programs others.
//
//	./scripts/check agents [-oriel FILE] [-only record|views|default|programs|replicas] [-replicas 2]
//		[-calls N] [-limits 64000,0] [-profiles thrifty,full@12] [-models known,wide,unknown]
//		[-install DIR] [claude codex]
//
// The first runs are without views: the provider must get the bytes that the
// agent sent. The next ones, with the program that -oriel names or one that is
// built, are with views and a model that refuses what exceeds its limit, as
// its vendor does. The agent must succeed. No body may break its vendor's
// rules. A limit is refused at most once, and never if the budget is below it.
// No prompt exceeds the budget. A prompt begins with the whole previous one,
// or is a cut that leaves at most three quarters of the messages' bytes. In
// both, a run must be one conversation, with every call and result stored.
//
// A token is four bytes of the body here, which shares nothing with how Oriel
// counts. A prompt is tools, system and messages in this order, without cache
// marks and Claude Code's billing line.
//
// The last runs, -only default, are those of a person: oriel run without a
// profile, agents that compact on their own, models with the limits of their
// vendors. The agent must never be refused and never ask for a summary of its
// conversation, which the same run with profile off must make it do. Calls,
// tokens and money must be the same in the file of --summary and in oriel
// usage --json, calls and tokens also as the model reported them.
//
// Those with -only programs are of agents that change what they sent before:
// reminders that move, reasoning and date that a resumed session drops, a
// summary in the place of the history. Versions are pinned. Each program reads
// parts or answers questions, may ask for a summary of its conversation, and is
// resumed with a question about the third part; then it begins another piece of
// work. The first must be one session (which conversations that continue
// another one belong to) and the second another, requests within the budget,
// requests for a summary whole, and the fact in the request with the question.
// A model on a WebSocket, as Codex asks for, would be out of the
// proxy's sight: none must be opened. Names choose programs by their beginning.
// -keep FOLDER keeps what was sent. A program that cannot be installed or
// started is skipped, and a line says so.
//
// With -only replicas, which does not run otherwise, requests go in turn to several servers
// on one PostgreSQL, as a balancer without stickiness sends them, and the model refuses more
// than 80,000 tokens. The same must hold as behind one server: also that the limit is
// refused once, whichever server learnt it.
//
// With -all, these programs and others run, in every API that they speak: agents, frameworks and the
// vendors' packages, two at a time. A program that resumes no session is not asked for the fact. What
// was seen is added to a file of results, from which -page writes docs/agents.md. Names choose rows,
// and the rows of other runs stay.
//
//	./scripts/check agents -all -page docs/agents.md [-json] [-jobs 2] [NAME…]
//
// Without -limits, -profiles and -models every limit is tried with a budget
// below and one above it, also with models whose window is too large in the
// table or missing. With any of these flags, all combinations run. full@12 is
// the profile with a threshold of 12%.
//
// The agents are installed from npm by name, once, into the folder that
// -install names. They run in an empty home with an invalid key, and in runs
// with views do not compact on their own; but Codex does so at about 244,000
// tokens, whatever its settings.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs the agents that the arguments name, or both.
func Check(args []string) error {
	var stop func()
	ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := kit.Flags("agents")
	calls := flags.Int("calls", 0,
		"tool calls of each run (default 200 without views, 300 with, 150 under oriel run, each program's own)")
	install := flags.String("install", kit.AgentsFolder(), "folder for the agents from npm")
	only := flags.String("only", "", "record, views, default, programs (default: these four) or replicas")
	keep := flags.String("keep", "",
		"folder for the bodies of -only programs: they hold the vendors' instructions, so keep them to yourself")
	all := flags.Bool("all", false, "run these and other programs, frameworks and packages, in a table")
	table := &matrix{}
	flags.BoolVar(&table.asJSON, "json", false, "with -all: print rows as JSON")
	flags.StringVar(&table.results, "results", "",
		"with -all: file of the rows so far; default: one in the folder of -install")
	flags.StringVar(&table.page, "page", "", "with -all: write the page of all rows to this file, docs/agents.md")
	flags.IntVar(&table.jobs, "jobs", 2, "with -all: programs that run at the same time")
	replicas := flags.Int("replicas", 2, "servers behind a balancer, with -only replicas")
	oriel := flags.String("oriel", "", "the program, for runs with views; default: built from the module")
	limits := flags.String("limits", "", "tokens that the model takes, 0 for any number")
	profiles := flags.String("profiles", "", "profiles of the proxy, NAME or NAME@PERCENT")
	models := flags.String("models", "", "known, wide (the table's window is far too large), unknown")
	given := kit.Parse(flags, args)
	if !slices.Contains([]string{"", "record", "views", "default", "programs", "replicas"}, *only) || *replicas < 1 {
		return fmt.Errorf(
			"-only %q -replicas %d: use record, views, default, programs or replicas, and at least one replica", *only,
			*replicas)
	}
	failed := 0
	if *all {
		table.oriel, table.install, table.keep, table.parts = *oriel, *install, *keep, *calls
		table.results = cmp.Or(table.results, filepath.Join(*install, "results.json"))
		table.jobs = max(1, table.jobs)
		wrong, err := table.check(given)
		return errors.Join(err, kit.Failed(wrong))
	}
	if *only == "" || *only == "programs" {
		wrong, err := checkPrograms(given, *oriel, *install, *keep, *calls)
		if err != nil {
			return err
		}
		if failed += wrong; *only != "" {
			return kit.Failed(failed)
		}
	}
	names := kit.Agents(given)
	if err := kit.InstallAgents(*install); err != nil {
		return err
	}
	if *only == "" || *only == "record" {
		for _, name := range names {
			problems, err := checkRecord(name, *install, cmp.Or(*calls, 200))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, p := range problems {
				failed++
				fmt.Printf("%s: %s\n", name, p)
			}
		}
	}
	if *only == "" || *only == "views" {
		cases, err := choose(names, *limits, *profiles, *models)
		if err != nil {
			return err
		}
		wrong, err := checkViews(cases, *oriel, *install, cmp.Or(*calls, 300))
		if err != nil {
			return err
		}
		failed += wrong
	}
	if *only == "" || *only == "default" {
		wrong, err := checkDefault(names, *oriel, *install, cmp.Or(*calls, 150))
		if err != nil {
			return err
		}
		failed += wrong
	}
	if *only == "replicas" {
		runs, err := behindBalancer(names, *replicas)
		if err != nil {
			return err
		}
		wrong, err := checkViews(runs, *oriel, *install, cmp.Or(*calls, 150))
		if err != nil {
			return err
		}
		failed += wrong
	}
	return kit.Failed(failed)
}

// workspace makes a temporary folder. It returns the program that is given, or
// builds one there.
func workspace(oriel string) (dir, program string, err error) {
	if dir, err = os.MkdirTemp("", "check-agents"); err != nil || oriel != "" {
		return dir, oriel, err
	}
	if program, err = kit.BuildOriel(dir); err != nil {
		os.RemoveAll(dir)
	}
	return dir, program, err
}

// ctx ends when the program is told to end; agents and proxies end with it.
var ctx = context.Background()

// agent runs an agent in a home of its own; work is its working folder. An
// empty model means the agent's default.
func agent(name, model, install, dir, work, base string) ([]byte, error) {
	const prompt = "Read all parts one after another, then say that you are done."
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o755); err != nil {
		return nil, err
	}
	bin := filepath.Join(install, "node_modules", ".bin", name)
	limit, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	var cmd *exec.Cmd
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	switch name {
	case "claude":
		cmd = exec.CommandContext(limit, bin, "-p", prompt, "--allowedTools", "Bash", "--max-turns", "10000")
		if model != "" {
			cmd.Args = append(cmd.Args, "--model", model)
		}
		env = append(env, "DISABLE_COMPACT=1", "CLAUDE_CODE_MAX_CONTEXT_TOKENS=2000000",
			"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE=2000000", "ANTHROPIC_BASE_URL="+base, "ANTHROPIC_API_KEY=sk-none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		config := fmt.Sprintf("model=%q\nmodel_context_window=2000000\nmodel_auto_compact_token_limit=2000000\nmodel_provider=\"x\"\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\n[model_providers.x]\nname=\"x\"\nbase_url=\"%s/v1\"\nenv_key=\"K\"\nwire_api=\"responses\"\n", cmp.Or(model, "gpt-5"), base)
		if err := os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(config), 0o644); err != nil {
			return nil, err
		}
		cmd = exec.CommandContext(limit, bin, "exec", "--skip-git-repo-check", prompt)
		env = append(env, "K=none")
	default:
		return nil, fmt.Errorf("no such agent: claude and codex are known")
	}
	cmd.Dir, cmd.Env = work, env
	return cmd.CombinedOutput()
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	agents "github.com/oriel-context/oriel/internal/setup"
	"github.com/oriel-context/oriel/internal/term"
)

// setupFlags holds the flags of setup.
type setupFlags struct {
	write, undo, json bool
	statusline        bool
	noCompaction      bool
	url               string
	data              *history
}

// setupResult is the JSON form of what setup shows or did.
type setupResult struct {
	Agent   string      `json:"agent"`
	URL     string      `json:"url,omitempty"`
	Files   []setupFile `json:"files"`
	Written bool        `json:"written"`
	Undone  []string    `json:"undone,omitempty"`
	Notes   []string    `json:"notes"`
}

type setupFile struct {
	File   string `json:"file"`
	Exists bool   `json:"exists"`
	Diff   string `json:"diff"`
	Backup string `json:"backup,omitempty"`
}

func setupCommand() *cobra.Command {
	var o setupFlags
	cmd := &cobra.Command{
		Use:   "setup AGENT",
		Short: "Have an agent use Oriel always",
		Long: `Show the change in an agent's own configuration that makes it use oriel serve always: the
base URL of its calls, and the MCP server with which it searches its history. --write makes
the change, --undo takes it back.

The files are changed as text: formatting, comments and everything else stay. --write keeps
a copy of each file beside it (FILE.oriel-backup). --undo restores every byte; if a file was
changed since, it takes out what --write put in, and nothing else.

AGENT is ` + strings.Join(agents.Agents(), ", ") + `. For cline and continue it prints what to do.
--no-compaction has the agent leave its history to Oriel: it is still asked for by hand.

The agent then works only while oriel serve runs: oriel service install has it started with
your session. oriel run needs no set-up.`,
		Example: `  oriel setup claude-code
  oriel setup claude-code --write --statusline
  oriel setup codex --write
  oriel setup pi --write --no-compaction
  oriel setup codex --undo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d arguments: name one agent: %s", len(args), strings.Join(agents.Agents(), ", "))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.write, "write", false, "make the change")
	f.BoolVar(&o.undo, "undo", false, "take the change back")
	f.StringVar(&o.url, "url", "",
		"`address` of the proxy, followed by /k/TOKEN if it needs one (default: that of the setting listen)")
	f.BoolVar(&o.statusline, "statusline", false, "have Claude Code show Oriel's figures in its status line, too")
	f.BoolVar(&o.noCompaction, "no-compaction", false,
		"switch off the agent's own compaction, too ("+strings.Join(agents.Compacting, ", ")+")")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	o.data = addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

func (o *setupFlags) run(cmd *cobra.Command, agent string) error {
	if o.write && o.undo {
		return errors.New("--write and --undo exclude each other")
	}
	if o.statusline && agent != "claude-code" {
		return errors.New("--statusline is for claude-code: other agents have no line for it")
	}
	if o.noCompaction && slices.Contains(agents.Agents(), agent) && !agents.Compacts(agent) {
		return fmt.Errorf("--no-compaction is for %s: other agents have no setting for it in a file",
			strings.Join(agents.Compacting, ", "))
	}
	base, err := o.base()
	if err != nil {
		return err
	}
	if how := agents.ByHand[agent]; how != "" {
		if o.write || o.undo {
			return fmt.Errorf("%s is set up by hand: %s", agent, fmt.Sprintf(how, base))
		}
		return o.print(cmd, &setupResult{Agent: agent, URL: base, Files: []setupFile{},
			Notes: []string{fmt.Sprintf(how, base)}})
	}
	if !slices.Contains(agents.Agents(), agent) {
		hint := "there are " + strings.Join(agents.Agents(), ", ")
		if near := nearNames(agent, agents.Agents()); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Errorf("no agent is called %q: %s", term.OneLine(agent, 60), hint)
	}
	dir, err := o.data.folder()
	if err != nil {
		return err
	}
	record := filepath.Join(dir, "setup", agent+".json")
	if o.undo {
		done, err := agents.Undo(record)
		if errors.Is(err, fs.ErrNotExist) && len(done) == 0 {
			return fmt.Errorf("%s is not set up by Oriel: there is nothing to undo", agent)
		}
		if err != nil {
			return &failure{err}
		}
		return o.print(cmd, &setupResult{Agent: agent, Files: []setupFile{}, Undone: done, Notes: []string{}})
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return &failure{err}
	}
	plan, notes, err := agents.New(agent, base, agents.Place{Home: home, Getenv: os.Getenv, StatusLine: o.statusline,
		NoCompaction: o.noCompaction})
	if err != nil {
		return err
	}
	r := &setupResult{Agent: agent, URL: base, Files: []setupFile{}, Notes: append([]string{}, notes...)}
	if o.write && len(plan.Changes) > 0 {
		if err := plan.Fresh(record); err != nil {
			return err
		}
		if !o.json { // the difference comes before the change
			for i := range plan.Changes {
				printChange(cmd, plan.Changes[i].File, plan.Changes[i].Diff())
			}
		}
		if err := plan.Write(record); err != nil {
			return &failure{err}
		}
		r.Written = true
		if u, err := url.Parse(base); err == nil && isLoopback(u.Hostname()) && !listens(cmd.Context(), u.Host) {
			without := "cannot call its model"
			if !agents.Calls(agent) {
				without = "cannot search the history"
			}
			r.Notes = append([]string{"no proxy is running at " + u.Host + " now: until one is, " + agent + " " +
				without}, r.Notes...)
		}
	}
	for i := range plan.Changes {
		c := &plan.Changes[i]
		r.Files = append(r.Files, setupFile{c.File, c.Existed, c.Diff(), c.Backup})
	}
	return o.print(cmd, r)
}

// base returns the address of the proxy.
func (o *setupFlags) base() (string, error) {
	if o.url != "" {
		if err := proxy.CheckUpstream("--url", o.url); err != nil {
			return "", fmt.Errorf("--url %s: give the address of a proxy, such as http://127.0.0.1:8780",
				term.OneLine(o.url, 100))
		}
		return strings.TrimRight(o.url, "/"), nil
	}
	sources := configSources("")
	sources.Env = os.Getenv
	l, err := settings.Load(sources)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(l.Listen)
	if err != nil || port == "0" {
		return "", fmt.Errorf("the setting listen is %q: give --url", term.OneLine(l.Listen, 60))
	}
	return "http://" + reachable(host, port), nil
}

func printChange(cmd *cobra.Command, file, diff string) {
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n\n", term.Printable(file), term.Printable(diff))
}

func (o *setupFlags) print(cmd *cobra.Command, r *setupResult) error {
	if o.json {
		return printJSON(cmd.OutOrStdout(), r)
	}
	out := cmd.OutOrStdout()
	if !r.Written {
		for _, f := range r.Files {
			printChange(cmd, f.File, f.Diff)
		}
	}
	switch {
	case len(r.Undone) > 0:
		fmt.Fprintln(out, term.Printable(strings.Join(r.Undone, "\n")))
	case r.Written:
		what := r.Agent + " works"
		if !agents.Calls(r.Agent) {
			what = r.Agent + " searches the history"
		}
		fmt.Fprintf(out, `Written. From now on %s only while oriel serve runs:
  oriel service install starts it with your session
  oriel setup %s --undo takes the change back
`, what, r.Agent)
	case len(r.Files) > 0:
		fmt.Fprintf(out, "Nothing is written yet: oriel setup %s --write makes the change.\n", r.Agent)
	case agents.ByHand[r.Agent] == "":
		fmt.Fprintf(out, "%s is set up already.\n", r.Agent)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "- %s\n", term.Printable(n))
	}
	return nil
}

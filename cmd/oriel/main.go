// Command oriel keeps a language-model agent's context bounded without losing its
// history.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program. It returns 0 on success, 2 on bad input or usage,
// 1 on other failures, and for oriel run the exit code of the program. It
// prints an error as one line that says what, where and what to do.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// A command that ignores the first interrupt ends at the second.
	context.AfterFunc(ctx, stop)
	sink := &sink{w: out}
	root := rootCommand()
	helpErr := checkHelp(root)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(sink)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = *helpErr
	}
	if failed := sink.failed(); errors.Is(failed, syscall.EPIPE) {
		return exitBrokenPipe // the reader of the output has seen enough
	} else if failed != nil {
		err = &failure{fmt.Errorf("write the output: %w", failed)}
	}
	if err == nil {
		return 0
	}
	var own *exit
	if errors.As(err, &own) && own.error == nil {
		return own.code
	}
	said := "oriel: " + term.OneLine(err.Error(), maxError)
	if term.IsTerminal(errOut) { // it would break lines within words
		said = strings.Join(term.Wrap(said, term.Width(errOut), 0), "\n")
	}
	tell(errOut, []byte(said+"\n"))
	if own != nil {
		return own.code
	}
	var failed *failure
	if errors.As(err, &failed) {
		return 1
	}
	return 2
}

// endBySignals makes SIGTERM and SIGHUP end the context of a command, as an interrupt
// does, because the command has files to remove. Ignored signals stay ignored, and a second
// signal ends the program.
func endBySignals(cmd *cobra.Command) (release func()) {
	var minded []os.Signal
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			minded = append(minded, s)
		}
	}
	if len(minded) == 0 { // which would stand for all signals
		return func() {}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), minded...)
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return stop
}

// exitBrokenPipe is the exit code of shells for a program that SIGPIPE ended.
const exitBrokenPipe = 141

// checkHelp makes --help after an unknown command an error. Cobra's help
// function cannot return one.
func checkHelp(root *cobra.Command) *error {
	var err error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if rest := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(rest) > 0 {
			err = unknownCommand(cmd, rest[0])
			return
		}
		help(cmd, args)
	})
	return &err
}

// unknownCommand returns the error for a name that no command below parent
// has.
func unknownCommand(parent *cobra.Command, name string) error {
	var names, meant []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
		if slices.Contains(c.SuggestFor, name) {
			meant = append(meant, strconv.Quote(c.Name()))
		}
	}
	if hint := otherWays[name]; hint != "" && parent.Parent() == nil {
		return fmt.Errorf("unknown command %q: %s", term.OneLine(name, 60), hint)
	}
	if meant == nil {
		meant = nearNames(name, names)
	}
	hint := ""
	if len(meant) > 0 {
		hint = "did you mean " + strings.Join(meant, " or ") + "? "
	}
	return fmt.Errorf("unknown command %q: %s%s --help lists the commands", term.OneLine(name, 60), hint,
		parent.CommandPath())
}

// otherWays maps commands that people try and that do not exist to what does the job.
var otherWays = map[string]string{
	"start":     "oriel run -- claude runs an agent, oriel serve the proxy, oriel service install has that always running",
	"stop":      "Ctrl-C ends oriel serve; oriel service remove ends the service; oriel setup AGENT --undo has an agent call its provider again",
	"log":       "oriel top shows calls as they happen, oriel show CONVERSATION --calls those of a conversation",
	"logs":      "oriel top shows calls as they happen, oriel show CONVERSATION --calls those of a conversation",
	"login":     "there is no account: your agent's own key goes through; oriel token makes tokens of a team's server",
	"init":      "nothing is needed: oriel run -- claude; oriel config --init prints a settings file",
	"uninstall": "oriel setup AGENT --undo and oriel service remove take back what was set up; then delete the program and its data folder",
	"update":    "install it again the way that you did; oriel version shows which one this is",
	"upgrade":   "install it again the way that you did; oriel version shows which one this is",
}

// maxError is the most characters of an error that are printed.
const maxError = term.MaxError

// sink remembers whether a write failed, so that commands need not.
type sink struct {
	w io.Writer

	mu  sync.Mutex // protects err: a server writes in the background
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = cmp.Or(s.err, err)
	}
	return n, err
}

// Unwrap returns the writer behind it, which may be a terminal.
func (s *sink) Unwrap() io.Writer { return s.w }

func (s *sink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// oneFile is for commands that read one file or standard input.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%d files: give one, or none to read standard input", len(args))
	}
	return nil
}

// failure is an error that the user did not cause: a disk, a network, a bug.
// All other errors are about input or usage.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func init() {
	// "oriel conv" is oriel conversations. The variable is cobra's, and global.
	cobra.EnablePrefixMatching = true
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "oriel",
		Short: "Keep an agent's context bounded without losing its history",
		Long: `Oriel keeps a language-model agent's context bounded without losing its history.

Tokens are counted for the model that --model or the request names, or with o200k_base
if neither names one.`,
		Example: `  oriel run -- claude
  oriel conversations
  oriel recall "which port does the proxy use?"
  oriel usage --by model`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { warnOfVariables(cmd) },
	}
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, strings.Join(rest, " "))
			}
			return about.Help()
		},
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", plainFlagError(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(countCommand(), embedCommand(), fitCommand(), modelsCommand(),
		importCommand(), replayCommand(), tuneCommand(), conversationsCommand(), showCommand(),
		exportCommand(), pinCommand(), unpinCommand(),
		privateCommand(), undoCommand(),
		releaseCommand(), deleteCommand(), pruneCommand(), backupCommand(), copyCommand(), verifyCommand(),
		statsCommand(), usageCommand(), contextCommand(), statuslineCommand(), topCommand(),
		directivesCommand(), recallCommand(), evalCommand(), serveCommand(), consoleCommand(),
		tokenCommand(), configCommand(), runCommand(), mcpCommand(), setupCommand(), serviceCommand(), demoCommand(),
		versionCommand(), completionCommand(), manCommand(), doctorCommand())
	status := serviceStatusCommand() // which people look for here, and not oriel statusline
	status.Hidden = true
	root.AddCommand(status)
	root.Version = version()
	root.SetVersionTemplate("oriel {{.Version}}\n")
	addCompletions(root)
	group(root)
	wrapHelp(root)
	return root
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/eval"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// shells are the shells that completions can be written for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Long: `Print a script that makes a shell complete commands, flags, the values of flags, and
the names of your conversations, with --data also those of another folder.

bash, with the package bash-completion; for this shell, and for all:
  source <(oriel completion bash)
  oriel completion bash > ~/.local/share/bash-completion/completions/oriel

zsh, into a folder of $fpath, before compinit runs:
  oriel completion zsh > "${fpath[1]}/_oriel"

fish:
  oriel completion fish > ~/.config/fish/completions/oriel.fish

PowerShell; the same line in $PROFILE is for all shells:
  oriel completion powershell | Out-String | Invoke-Expression`,
		Example: `  source <(oriel completion bash)
  oriel completion zsh > "${fpath[1]}/_oriel"
  oriel completion fish > ~/.config/fish/completions/oriel.fish`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("no shell: give one of %s", strings.Join(shells, ", "))
			}
			if len(args) > 1 || !slices.Contains(shells, args[0]) {
				return fmt.Errorf("%q: give one shell: %s", strings.Join(args, " "), strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := printCompletion(cmd.Root(), cmd.OutOrStdout(), args[0]); err != nil {
				return &failure{err}
			}
			return nil
		},
	}
}

func printCompletion(root *cobra.Command, out io.Writer, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}

// flagValues returns the values of flags that accept only some, by command and
// flag; "any" stands for all commands with the flag. The help of each flag
// names the values.
func flagValues() map[string][]string {
	imports := []string{"auto"}
	for _, f := range importer.Formats() {
		imports = append(imports, string(f))
	}
	bodies := wire.FormatNames()
	return map[string][]string{
		"any condense":  {"behind", "inline"},
		"any encoding":  bpe.Names(),
		"any profile":   window.Profiles(),
		"any sync":      {"normal", "full"},
		"count format":  bodies,
		"eval format":   {"locomo", "beam", "generic", "claude-code"},
		"eval policy":   eval.Policies(),
		"eval scope":    {"conversation", "user"},
		"fit format":    bodies,
		"fit mode":      {"soft", "hard", "recovery"},
		"fit policy":    append(window.Policies(), "trajectory"),
		"fit preset":    {"demo", "reasoning", "debug", "minimal"},
		"import format": imports,
		"replay format": imports,
		"replay policy": replay.Names(nil),
		"tune format":   imports,
		"recall mode":   {"hybrid", "keyword", "dense"},
		"recall scope":  {"conversation", "project", "user"},
		"usage by":      {"hour", "day", "week", "month", "model", "project", "conversation"},
	}
}

// takeConversation lists the commands whose first argument is a conversation's
// name.
var takeConversation = []string{"show", "export", "pin", "unpin", "private", "undo", "release", "delete", "directives",
	"context", "console"}

// addCompletions registers the completions of arguments and flags for all
// commands.
func addCompletions(root *cobra.Command) {
	values := flagValues()
	for _, cmd := range root.Commands() {
		switch name := cmd.Name(); {
		case slices.Contains(takeConversation, name):
			cmd.ValidArgsFunction = completeFirst(completeConversation)
		case name == "models":
			cmd.ValidArgsFunction = completeFirst(completeModel)
		case name == "recall": // a query
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := completionOf(cmd, f, values); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails for unknown flags only
			}
		})
	}
}

// completionOf returns the function that completes a flag's value. nil leaves
// it to the shell, which offers files.
func completionOf(cmd *cobra.Command, f *pflag.Flag, values map[string][]string) cobra.CompletionFunc {
	for _, whose := range []string{cmd.Name(), "any"} {
		if list, ok := values[whose+" "+f.Name]; ok {
			return completeValues(list, f.Value.Type() == "stringSlice")
		}
	}
	switch {
	case f.Name == "data":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case f.Name == "conversation" && cmd.Name() != "import": // there it is a new name
		return completeConversation
	case f.Name == "model":
		return completeModel
	case f.Value.Type() != "string" && f.Value.Type() != "stringArray": // numbers and times are not files
		return cobra.NoFileCompletions
	}
	return nil
}

// completeValues completes one value, or a comma-separated list of them.
func completeValues(values []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := ""
		if list {
			before = begun[:strings.LastIndexByte(begun, ',')+1]
		}
		var found []cobra.Completion
		for _, v := range values {
			if strings.HasPrefix(before+v, begun) {
				found = append(found, before+v)
			}
		}
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if list {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

// completeFirst completes only the first argument.
func completeFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// completeConversation completes a conversation's name, newest first. It
// offers nothing if there is no history or it cannot be read.
func completeConversation(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var data history
	if f := cmd.Flag("data"); f != nil {
		data.dir = f.Value.String()
	}
	if f := cmd.Flag("tenant"); f != nil {
		tenant := f.Value.String()
		data.tenant = &tenant
	}
	var found []cobra.Completion
	err := data.with(cmd.Context(), func(s tenantStore) error {
		all, err := report.Conversations(cmd.Context(), s, s.tenant)
		for i := range all {
			if name := all[i].Name; strings.HasPrefix(name, begun) && harmless(name) {
				found = append(found,
					cobra.CompletionWithDesc(name,
						fmt.Sprintf("%s, %s", term.Plural(int(all[i].Head.Depth), "message", "messages"),
							all[i].Said.UTC().Format("2006-01-02"))))
			}
		}
		return err
	})
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// harmless reports whether a name may appear unquoted on a command line:
// shells insert the common part of several names unquoted, and run what is in
// it at the next completion. Names come from clients and from other people's
// files.
func harmless(name string) bool {
	return !strings.ContainsAny(name, "$`\\\"'!;&|<>(){}[]*?#~") &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf) })
}

func completeModel(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, m := range token.Builtin().All() {
		if strings.HasPrefix(m.ID, begun) {
			found = append(found, m.ID)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

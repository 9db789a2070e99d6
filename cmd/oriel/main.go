// Command oriel keeps a language-model agent's context bounded without losing its
// history.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: 0 on success, 2 on bad input or usage, 1 on other
// failures. An error is one line that says what, where and what to do.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(errOut, "oriel: %v\n", err)
	var failed *failure
	if errors.As(err, &failed) {
		return 1
	}
	return 2
}

// failure is an error that is not the user's: a disk, a network, a bug. All
// other errors are about input or usage.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "oriel",
		Short: "Keep an agent's context bounded without losing its history",
		Long: `Oriel keeps a language-model agent's context bounded without losing its history.

Token figures are those of the model that --model or the request names, and
o200k_base counts where none is named.`,
		Example:       "  oriel count request.json\n  oriel models claude",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: oriel --help lists the commands", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(countCommand(), modelsCommand())
	return root
}

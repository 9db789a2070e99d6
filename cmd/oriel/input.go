package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

// maxInput is the size limit of a body or text that a command reads.
const maxInput = 64 << 20

// openInput opens the file that the arguments name, or standard input.
func openInput(cmd *cobra.Command, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("read %s: %w", args[0], err)
	}
	return f, nil
}

// readInput reads the file that the arguments name, or standard input.
func readInput(cmd *cobra.Command, args []string) ([]byte, error) {
	in, err := openInput(cmd, args)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	name := inputName(args)
	sayReading(cmd, name)
	data, err := interruptible(cmd.Context(),
		func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, maxInput+1)) })
	if errors.Is(err, context.Canceled) {
		return nil, &exit{code: exitInterrupted}
	}
	if err != nil {
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("read %s: more than %d bytes, which is the largest input: split it", name, maxInput)
	}
	return data, nil
}

// sayReading notes, for a person at a terminal, that the command waits for input.
func sayReading(cmd *cobra.Command, name string) {
	if name == standardInput && term.IsTerminal(cmd.InOrStdin()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "oriel: reading standard input: Ctrl-D ends it, Ctrl-C stops")
	}
}

// inputName returns the name of the input in errors.
func inputName(args []string) string {
	if len(args) > 0 && args[0] != "-" {
		return args[0]
	}
	return standardInput
}

// standardInput is the name of the input that no argument names.
const standardInput = "standard input"

// exitInterrupted is the exit code of shells for a program that SIGINT ended.
const exitInterrupted = 130

// orInterrupted returns err, or an exit without a message if the command was interrupted.
func orInterrupted(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() != nil {
		return &exit{code: exitInterrupted}
	}
	return err
}

// interruptible returns what read returns, or ctx's error as soon as ctx ends.
// It abandons a read that still waits.
func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// addModelTable adds the flag for a file that is merged into the built-in
// model table.
func addModelTable(cmd *cobra.Command) *string {
	return cmd.Flags().String("models", os.Getenv("ORIEL_MODELS"),
		"JSON `file` of models over the built-in table (default $ORIEL_MODELS)")
}

// modelTable returns the built-in table with the models of the settings in it, and with
// those of the file that --models names.
func modelTable(path string) (*token.Models, error) {
	sources := configSources("")
	if path != "" {
		sources.Flags["models_file"] = path
	}
	l, err := settings.Load(sources)
	if err != nil {
		return nil, err
	}
	return l.Table, nil
}

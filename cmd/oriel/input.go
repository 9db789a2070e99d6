package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

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
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
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

// inputName returns the name of the input in errors.
func inputName(args []string) string {
	if len(args) > 0 && args[0] != "-" {
		return args[0]
	}
	return "standard input"
}

// addModelTable adds the flag for a file that is merged into the built-in
// model table.
func addModelTable(cmd *cobra.Command) *string {
	return cmd.Flags().String("models", os.Getenv("ORIEL_MODELS"), "JSON `file` of models over the built-in table (default $ORIEL_MODELS)")
}

func modelTable(path string) (*token.Models, error) {
	if path == "" {
		return token.Builtin(), nil
	}
	return token.LoadModels(path)
}

package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oriel-context/oriel/internal/term"
)

// plainFlagError names the values that a flag takes if its value cannot be read, in place of what
// package strconv says.
func plainFlagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	f := bad.GetFlag()
	if _, secret := f.Value.(storeFlag); secret { // which may have a password
		return fmt.Errorf("--%s: %w", f.Name, bad.Unwrap())
	}
	takes := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint": "a whole number",
		"intSlice": "whole numbers, separated by commas", "float64": "a number", "bool": "true or false",
		"duration": "a duration such as 30s or 5m",
	}[f.Value.Type()]
	if takes == "" {
		return err
	}
	if unit, _ := pflag.UnquoteUsage(f); unit == "tokens" && f.Value.Type() != "intSlice" {
		takes = "a number of tokens"
	}
	value := term.OneLine(bad.GetValue(), 60)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("--%s %s is too large", f.Name, value)
	}
	return fmt.Errorf("--%s takes %s, not %q", f.Name, takes, value)
}

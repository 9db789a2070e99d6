package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// plainFlagError says what a flag takes where its value cannot be read, in place of what
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
		"float64": "a number", "bool": "true or false", "duration": "a duration such as 30s or 5m",
	}[f.Value.Type()]
	if takes == "" {
		return err
	}
	if unit, _ := pflag.UnquoteUsage(f); unit == "tokens" {
		takes = "a number of tokens"
	}
	if errors.Is(err, strconv.ErrRange) {
		takes += " that is not as large"
	}
	return fmt.Errorf("--%s takes %s, not %q", f.Name, takes, oneLine(bad.GetValue(), 60))
}

/*
Gate runs the steps that a change must pass. Its standard input is the list of them, which
scripts/test gives it.

	gate <STEPS              run the steps, until one fails
	gate fuzz PACKAGE…       the fuzz targets of packages, for a second each; or with $FUZZTIME those
	                         of all packages, for that long

A line of the list is the name of a step, a colon, and a command for bash; lines with white
space in front continue it. The steps after a line "beside:" run one after the other beside
those before it: much of their time is waiting for packages, a browser or the clock. What a
step beside prints is held back and printed whole, so that lines of two steps never mix. The
first step that fails ends all others, and its output and name come last.
*/
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := gate(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "!! FAILED:", err)
		os.Exit(1)
	}
}

func gate(ctx context.Context, args []string) error {
	if len(args) == 0 {
		list, err := parse(os.Stdin)
		if err != nil {
			return err
		}
		return list.run(ctx, os.Stdout)
	}
	if args[0] != "fuzz" || len(args) == 1 {
		return errors.New("gate takes a list of steps on its standard input, or fuzz PACKAGE…")
	}
	return fuzz(ctx, args[1:], os.Stdout)
}

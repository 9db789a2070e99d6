// Command vector is the Go half of the comparison of vector indexes; the script
// run beside it is the whole. It lives in a module of its own so that it adds
// nothing to Oriel's dependencies.
//
// Usage:
//
//	vector embed SOURCE FILE COUNT    vectors of so many paragraphs of Go source
//	vector serve BASE QUERIES         be measured
//
// Files hold float32 vectors of 384 dimensions. Serve says "ready" with the
// bytes that its index takes, and answers lines "FROM COUNT REFINE" with
// a line for each of so many queries: the nanoseconds of CPU that it took and the
// ids found. With a REFINE other than 0, so many are found by bytes and scored
// anew by float32.
package main

import (
	"fmt"
	"os"
	"strconv"
)

const dimensions = 384

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vector:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "embed":
		count, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return embed(args[1], args[2], count)
	case len(args) == 3 && args[0] == "serve":
		return serve(args[1], args[2], os.Stdin, os.Stdout)
	}
	return fmt.Errorf("bad arguments %q", args)
}

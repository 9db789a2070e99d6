// Command minilm is the Go half of the comparison of embedders; the script run
// beside it is the whole. It lives in a module of its own so that it adds
// nothing to Oriel's dependencies.
//
// Usage:
//
//	minilm serve WEIGHTS KERNEL THREADS TEXTS    be measured
//	minilm compare [-rounds N] [-json] …         measure, and print the tables
//
// WEIGHTS is a weight file, or "built-in". A contender, in Go or Python, says
// "ready" with the nanoseconds that loading and a first vector took, and then
// answers lines: "time CASE FROM CALLS" with the wall and CPU time of so many
// calls in nanoseconds, "memory" with the bytes that became resident since
// before the model was loaded, and "allocations CASE" with how many a call
// makes and of how many bytes.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "minilm:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 5 && args[0] == "serve":
		return serve(args[1], args[2], args[3], args[4], os.Stdin, os.Stdout)
	case len(args) > 0 && args[0] == "compare":
		var c comparison
		fs := flag.NewFlagSet("compare", flag.ExitOnError)
		fs.IntVar(&c.rounds, "rounds", 31, "samples of every contender")
		fs.IntVar(&c.starts, "starts", 7, "processes started for the first vector")
		fs.BoolVar(&c.json, "json", false, "print JSON")
		fs.StringVar(&c.texts, "texts", "", "`file` of texts, by case")
		fs.StringVar(&c.f32, "f32", "", "float32 weight `file` of ours")
		fs.StringVar(&c.int8, "int8", "", "int8 weight `file` that is built in, for its size")
		fs.StringVar(&c.python, "python", "", "`interpreter` of the rival")
		fs.StringVar(&c.rival, "rival", "", "the rival's `script`")
		fs.StringVar(&c.models, "models", "", "`folder` of its models")
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		return c.run(os.Stdout)
	}
	return fmt.Errorf("bad arguments %q", args)
}

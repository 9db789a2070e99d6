// Command recall is the Go half of the comparison of whole recalls; the script run
// beside it is the whole. It lives in a module of its own so that it adds nothing to
// Oriel's dependencies.
//
// Usage:
//
//	recall make FOLDER PASSAGES QUERIES [DATA]    write texts, vectors and queries
//	recall serve FOLDER                           be measured
//	recall memory FOLDER                          tell the bytes of a passage
//
// DATA is a file or folder that Oriel can import; without it texts are made up. Serve
// says "ready" with the number of passages and the bytes of each, and answers lines
// "FROM COUNT HOW" with a line for each of so many queries: the nanoseconds of CPU that
// it took and how many passages it found. HOW is "given" for vectors from the file and
// "embed" for those that the model makes of the query.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

const dimensions = 384

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) >= 4 && len(args) <= 5 && args[0] == "make":
		passages, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		queries, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return makeCorpus(ctx, args[1], passages, queries, args[4:])
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1], os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == "memory":
		return weigh(ctx, args[1], os.Stdout)
	}
	return fmt.Errorf("bad arguments %q", args)
}

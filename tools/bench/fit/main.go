// Command fit is the Go half of the comparison of context managers; the script
// run beside it is the whole. It lives in a module of its own so that it adds
// nothing to Oriel's dependencies.
//
// Usage:
//
//	fit make FOLDER SIZE...                   write a conversation of each size
//	fit ours FOLDER BUDGET REPEATS SIZE...    measure Oriel on them
//
// A measurement is one line of JSON on standard output; what was left of the
// conversation goes to FOLDER/out, where report.py judges it. The rivals in
// Python do the same.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 2 && args[0] == "make":
		sizes, err := numbers(args[2:])
		if err != nil {
			return err
		}
		return writeConversations(args[1], sizes)
	case len(args) > 4 && args[0] == "ours":
		n, err := numbers(args[2:])
		if err != nil {
			return err
		}
		for _, size := range n[2:] {
			if err := measureAll(args[1], size, n[0], n[1]); err != nil {
				return fmt.Errorf("%d messages: %w", size, err)
			}
		}
		return nil
	}
	return fmt.Errorf("bad arguments %q", args)
}

func numbers(args []string) ([]int, error) {
	out := make([]int, len(args))
	for i, a := range args {
		var err error
		if out[i], err = strconv.Atoi(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inputFile returns the file of the conversation of a size.
func inputFile(folder string, size int) string {
	return filepath.Join(folder, fmt.Sprintf("in-%d.json", size))
}

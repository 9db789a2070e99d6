// Command bpe is the Go half of the comparison of token counters; the script
// run beside it is the whole. It lives in a module of its own so that rivals
// never become dependencies of Oriel.
//
// Usage:
//
//	bpe mix FILE                       write the text to count
//	bpe ours|tiktoken-go FILE ENCODING CHUNK REPEATS
//	bpe report < RESULTS               print the table
//
// A counter prints one line: its name, the encoding, the chunk size in bytes
// (0: the whole file at once), the number of tokens, the bytes counted, and
// the CPU time of each repetition in nanoseconds. The rivals in Rust and
// Python print the same.
package main

import (
	"fmt"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/test/mixtext"
	"github.com/tiktoken-go/tokenizer"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bpe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "mix":
		text, err := mixtext.Build(2 << 20)
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], text, 0o644)
	case len(args) == 1 && args[0] == "report":
		return report(os.Stdin, os.Stdout)
	case len(args) == 5:
		return measure(args[0], args[1], args[2], args[3], args[4])
	}
	return fmt.Errorf("bad arguments %q", args)
}

// counter returns the function to measure.
func counter(name, encoding string) (func(string) (int, error), error) {
	switch name {
	case "ours":
		e, err := bpe.Get(encoding)
		if err != nil {
			return nil, err
		}
		return func(s string) (int, error) { return e.Count(s), nil }, nil
	case "tiktoken-go":
		c, err := tokenizer.Get(tokenizer.Encoding(encoding))
		if err != nil {
			return nil, err
		}
		return c.Count, nil
	}
	return nil, fmt.Errorf("unknown counter %q", name)
}

func measure(name, file, encoding, chunkSize, repeats string) error {
	count, err := counter(name, encoding)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(chunkSize)
	if err != nil {
		return err
	}
	reps, err := strconv.Atoi(repeats)
	if err != nil {
		return err
	}
	parts := chunks(string(data), size)
	total := 0
	var times []int64
	for range reps + 1 {
		before, err := cpu()
		if err != nil {
			return err
		}
		total = 0
		for _, p := range parts {
			n, err := count(p)
			if err != nil {
				return err
			}
			total += n
		}
		after, err := cpu()
		if err != nil {
			return err
		}
		times = append(times, after-before)
	}
	fmt.Print(name, " ", encoding, " ", size, " ", total, " ", len(data))
	for _, t := range times[1:] { // the first was for warming up
		fmt.Print(" ", t)
	}
	fmt.Println()
	return nil
}

// chunks splits the text every size bytes, earlier if that is inside a
// character.
func chunks(s string, size int) []string {
	if size == 0 {
		return []string{s}
	}
	var parts []string
	for len(s) > size {
		n := size
		for !utf8.RuneStart(s[n]) {
			n--
		}
		parts = append(parts, s[:n])
		s = s[n:]
	}
	return append(parts, s)
}

// cpu returns the CPU time of the process so far, including garbage
// collection.
func cpu() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return t.Nano(), nil
}

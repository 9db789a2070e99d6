package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

type key struct{ encoding, chunk string }

// A result is the measurement of one counter under one key.
type result struct {
	name   string
	tokens int
	bytes  int
	times  []int64
}

// report reads lines of counters, several per counter if the runs were
// interleaved, and prints speeds by median CPU time and ratios to ours.
func report(r io.Reader, w io.Writer) error {
	var order []key
	results := map[key][]*result{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 6 {
			return fmt.Errorf("bad line %q", sc.Text())
		}
		k := key{f[1], f[2]}
		if results[k] == nil {
			order = append(order, k)
		}
		i := slices.IndexFunc(results[k], func(r *result) bool { return r.name == f[0] })
		if i < 0 {
			i = len(results[k])
			results[k] = append(results[k], &result{name: f[0]})
		}
		res := results[k][i]
		var err error
		if res.tokens, err = strconv.Atoi(f[3]); err != nil {
			return err
		}
		if res.bytes, err = strconv.Atoi(f[4]); err != nil {
			return err
		}
		for _, s := range f[5:] {
			t, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return err
			}
			res.times = append(res.times, t)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%-12s %-6s %-12s %9s %5s %9s %19s %12s\n", "encoding", "chunk", "counter", "tokens", "runs", "MB/s",
		"(slowest-fastest)", "ours is")
	for _, k := range order {
		ours := 0.0
		for _, r := range results[k] {
			slices.Sort(r.times)
			speed := func(t int64) float64 { return float64(r.bytes) * 1000 / float64(t) }
			mid := speed(r.times[len(r.times)/2])
			if r.name == "ours" {
				ours = mid
			}
			chunk := k.chunk
			if chunk == "0" {
				chunk = "whole"
			}
			span := fmt.Sprintf("(%.1f-%.1f)", speed(r.times[len(r.times)-1]), speed(r.times[0]))
			fmt.Fprintf(w, "%-12s %-6s %-12s %9d %5d %9.1f %19s %11.2fx\n", k.encoding, chunk, r.name, r.tokens,
				len(r.times), mid, span, ours/mid)
		}
	}
	return nil
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/oriel-context/oriel/tools/bench/harness"
)

// report reads samples and prints a Markdown table. A contender's speed is the
// median over its processes.
func report(in io.Reader, out io.Writer) error {
	var names []string
	by := map[string][]sample{}
	dec := json.NewDecoder(in)
	for dec.More() {
		var s sample
		if err := dec.Decode(&s); err != nil {
			return err
		}
		if len(s.Millis) == 0 {
			return fmt.Errorf("%s measured no query", s.Name)
		}
		if by[s.Name] == nil {
			names = append(names, s.Name)
		}
		by[s.Name] = append(by[s.Name], s)
	}
	if len(names) == 0 {
		return fmt.Errorf("no samples")
	}
	first := by[names[0]][0]
	fmt.Fprintf(out,
		"%d queries, %d postings at the median; Oriel's index takes %d kB. Ratios: above 1, the first line is the better one.\n\n", len(first.Millis), harness.Quantile(first.Postings, .5), first.Bytes/1000)
	fmt.Fprintln(out, "| | p50 ms | ratio | p95 ms | ratio | documents/s | ratio | same top 10 |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	figure := func(name string, f func(sample) float64) float64 {
		var all []float64
		for _, s := range by[name] {
			all = append(all, f(s))
		}
		return harness.Quantile(all, .5)
	}
	p50 := func(s sample) float64 { return harness.Quantile(s.Millis, .5) }
	p95 := func(s sample) float64 { return harness.Quantile(s.Millis, .95) }
	rate := func(s sample) float64 { return s.DocsPerSec }
	for _, name := range names {
		same := "–"
		if top := by[name][0].Top; top != nil {
			same = fmt.Sprintf("%.1f %%", 100*overlap(first.Top, top))
		}
		fmt.Fprintf(out, "| %s | %.3f | %.2f | %.3f | %.2f | %.0f | %.2f | %s |\n", name,
			figure(name, p50), figure(name, p50)/figure(names[0], p50),
			figure(name, p95), figure(name, p95)/figure(names[0], p95),
			figure(name, rate), figure(names[0], rate)/figure(name, rate), same)
	}
	return nil
}

// overlap returns the share of the documents in a that are also in b.
func overlap(a, b [][]int) float64 {
	same, all := 0, 0
	for i := range min(len(a), len(b)) {
		for _, doc := range a[i] {
			all++
			if slices.Contains(b[i], doc) {
				same++
			}
		}
	}
	return float64(same) / float64(max(all, 1))
}

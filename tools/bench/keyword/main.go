// Command keyword measures Oriel's keyword index beside others on the same
// documents and queries. The script run calls it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/keyword"
)

// A sample is the measurement of one process of one contender.
type sample struct {
	Name       string    `json:"name"`
	DocsPerSec float64   `json:"docs_per_second"`
	Millis     []float64 `json:"ms"` // one figure per query: the best of its repetitions
	Bytes      int       `json:"bytes,omitempty"`
	Postings   []int     `json:"postings,omitempty"`
	// Top are the numbers of the ten best documents of every query.
	Top [][]int `json:"top,omitempty"`
}

func main() {
	docs := flag.String("docs", "docs.jsonl", "documents, one JSON string a line")
	queries := flag.String("queries", "queries.jsonl", "queries, one JSON string a line")
	n := flag.Int("n", 100_000, "make: number of documents")
	q := flag.Int("q", 200, "make: number of queries")
	goroot := flag.String("goroot", "", "make: where Go is, whose comments the words come from")
	repeat := flag.Int("repeat", 5, "ours: repetitions of a query")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "make":
		err = makeTexts(*goroot, *n, *q, *docs, *queries)
	case "ours":
		err = ours(*docs, *queries, *repeat)
	case "stop":
		fmt.Println(strings.Join(stop, " "))
	case "report":
		err = report(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("unknown verb %q: make, ours, stop or report", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keyword:", err)
		os.Exit(1)
	}
}

// ours prints a sample for Top and one for Scores.
func ours(docsFile, queriesFile string, repeat int) error {
	docs, err := read(docsFile)
	if err != nil {
		return err
	}
	queries, err := read(queriesFile)
	if err != nil {
		return err
	}
	runtime.GC()
	var x keyword.Index
	start := time.Now()
	for _, d := range docs {
		x.Add(d)
	}
	rate := float64(len(docs)) / time.Since(start).Seconds()
	top := sample{Name: "Oriel, top 10", DocsPerSec: rate, Bytes: x.Bytes()}
	all := sample{Name: "Oriel, a score for every document", DocsPerSec: rate}
	out := make([]float32, x.Len())
	hits := make([]keyword.Hit, 0, 10)
	var sink float32
	for _, text := range queries {
		top.Millis = append(top.Millis, best(repeat, func() {
			q := x.Query(text, nil)
			hits = x.Top(&q, 10, hits[:0])
		}))
		numbers := []int{}
		for _, h := range hits {
			numbers = append(numbers, h.Doc)
		}
		top.Top = append(top.Top, numbers)
		all.Millis = append(all.Millis, best(repeat, func() {
			q := x.Query(text, nil)
			highest, _ := x.Scores(&q, out)
			sink += highest
		}))
		postings := 0
		var a keyword.Analyser
		for _, w := range a.Words(text) {
			q := x.Query(w.Text, nil)
			x.Scores(&q, out)
			for _, s := range out {
				if s > 0 {
					postings++
				}
			}
		}
		top.Postings = append(top.Postings, postings)
	}
	enc := json.NewEncoder(os.Stdout)
	if err := enc.Encode(top); err != nil {
		return err
	}
	return enc.Encode(all)
}

func best(repeat int, f func()) float64 {
	least := 0.0
	for i := range repeat {
		start := time.Now()
		f()
		if ms := float64(time.Since(start).Nanoseconds()) / 1e6; i == 0 || ms < least {
			least = ms
		}
	}
	return least
}

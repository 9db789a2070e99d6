// Command timeline measures timeline/sqlite against SQLite through the same driver:
// one process, the contenders by turns, so that a busy moment hits them all. A
// figure is the median of its rounds.
//
//	tools/bench/timeline/run
//
// Raw SQLite inserts the rows that ours inserts, into the same tables, one
// transaction a message, with prepared statements, as fast as database/sql lets it:
// all its values are made beforehand, while ours hashes, chains and compresses. Its
// contents are not compressed.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/bench/harness"
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 7, "rounds for each contender")
	count := flag.Int("messages", 4000, "messages of 1 kB in a round")
	large := flag.Int("large", 100_000, "messages of the large history")
	texts := flag.String("texts", "",
		"a folder of messages, one a file, for the size on disk; without it, parts of Go's own source text")
	dir := flag.String("dir", os.TempDir(), "where to write")
	flag.Parse()
	source, err := readSource()
	if err != nil {
		log.Fatal(err)
	}
	b := bench{dir: *dir, source: source}
	fmt.Printf("%s, %s/%s, %d processors; %d messages a round, %d rounds\n\n", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.GOMAXPROCS(0), *count, *rounds)

	figures := map[string][]float64{}
	add := func(name string, f float64) { figures[name] = append(figures[name], f) }
	for range *rounds {
		messages := b.kilobytes(*count)
		add("raw normal", b.raw(messages, "NORMAL"))
		add("ours normal", b.ours(messages, sqlite.Normal, 1))
		add("raw full", b.raw(messages[:*count/4], "FULL"))
		add("ours full", b.ours(messages[:*count/4], sqlite.Full, 1))
		add("ours full 16", b.ours(messages, sqlite.Full, 16))
		add("ours normal 16", b.ours(messages, sqlite.Normal, 16))
	}
	fmt.Println("| appending 1 kB messages, acknowledged | SQLite, messages/s | ours, messages/s | ours / SQLite (worst to best round) |")
	fmt.Println("|---|---|---|---|")
	for _, row := range [][3]string{
		{"one by one, normal", "raw normal", "ours normal"},
		{"one by one, full", "raw full", "ours full"},
		{"16 conversations at once, normal; SQLite one by one", "raw normal", "ours normal 16"},
		{"16 conversations at once, full; SQLite one by one", "raw full", "ours full 16"},
	} {
		raw, ours := figures[row[1]], figures[row[2]]
		var ratios []float64
		for i := range raw {
			ratios = append(ratios, ours[i]/raw[i])
		}
		fmt.Printf("| %s | %.0f | %.0f | %.2f (%.2f–%.2f) |\n", row[0], harness.Median(raw), harness.Median(ours),
			harness.Median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	fmt.Println()
	b.large(*large, *texts)
}

// bench holds the folder and the texts of the benchmark.
type bench struct {
	dir    string
	source []byte
	used   int // of source
}

func (b *bench) fresh() string {
	dir, err := os.MkdirTemp(b.dir, "store")
	check(err)
	return dir
}

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/bench/harness"
)

// large writes a long history and measures its size and the speed of reading.
func (b *bench) large(n int, texts string) {
	dir := b.fresh()
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	next, origin := b.drawn(), "parts of Go's source text, sizes as recorded sessions have them"
	if texts != "" {
		next, n = recorded(texts)
		origin = "recorded"
	}
	const conversations, batch = 20, 50
	heads := make([]timeline.Place, conversations)
	unique := map[timeline.Hash]bool{}
	total := 0
	start := time.Now()
	for i := 0; i < n; {
		k := i / batch % conversations
		var messages []timeline.Message
		for ; len(messages) < batch && i < n; i++ {
			m := message(next())
			messages = append(messages, m)
			if !unique[m.Identity] {
				unique[m.Identity] = true
				total += len(m.Raw)
			}
		}
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: fmt.Sprint(k), At: heads[k],
			Messages: messages, Now: time.Now()})
		check(err)
		heads[k] = a.Head
	}
	wrote := time.Since(start)
	st, err := s.Stats(ctx, timeline.Local)
	check(err)
	check(s.Close())
	disk := size64(filepath.Join(dir, "oriel.db"))

	opened := timed(9, func() {
		s, err = sqlite.Open(ctx, dir, sqlite.Options{})
		check(err)
		_, err = s.Conversation(ctx, timeline.Local, "0")
		check(err)
	}, func() { check(s.Close()) })
	made := timed(9, func() {
		s, err = sqlite.Open(ctx, b.fresh(), sqlite.Options{})
		check(err)
	}, func() { check(s.Close()) })

	s, err = sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer s.Close()
	const span = 200
	read := func(hashes bool) float64 {
		count := 0
		start := time.Now()
		for time.Since(start) < 2*time.Second {
			to := heads[rand.IntN(conversations)]
			first := 1 + rand.Int64N(max(1, to.Depth-span))
			check(s.Messages(ctx, timeline.Local, to, first, first+span-1, hashes,
				func(*timeline.Entry) error { count++; return nil }))
		}
		return perSecond(count, time.Since(start))
	}
	whole, hashes := read(false), read(true)
	start = time.Now()
	problems := 0
	check(s.Verify(ctx, func(timeline.Problem) { problems++ }))
	verified := time.Since(start)

	fmt.Printf("%d messages, %s: %.1f MB of text, %d contents\n\n", n, origin, float64(total)/1e6, st.Contents)
	fmt.Println("| | |\n|---|---|")
	fmt.Printf("| file after checkpoint / unique text | %.3f (contents alone %.3f) |\n", float64(disk)/float64(total),
		float64(st.Stored)/float64(st.Bytes))
	fmt.Printf("| bytes for each message besides its content | %.0f |\n", float64(disk-st.Stored)/float64(n))
	fmt.Printf("| written, %d messages a change, messages/s | %.0f |\n", batch, perSecond(n, wrote))
	fmt.Printf("| opening it and reading a head; making a new one | %.1f ms; %.1f ms |\n", opened.Seconds()*1e3,
		made.Seconds()*1e3)
	fmt.Printf("| reading ranges of %d, messages/s | %.0f; hashes only %.0f |\n", span, whole, hashes)
	fmt.Printf("| verifying all | %.2f s, %d problems |\n", verified.Seconds(), problems)
}

func (b *bench) drawn() func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	return func() []byte { return b.next(size(r)) }
}

// recorded reads messages from a folder.
func recorded(dir string) (next func() []byte, n int) {
	files, err := os.ReadDir(dir)
	check(err)
	return func() []byte {
		raw, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
		check(err)
		files = files[1:]
		return raw
	}, len(files)
}

func size64(path string) int64 {
	info, err := os.Stat(path)
	check(err)
	return info.Size()
}

// timed returns the median time of do; after is called after each.
func timed(n int, do, after func()) time.Duration {
	var all []float64
	for range n {
		start := time.Now()
		do()
		all = append(all, time.Since(start).Seconds())
		after()
	}
	return time.Duration(harness.Median(all) * 1e9)
}

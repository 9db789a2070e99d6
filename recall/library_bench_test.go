package recall

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// BenchmarkLibrary asks ten scopes of 100,000 passages each in turn, under 400 MB, so
// that each has been let go of when its turn comes: the words are indexed anew and the
// vectors read. With -short, of 5,000 under 20 MB.
func BenchmarkLibrary(b *testing.B) {
	const scopes = 10
	passages, memory := 100_000, int64(400<<20)
	if testing.Short() {
		passages, memory = 5_000, 20<<20
	}
	store := openSQLite(b, b.TempDir(), sqlite.Options{})
	began := time.Now()
	for c := range scopes {
		fillConversation(b, store, fmt.Sprint("c", c), passages)
	}
	b.Logf("%d messages stored in %.0f s", scopes*passages, time.Since(began).Seconds())
	l := library(b, store, LibraryOptions{Model: random{}, Memory: memory})
	where := func(c int) Where { return Where{Tenant: timeline.Local, Conversation: fmt.Sprint("c", c)} }
	const query = "what about w5x w40x w300x w2000x in March?"
	began = time.Now()
	for c := range scopes {
		if r := settled(b, l, where(c), query); r.Mode != Hybrid {
			b.Fatal(r.Mode)
		}
	}
	made := l.Stats().Made
	b.Logf("%d vectors made and kept in %.0f s", made, time.Since(began).Seconds())

	var words, vectors, again time.Duration
	var most int64
	turn := 0
	for b.Loop() {
		w := where(turn % scopes)
		turn++
		start := time.Now()
		ask := func() {
			if _, err := l.Recall(b.Context(), w, query, RecallOptions{Floor: -1}); err != nil {
				b.Fatal(err)
			}
		}
		ask()
		words += time.Since(start)
		if err := l.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		vectors += time.Since(start)
		start = time.Now()
		ask()
		again += time.Since(start)
		most = max(most, l.Stats().Bytes)
	}
	st := l.Stats()
	if st.Made != made {
		b.Errorf("%d vectors were made again", st.Made-made)
	}
	b.ReportMetric(float64(words.Milliseconds())/float64(turn), "ms/evicted-recall")
	b.ReportMetric(float64(vectors.Milliseconds())/float64(turn), "ms/evicted-vectors")
	b.ReportMetric(float64(again.Microseconds())/1000/float64(turn), "ms/recall")
	b.ReportMetric(float64(most)/(1<<20), "MB-counted")
	b.ReportMetric(float64(st.Scopes), "scopes")
	debug.FreeOSMemory()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "MB-heap")
	b.ReportMetric(resident()/(1<<20), "MB-resident")
}

// resident is what the process takes of the machine's memory; 0 where that is not told.
func resident() (bytes float64) {
	raw, _ := os.ReadFile("/proc/self/statm")
	var size, pages float64
	_, _ = fmt.Sscan(string(raw), &size, &pages)
	return pages * float64(os.Getpagesize())
}

func fillConversation(b *testing.B, store timeline.Store, name string, passages int) {
	r := rand.New(rand.NewPCG(1, uint64(len(name))+uint64(name[len(name)-1])))
	zipf := rand.NewZipf(r, 1.1, 4, 50_000)
	var at timeline.Place
	when := monday
	for i := 0; i < passages; {
		c := timeline.Change{Conversation: name, At: at, Now: monday}
		for ; i < passages && len(c.Messages) < 1000; i++ {
			var text strings.Builder
			for range 40 {
				fmt.Fprintf(&text, "w%dx ", zipf.Uint64())
			}
			m := item(text.String())
			m.Time = when
			when = when.Add(time.Duration(i%40) * 10 * time.Minute)
			c.Messages = append(c.Messages, m)
		}
		done, err := store.Apply(b.Context(), timeline.Local, c)
		if err != nil {
			b.Fatal(err)
		}
		at = done.Head
	}
}

// BenchmarkFirstSearch builds the scope of a coding session of 6,000 messages, 9 MB, and asks
// it: from the messages, and from their extracts.
func BenchmarkFirstSearch(b *testing.B) {
	store := openSQLite(b, b.TempDir(), sqlite.Options{})
	said := hives(6000)
	for i := 2; i < len(said); i += 4 {
		var file strings.Builder
		for k := range 120 {
			fmt.Fprintf(&file, `%6d→\treturn frames.Count(hive%d, %d) // honey of row %d\n`, k, i, k*k%97, i*k%1009)
		}
		said[i] = fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`,
			i-1, file.String())
	}
	sayWork(b, store, "c", said)
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	ask := func(b *testing.B, store timeline.Store) {
		l := library(b, store, LibraryOptions{})
		if _, err := l.Recall(b.Context(), w, "How many bees are in hive 120?", RecallOptions{}); err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("messages", func(b *testing.B) {
		for b.Loop() {
			ask(b, struct{ timeline.Store }{store}) // which has no extracts
		}
	})
	if err := KeepWords(b.Context(), store, timeline.Local, "c"); err != nil {
		b.Fatal(err)
	}
	b.Run("extracts", func(b *testing.B) {
		for b.Loop() {
			ask(b, store)
		}
	})
}

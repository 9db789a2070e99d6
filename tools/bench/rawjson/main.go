// Command rawjson measures package rawjson against other ways to read a request
// body: one process, one core, the contenders by turns, so that a busy moment
// hits them all. Each call is timed alone; a round's figure is the median of
// its calls and a contender's figure the median of its rounds.
//
//	tools/bench/rawjson/run [body.json]
//
// Without a file it makes a request of 1 MiB up.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/test/jsonsample"
	"github.com/oriel-context/oriel/tools/bench/harness"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 9, "rounds for each contender")
	spend := flag.Duration("spend", 60*time.Millisecond, "time for each contender in a round")
	size := flag.Int("size", 1<<20, "size of the made-up body in bytes")
	flag.Parse()

	body, name := jsonsample.Request(*size), "made-up request"
	if flag.NArg() > 0 {
		b, err := os.ReadFile(flag.Arg(0))
		if err != nil {
			log.Fatal(err)
		}
		body, name = b, flag.Arg(0)
	}
	all := contenders()
	want := -1
	for _, c := range all {
		n, err := c.run(body)
		if err != nil {
			log.Fatalf("%s: %v", c.name, err)
		}
		if c.finds && want < 0 {
			want = n
		}
		if c.finds && n != want {
			log.Fatalf("%s finds %d messages, want %d", c.name, n, want)
		}
	}
	fmt.Printf("%s: %d bytes, %d messages; %s, %s/%s, %d rounds\n\n",
		name, len(body), want, runtime.Version(), runtime.GOOS, runtime.GOARCH, *rounds)

	figures := make([][]float64, len(all)) // MB/s by round
	for range *rounds {
		for i, c := range all {
			runtime.GC()
			figures[i] = append(figures[i], float64(len(body))/1e6/measure(c, body, *spend).Seconds())
		}
	}
	median := func(i int) float64 { return harness.Median(figures[i]) }
	sha := slices.IndexFunc(all, func(c contender) bool { return c.name == "crypto/sha256" })
	fmt.Printf("| | what it does | faults refused, of %d | MB/s, median | worst to best round | times sha256 |\n",
		len(faults))
	fmt.Println("|---|---|---|---|---|---|")
	for i, c := range all {
		fmt.Printf("| %s | %s | %s | %.0f | %.0f–%.0f | %.2f |\n", c.name, c.does, refused(c), median(i),
			slices.Min(figures[i]), slices.Max(figures[i]), median(i)/median(sha))
	}
}

// refused returns how many of the faulty bodies a contender rejects.
func refused(c contender) string {
	if c.does != finds && c.does != valid {
		return "-"
	}
	n := 0
	for _, f := range faults {
		// The fault is in the second of three messages, in the middle of a long text.
		pad := strings.Repeat("padding ", 40)
		body := `{"messages":[{"a":"` + pad + `"},{"a":"` + pad + f + pad + `"},{"a":"b"}]}`
		if _, err := c.run([]byte(body)); err != nil {
			n++
		}
	}
	return strconv.Itoa(n)
}

// measure returns the median time of a call within about d.
func measure(c contender, body []byte, d time.Duration) time.Duration {
	var times []time.Duration
	for begin := time.Now(); len(times) < 5 || time.Since(begin) < d; {
		t := time.Now()
		if _, err := c.run(body); err != nil {
			log.Fatalf("%s: %v", c.name, err)
		}
		times = append(times, time.Since(t))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

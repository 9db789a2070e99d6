package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oriel-context/oriel/embed/minilm"
)

const width = 384

// first is the text of the first vector.
const first = "Where did I leave the keys?"

// A contender is our model and the texts to embed.
type contender struct {
	model *minilm.Model
	cases map[string][]string
	dst   []float32
}

func serve(weights, kernel, threads, texts string, r io.Reader, w io.Writer) error {
	n, err := strconv.Atoi(threads)
	if err != nil {
		return err
	}
	before := resident()
	start := time.Now()
	m, err := open(weights, minilm.Options{Threads: n, Kernel: kernel})
	if err != nil {
		return err
	}
	c := contender{model: m, dst: make([]float32, 256*width)}
	if err := c.embed([]string{first}); err != nil {
		return err
	}
	fmt.Fprintln(w, "ready", time.Since(start).Nanoseconds())
	data, err := os.ReadFile(texts)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &c.cases); err != nil {
		return fmt.Errorf("%s: %w", texts, err)
	}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 4 && f[0] == "time":
			err = c.time(w, f[1], f[2], f[3])
		case len(f) == 1 && f[0] == "memory":
			_, err = fmt.Fprintln(w, resident()-before)
		case len(f) == 2 && f[0] == "allocations":
			err = c.allocations(w, f[1])
		default:
			err = fmt.Errorf("asked for %q", lines.Text())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func open(weights string, opts minilm.Options) (*minilm.Model, error) {
	if weights == "built-in" {
		return minilm.Open(opts)
	}
	file, err := os.ReadFile(weights)
	if err != nil {
		return nil, err
	}
	return minilm.Read(file, opts)
}

func (c *contender) embed(texts []string) error {
	return c.model.EmbedInto(context.Background(), c.dst[:width*len(texts)], texts)
}

// call makes the i-th call of a case: all texts of a batch, or for other cases
// one text, a different one each time.
func (c *contender) call(name string, i int) error {
	texts := c.cases[name]
	if len(texts) == 0 {
		return fmt.Errorf("no case %q", name)
	}
	if name == batch {
		return c.embed(texts)
	}
	i %= len(texts)
	return c.embed(texts[i : i+1])
}

func (c *contender) time(w io.Writer, name, from, calls string) error {
	i, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(calls)
	if err != nil {
		return err
	}
	start := time.Now()
	used, err := cpu()
	if err != nil {
		return err
	}
	for k := range n {
		if err := c.call(name, i+k); err != nil {
			return err
		}
	}
	after, err := cpu()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, time.Since(start).Nanoseconds(), after-used)
	return err
}

func (c *contender) allocations(w io.Writer, name string) error {
	const calls = 16
	var before, after runtime.MemStats
	if err := c.call(name, 0); err != nil {
		return err
	}
	runtime.ReadMemStats(&before)
	for i := range calls {
		if err := c.call(name, i); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	_, err := fmt.Fprintln(w, float64(after.Mallocs-before.Mallocs)/calls,
		float64(after.TotalAlloc-before.TotalAlloc)/calls)
	return err
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

// resident returns the memory of the process in bytes, or 0 without /proc.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data))
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

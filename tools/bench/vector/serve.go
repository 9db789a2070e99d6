package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/oriel-context/oriel/internal/vector"
)

// results is how many nearest vectors are asked for.
const results = 10

func serve(base, queries string, in io.Reader, out io.Writer) error {
	vectors, err := load(base)
	if err != nil {
		return err
	}
	asked, err := load(queries)
	if err != nil {
		return err
	}
	index, err := vector.New(dimensions)
	if err != nil {
		return err
	}
	for i := range len(vectors) / dimensions {
		if _, err := index.Add(at(vectors, i)); err != nil {
			return err
		}
	}
	runtime.GC()
	runtime.LockOSThread() // cpu reads the clock of this thread
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "ready", index.Bytes())
	if err := w.Flush(); err != nil {
		return err
	}
	exact := func(id int) []float32 { return at(vectors, id) }
	hits := make([]vector.Hit, 0, 100)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var from, count, refined int
		if _, err := fmt.Sscan(lines.Text(), &from, &count, &refined); err != nil {
			return fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		for i := from; i < from+count; i++ {
			q := at(asked, i)
			start, err := cpu()
			if err != nil {
				return err
			}
			if hits, err = index.Top(q, max(refined, results), hits); err != nil {
				return err
			}
			if refined > 0 {
				refine(q, hits, exact)
			}
			end, err := cpu()
			if err != nil {
				return err
			}
			fmt.Fprint(w, end-start)
			for _, h := range hits[:results] {
				fmt.Fprint(w, " ", h.ID)
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// cpu returns the time that this thread has run, in nanoseconds.
func cpu() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano(), err
}

func at(vectors []float32, i int) []float32 { return vectors[i*dimensions : (i+1)*dimensions] }

// load maps a file of float32 numbers.
func load(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), len(mem)/4), nil
}

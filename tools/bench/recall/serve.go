package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/recall"
)

// reader is a model that has all vectors: those of the passages in order, and
// those of queries by their text, unless it must make these.
type reader struct {
	vectors []float32
	next    int
	asked   map[string][]float32 // nil while passages are embedded
	model   *minilm.Model        // of queries, where it is set
}

func (m *reader) Name() string { return "reader" }

func (m *reader) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.asked != nil && m.model != nil {
		return m.model.Embed(ctx, texts)
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if m.asked != nil {
			out[i] = m.asked[text]
			continue
		}
		out[i] = at(m.vectors, m.next)
		m.next++
	}
	return out, nil
}

// load builds the scope of a corpus.
func load(ctx context.Context, folder string) (s *recall.Scope, m *reader, err error) {
	m = &reader{}
	if m.vectors, err = mapped(filepath.Join(folder, vectorsFile)); err != nil {
		return nil, nil, err
	}
	s = recall.NewScope(recall.Options{Model: m})
	err = each(filepath.Join(folder, messagesFile), func(msg recall.Message) error {
		return s.Add(ctx, []recall.Message{msg})
	})
	if err != nil {
		return nil, nil, err
	}
	return s, m, s.Embed(ctx, nil)
}

func serve(ctx context.Context, folder string, in io.Reader, out io.Writer) error {
	s, m, err := load(ctx, folder)
	if err != nil {
		return err
	}
	asked, err := mapped(filepath.Join(folder, askedFile))
	if err != nil {
		return err
	}
	m.asked = map[string][]float32{}
	var queries []string
	err = each(filepath.Join(folder, queriesFile), func(query string) error {
		m.asked[query] = at(asked, len(queries))
		queries = append(queries, query)
		return nil
	})
	if err != nil {
		return err
	}
	model, err := minilm.Open(minilm.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer model.Close()
	runtime.GC()
	w := bufio.NewWriter(out)
	n, _ := s.Len()
	fmt.Fprintln(w, "ready", n, s.Bytes()/int64(n))
	if err := w.Flush(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var from, count int
		var how string
		if _, err := fmt.Sscan(lines.Text(), &from, &count, &how); err != nil {
			return fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		m.model = nil
		if how == "embed" {
			m.model = model
		}
		for _, query := range queries[from : from+count] {
			start, err := cpu()
			if err != nil {
				return err
			}
			r, err := s.Recall(ctx, query, recall.RecallOptions{})
			if err != nil {
				return err
			}
			end, err := cpu()
			if err != nil {
				return err
			}
			fmt.Fprintln(w, end-start, len(r.Passages))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// weigh prints the memory per passage, all included.
func weigh(ctx context.Context, folder string, out io.Writer) error {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	// The tables of the counter exist once for all scopes.
	if err := recall.NewScope(recall.Options{}).Add(ctx, []recall.Message{{Text: "a"}}); err != nil {
		return err
	}
	before := heap()
	s, _, err := load(ctx, folder)
	if err != nil {
		return err
	}
	// The first query allocates what the index of words keeps for queries.
	if _, err := s.Recall(ctx, "", recall.RecallOptions{Mode: recall.Keyword}); err != nil {
		return err
	}
	after := heap()
	n, embedded := s.Len()
	text := 0
	err = each(filepath.Join(folder, textsFile), func(t string) error { text += len(t); return nil })
	fmt.Fprintf(out, "%d passages, %d with a vector, %d bytes of text each: %d bytes each, said to be %d\n",
		n, embedded, text/n, (int64(after)-int64(before))/int64(n), s.Bytes()/int64(n))
	runtime.KeepAlive(s)
	return err
}

// cpu returns the CPU time of this process in nanoseconds.
func cpu() (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return t.Nano(), err
}

func at(vectors []float32, i int) []float32 { return vectors[i*dimensions : (i+1)*dimensions] }

// each reads a file of JSON, one value per line.
func each[T any](path string, f func(T) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	dec := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for dec.More() {
		var v T
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// mapped maps a file of float32 numbers.
func mapped(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), len(mem)/4), nil
}

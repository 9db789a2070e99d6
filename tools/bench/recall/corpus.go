package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/recall"
)

// Files of a corpus.
const (
	messagesFile = "messages.jsonl" // the input of Oriel
	textsFile    = "texts.jsonl"    // the texts that Oriel embeds, which are the others' input
	vectorsFile  = "vectors.f32"    // of the texts
	queriesFile  = "queries.jsonl"
	askedFile    = "queries.f32"
)

// real is how many texts get a vector of their own: from the model or, for
// invented texts, at random. The others get one of these with noise, which
// takes the same time to search and much less to make.
const real = 5000

// makeCorpus writes a corpus of count texts.
func makeCorpus(ctx context.Context, folder string, count, queries int, data []string) (err error) {
	next, err := source(ctx, data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var open []*lines
	create := func(name string) *lines {
		l, e := newLines(filepath.Join(folder, name))
		err = errors.Join(err, e)
		open = append(open, l)
		return l
	}
	messages, texts, vectors, asked, askedVectors := create(messagesFile), create(textsFile), create(vectorsFile),
		create(queriesFile), create(askedFile)
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.finish())
		}
	}()
	if err != nil {
		return err
	}
	m := &writer{texts: texts, vectors: vectors, limit: count, rand: rand.New(rand.NewPCG(1, 2))}
	if len(data) > 0 {
		if m.model, err = minilm.Open(minilm.Options{Threads: runtime.NumCPU()}); err != nil {
			return err
		}
		defer m.model.Close()
	}
	const batch = 256
	for m.written < count {
		// A separate scope splits the messages as any scope would.
		s := recall.NewScope(recall.Options{Model: m, Count: func(text string) int { return len(text) / 4 }})
		part := make([]recall.Message, 0, batch)
		for range batch {
			part = append(part, next())
		}
		if err := s.Add(ctx, part); err != nil {
			return err
		}
		if err := s.Embed(ctx, nil); err != nil {
			return err
		}
		for i := range part {
			if err := messages.json.Encode(&part[i]); err != nil {
				return err
			}
		}
	}
	for range queries {
		i, query := 0, ""
		for query == "" {
			i = m.rand.IntN(len(m.sample))
			query = question(m.rand, m.sample[i])
		}
		if err := asked.json.Encode(query); err != nil {
			return err
		}
		if err := binary.Write(askedVectors.w, binary.LittleEndian, noisy(m.rand, m.base[i])); err != nil {
			return err
		}
	}
	return nil
}

// writer is a model that records the texts it is asked to embed.
type writer struct {
	model          *minilm.Model // nil for vectors at random
	texts, vectors *lines
	written, limit int
	sample         []string
	base           [][]float32
	rand           *rand.Rand
}

func (m *writer) Name() string { return "writer" }

func (m *writer) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	own := len(m.base) < min(real, m.limit)
	switch {
	case own && m.model != nil:
		var err error
		if out, err = m.model.Embed(ctx, texts); err != nil {
			return nil, err
		}
	case own:
		for i := range out {
			out[i] = noisy(m.rand, make([]float32, dimensions))
		}
	default:
		for i := range out {
			out[i] = noisy(m.rand, m.base[m.rand.IntN(len(m.base))])
		}
	}
	if own {
		m.base, m.sample = append(m.base, out...), append(m.sample, texts...)
	}
	for i, text := range texts {
		if err := m.texts.json.Encode(text); err != nil {
			return nil, err
		}
		if err := binary.Write(m.vectors.w, binary.LittleEndian, out[i]); err != nil {
			return nil, err
		}
	}
	m.written += len(texts)
	return out, nil
}

// noisy returns a vector of length 1 near v.
func noisy(r *rand.Rand, v []float32) []float32 {
	out := make([]float32, len(v))
	var sum float64
	for i := range v {
		// The sum of four is close enough to Gaussian.
		bits := r.Uint64()
		noise := float32(bits&0xffff+bits>>16&0xffff+bits>>32&0xffff+bits>>48)/0x1p16 - 2
		out[i] = v[i] + .05*noise
		sum += float64(out[i]) * float64(out[i])
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(sum))
	}
	return out
}

// question returns a query for some words of a text, or "" if the text has too
// few.
func question(r *rand.Rand, text string) string {
	words := strings.FieldsFunc(text, func(c rune) bool {
		return !('a' <= c|0x20 && c|0x20 <= 'z' ||
			'0' <= c && c <= '9')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 4 || len(w) > 20 })
	if len(words) < 3 {
		return ""
	}
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return fmt.Sprintf("What about %s?", strings.Join(words[:min(6, len(words))], " "))
}

// lines is a file being written.
type lines struct {
	file *os.File
	w    *bufio.Writer
	json *json.Encoder
}

func newLines(path string) (*lines, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &lines{file: f, w: bufio.NewWriterSize(f, 1<<20)}
	l.json = json.NewEncoder(l.w)
	l.json.SetEscapeHTML(false)
	return l, nil
}

func (l *lines) finish() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.w.Flush(), l.file.Close())
}

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/oriel-context/oriel/internal/keyword"
)

// stop are the words that no contender indexes.
var stop = strings.Fields("a an the of to in on at for and or is are was were be been has have had do does did " +
	"i you he she it we they my your his her its our their this that these those with as by from " +
	"what when where who which how why s t")

// words draws words with their frequencies in the comments of Go's standard
// library.
type words struct {
	list []string
	sums []int
}

// source counts the words of those comments. It leaves out words that a
// stemmer changes, so that all contenders have the same terms.
func source(goroot string) (plain, stops words, share float64, err error) {
	root := filepath.Join(goroot, "src")
	word := regexp.MustCompile(`[A-Za-z]+`)
	counts := map[string]int{}
	files := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // a file that is broken on purpose
		}
		for _, group := range f.Comments {
			for _, w := range word.FindAllString(group.Text(), -1) {
				counts[strings.ToLower(w)]++
			}
		}
		return nil
	})
	var a keyword.Analyser
	all, stopped := 0, 0
	for _, w := range slices.SortedFunc(maps.Keys(counts), func(v, w string) int {
		return cmp.Or(counts[w]-counts[v], strings.Compare(v, w))
	}) {
		all += counts[w]
		if slices.Contains(stop, w) {
			stopped += counts[w]
			stops.add(w, counts[w])
		} else if terms := a.Words(w); len(terms) == 1 && terms[0].Text == w && 3 <= len(w) && len(w) < 30 {
			plain.add(w, counts[w])
		}
	}
	return plain, stops, float64(stopped) / float64(max(all, 1)), err
}

func (s *words) add(w string, count int) {
	if n := len(s.sums); n > 0 {
		count += s.sums[n-1]
	}
	s.list, s.sums = append(s.list, w), append(s.sums, count)
}

func (s *words) draw(r *rand.Rand) string {
	return s.list[sort.SearchInts(s.sums, r.IntN(s.sums[len(s.sums)-1])+1)]
}

// makeTexts writes n documents of about 60 words and queries of 8 words that
// are not stop words, one per line, as JSON strings.
func makeTexts(goroot string, n, queries int, docsFile, queriesFile string) error {
	plain, stops, share, err := source(goroot)
	if err != nil {
		return err
	}
	if len(plain.list) < 1000 {
		return fmt.Errorf("only %d words in the comments of the standard library", len(plain.list))
	}
	r := rand.New(rand.NewPCG(1, 2))
	err = write(docsFile, n, func() string {
		var text strings.Builder
		for i := range max(5, int(60+18*r.NormFloat64())) {
			if i > 0 {
				text.WriteString([]string{" ", " ", " ", " ", " ", " ", " ", " ", ", ", ". "}[r.IntN(10)])
			}
			if r.Float64() < share {
				text.WriteString(stops.draw(r))
			} else {
				text.WriteString(plain.draw(r))
			}
		}
		return text.String() + "."
	})
	if err != nil {
		return err
	}
	return write(queriesFile, queries, func() string {
		var q []string
		for len(q) < 8 {
			if w := plain.draw(r); !slices.Contains(q, w) {
				q = append(q, w)
			}
		}
		return strings.Join(q, " ")
	})
}

func write(file string, n int, text func() string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for range n {
		if err := enc.Encode(text()); err != nil {
			return err
		}
	}
	return w.Flush()
}

func read(file string) (texts []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	for dec.More() {
		var s string
		if err := dec.Decode(&s); err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

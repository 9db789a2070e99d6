package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/oriel-context/oriel/embed/minilm"
)

// embed writes to file, as float32, the vectors of count paragraphs from the
// comments of Go's own source in root.
func embed(root, file string, count int) (err error) {
	texts, err := paragraphs(root)
	if err != nil {
		return err
	}
	if len(texts) < count {
		return fmt.Errorf("%s has only %d paragraphs", root, len(texts))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	model, err := minilm.Open(minilm.Options{Threads: runtime.NumCPU()})
	if err != nil {
		return err
	}
	defer model.Close()
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	const batch = 256
	for i := 0; i < count; i += batch {
		vectors, err := model.Embed(context.Background(), texts[i:min(i+batch, count)])
		if err != nil {
			return err
		}
		for _, v := range vectors {
			if err := binary.Write(w, binary.LittleEndian, v); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// paragraphs returns the paragraphs of the comments, without duplicates.
func paragraphs(root string) (texts []string, err error) {
	const shortest, longest = 40, 400
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // a file that does not parse on purpose
		}
		for _, group := range parsed.Comments {
			for text := range strings.SplitSeq(group.Text(), "\n\n") {
				text = strings.Join(strings.Fields(text), " ")
				if len(text) >= shortest && len(text) <= longest && !seen[text] &&
					!strings.HasPrefix(text, "Copyright") {
					seen[text] = true
					texts = append(texts, text)
				}
			}
		}
		return nil
	})
	return texts, err
}

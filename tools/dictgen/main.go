// Command dictgen makes dictionary.zstd, the texts that contents are compressed
// against, from texts of this repository: the messages of an example run, the
// documents, and the skeletons of messages as agents write them.
//
//	go -C tools run ./dictgen -o ../timeline/internal/codec/dictionary.zstd
//
// The file is part of format version 1 and never changes once a version that
// knows it is out: what was compressed against it can be read with nothing else.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// id is written into every frame; it is the version of the format.
const id = 1

// size is what the history may take: more costs time for every content and gains
// little.
const size = 16 << 10

func main() {
	log.SetFlags(0)
	out := flag.String("o", "dictionary.zstd", "where to write it")
	root := flag.String("root", "..", "the repository")
	flag.Parse()
	samples, err := texts(*root)
	if err != nil {
		log.Fatal(err)
	}
	dict, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID:       id,
		Contents: samples,
		History:  history(samples),
		Offsets:  [3]int{1, 4, 8},
		Level:    zstd.SpeedDefault,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, dict, 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes of %d samples\n", *out, len(dict), len(samples))
}

// texts are the samples: messages first, then paragraphs of the documents.
func texts(root string) ([][]byte, error) {
	raw, err := os.ReadFile(filepath.Join(root, "examples", "long-agent-run.json"))
	if err != nil {
		return nil, err
	}
	var run struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(raw, &run); err != nil {
		return nil, err
	}
	var samples [][]byte
	for _, m := range run.Messages {
		var b bytes.Buffer
		if err := json.Compact(&b, m); err != nil {
			return nil, err
		}
		samples = append(samples, b.Bytes())
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range docs {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, paragraph := range bytes.Split(raw, []byte("\n\n")) {
			if len(paragraph) > 64 {
				samples = append(samples, paragraph)
			}
		}
	}
	return samples, nil
}

// history returns the text of the dictionary. Compressed contents refer to it
// by distance from its end, so the most useful part comes last.
func history(samples [][]byte) []byte {
	var tail []byte
	for _, s := range skeletons {
		tail = append(tail, s...)
	}
	var head []byte
	for _, s := range samples {
		head = append(head, s[:min(len(s), 700)]...)
	}
	if room := size - len(tail); len(head) > room {
		head = head[len(head)-room:]
	}
	return append(head, tail...)
}

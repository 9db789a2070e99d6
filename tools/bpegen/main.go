// Command bpegen writes the tables that internal/bpe embeds: one file of merge
// rules per vocabulary, and the character classes of the split patterns. The
// formats, the sources and the command line are in docs/reference/format/bpe.md.
//
// It is run by hand when a vocabulary is added. It checks what the reader
// relies on: the rank files are byte for byte those that the reference
// implementation expects, every rule's parts have lower ids than its result,
// and r50k_base is a prefix of p50k_base. The same input gives the same output.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// A source is a rank file and the SHA-256 that the reference implementation
// pins for it.
type source struct{ file, sum string }

var (
	cl100k = source{"cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"}
	o200k  = source{"o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"}
	p50k   = source{"p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"}
	r50k   = source{"r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"}
)

func main() {
	ranks := flag.String("ranks", "", "folder of the rank files (required)")
	classes := flag.String("classes", "bpegen/classes.txt", "list of character classes")
	out := flag.String("out", "../internal/bpe/tables", "folder to write to")
	flag.Parse()
	if *ranks == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*ranks, *classes, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bpegen:", err)
		os.Exit(1)
	}
}

func run(dir, classes, out string) error {
	for _, f := range []struct {
		src  source
		name string
	}{{cl100k, "cl100k.bpe"}, {o200k, "o200k.bpe"}, {p50k, "p50k.bpe"}} {
		v, err := readRanks(dir, f.src)
		if err != nil {
			return err
		}
		data, literals, err := v.encode()
		if err != nil {
			return fmt.Errorf("%s: %w", f.src.file, err)
		}
		if err := os.WriteFile(filepath.Join(out, f.name), data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d ids, %d literals beside the 256 bytes, %d bytes\n", f.name, len(v.tokens), literals-256,
			len(data))
	}
	if err := checkPrefix(dir); err != nil {
		return err
	}
	data, err := encodeClasses(classes)
	if err != nil {
		return err
	}
	fmt.Printf("classes.bin: %d bytes\n", len(data))
	return os.WriteFile(filepath.Join(out, "classes.bin"), data, 0o644)
}

// checkPrefix verifies that p50k_base starts with all of r50k_base, which is
// why r50k_base has no file of its own.
func checkPrefix(dir string) error {
	p, err := readRanks(dir, p50k)
	if err != nil {
		return err
	}
	r, err := readRanks(dir, r50k)
	if err != nil {
		return err
	}
	for id, tok := range r.tokens {
		if p.tokens[id] != tok {
			return fmt.Errorf("%s and %s differ at id %d", r50k.file, p50k.file, id)
		}
	}
	return nil
}

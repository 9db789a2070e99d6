package bpe

import (
	"embed"
	"sync"
)

//go:embed tables
var tables embed.FS

// r50kIDs is the number of ids of r50k_base, the first ones of p50k_base.
const r50kIDs = 50256

// A vocabulary is a table file, of which the first limit ids are used (0: all).
type vocabulary struct {
	file  string
	limit int
	once  sync.Once
	table *table
	err   error
}

func (v *vocabulary) load() (*table, error) {
	v.once.Do(func() {
		var data []byte
		if data, v.err = tables.ReadFile("tables/" + v.file); v.err == nil {
			v.table, v.err = parseTable(v.file, data, v.limit)
		}
	})
	return v.table, v.err
}

// A definition ties a name to its vocabulary and pattern.
type definition struct {
	name  string
	vocab *vocabulary
	next  splitter
	once  sync.Once
	enc   *Encoding
	err   error
}

func (d *definition) load() (*Encoding, error) {
	d.once.Do(func() {
		if d.err = loadClasses(); d.err != nil {
			return
		}
		var t *table
		if t, d.err = d.vocab.load(); d.err == nil {
			d.enc = &Encoding{name: d.name, next: d.next, table: t}
		}
	})
	return d.enc, d.err
}

// The vocabularies are shared: o200k_harmony and p50k_edit differ from their
// bases only in special tokens, which this package does not treat.
var (
	vocabCL100K = &vocabulary{file: "cl100k.bpe"}
	vocabO200K  = &vocabulary{file: "o200k.bpe"}
	vocabP50K   = &vocabulary{file: "p50k.bpe"}
	vocabR50K   = &vocabulary{file: "p50k.bpe", limit: r50kIDs}

	known = []*definition{
		{name: "cl100k_base", vocab: vocabCL100K, next: splitCL100K},
		{name: "o200k_base", vocab: vocabO200K, next: splitO200K},
		{name: "o200k_harmony", vocab: vocabO200K, next: splitO200K},
		{name: "p50k_base", vocab: vocabP50K, next: splitR50K},
		{name: "p50k_edit", vocab: vocabP50K, next: splitR50K},
		{name: "r50k_base", vocab: vocabR50K, next: splitR50K},
	}
)

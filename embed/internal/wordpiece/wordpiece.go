// Package wordpiece splits text into the word pieces of an uncased BERT model,
// such as the sentence encoder all-MiniLM-L6-v2, and returns their ids.
//
// # What it guarantees
//
// The ids are those of the reference, the tokenizers library with the settings
// of that model: control characters are removed, white space splits,
// ideographs and punctuation stand alone, accents are stripped, letters are
// lowered, and each word is split greedily into the longest known pieces. A
// word is [UNK] as a whole if a part of it is not a piece or if it has more
// than 100 characters. The literals [CLS], [SEP], [UNK], [PAD] and [MASK], in
// exactly this spelling, stand for their ids wherever they occur, even inside
// words, as in the reference.
//
// Tests compare every code point with the reference. The result does not
// depend on the Unicode version of the Go release: the reference mixes several
// versions, so the package carries its own table, taken from the reference.
// Invalid UTF-8 is dropped, like the U+FFFD that the reference would receive
// instead.
//
// # What it costs
//
// Encode reads no further than it must to know its last id, needs about 450
// bytes of stack and allocates nothing if dst has room. A Tokenizer of 30,522
// pieces takes 0.7 MB. The first New reads the table of 0.14 MB.
//
// # Caveats
//
// There are no pairs of texts, no padding, no offsets and no decoding. New
// rejects vocabularies with a piece that contains one of the 83 combining
// marks that the reference keeps and puts in canonical order; without such a
// piece their order cannot matter.
package wordpiece

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Tokenizer turns text into ids. It is immutable and safe for concurrent
// use.
type Tokenizer struct {
	trie     trie
	table    *table
	punct    [utf8.RuneSelf]int32 // ids of ASCII punctuation
	specials []special

	unk, cls, sep int32
}

// A special is a piece that is matched in the text before it is normalized.
// All of them start with '['.
type special struct {
	text string
	id   int32
}

// specialTexts are the special pieces; the optional ones come last.
var specialTexts = []string{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"}

const neededSpecials = 3

// continuation starts a piece that does not start a word.
const continuation = "##"

// New parses a vocabulary: one piece per line, whose id is its line number,
// from 0. It keeps no reference to vocab. It rejects a vocabulary that is not
// UTF-8, in which [UNK], [CLS] or [SEP] is missing, a piece occurs twice, or a
// line is empty or longer than 400 bytes, and one with a piece for which the
// package cannot be exact (see the caveats).
func New(vocab []byte) (*Tokenizer, error) {
	if !utf8.Valid(vocab) {
		return nil, errors.New("wordpiece: the vocabulary is not UTF-8 text: is it a vocab.txt?")
	}
	table, err := sharedTable()
	if err != nil {
		return nil, err
	}
	starts, rests, err := split(vocab, table)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{table: table}
	if t.trie, err = buildTrie(vocab, starts, rests); err != nil {
		return nil, err
	}
	for i, text := range specialTexts {
		id, n := t.trie.longest(t.trie.start, []byte(text))
		if n == len(text) {
			t.specials = append(t.specials, special{text, id})
		} else if i < neededSpecials {
			return nil, fmt.Errorf("wordpiece: the vocabulary has no piece %s: is it one of a BERT model?", text)
		}
	}
	t.unk, t.cls, t.sep = t.specials[0].id, t.specials[1].id, t.specials[2].id
	for c := range t.punct {
		t.punct[c] = t.unk
		if id, n := t.trie.longest(t.trie.start, []byte{byte(c)}); n == 1 {
			t.punct[c] = id
		}
	}
	return t, nil
}

// A piece is the position of a line in the vocabulary, without the mark of a
// continuation, and the number of the line.
type piece struct {
	from, to uint32
	id       int32
}

// split returns the pieces that start a word and those that continue one.
func split(vocab []byte, table *table) (starts, rests []piece, err error) {
	if len(vocab) > 1<<30 {
		return nil, nil, errors.New("wordpiece: the vocabulary is over 1 GB")
	}
	lines := bytes.Count(vocab, []byte("\n")) + 1
	starts, rests = make([]piece, 0, lines), make([]piece, 0, lines/4)
	for from, id := 0, int32(0); from < len(vocab); id++ {
		end := len(vocab)
		if n := bytes.IndexByte(vocab[from:], '\n'); n >= 0 {
			end = from + n
		}
		text := bytes.TrimSuffix(vocab[from:end], []byte("\r"))
		if len(text) == 0 {
			return nil, nil, fmt.Errorf("wordpiece: line %d of the vocabulary is empty", id+1)
		}
		if len(text) > maxWord {
			return nil, nil,
				fmt.Errorf("wordpiece: line %d of the vocabulary is longer than any word: is it a vocab.txt?", id+1)
		}
		if table.holdsMark(text) {
			return nil, nil,
				fmt.Errorf("wordpiece: line %d of the vocabulary, %q, holds a combining mark that is not supported",
					id+1, text)
		}
		p := piece{uint32(from), uint32(from + len(text)), id}
		if len(text) > len(continuation) && string(text[:len(continuation)]) == continuation {
			p.from += uint32(len(continuation))
			rests = append(rests, p)
		} else {
			starts = append(starts, p)
		}
		from = end + 1
	}
	return starts, rests, nil
}

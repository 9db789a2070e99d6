// Package wordpiece cuts text into the word pieces of an uncased BERT model,
// such as the sentence encoder all-MiniLM-L6-v2, and gives their ids.
//
// # What it guarantees
//
// The ids are those of the reference, the tokenizers library with the
// settings of that model: control characters go, white space splits,
// ideographs and punctuation stand alone, accents are stripped, letters are
// lowered, and each word is cut greedily into the longest pieces known. A word
// with a part that is no piece, or of more than 100 characters, is [UNK] as a
// whole. The literals [CLS], [SEP], [UNK], [PAD] and [MASK], in exactly this
// spelling, stand for their ids wherever they occur, inside words too: the
// reference does so, and a text can thereby hold them.
//
// The equality is over every code point and is kept by tests. It does not
// depend on the Unicode version of the Go release: the reference mixes
// several, so the package carries its own table, taken from the reference.
// Bytes that are no UTF-8 are dropped, like the U+FFFD the reference would be
// given in their place.
//
// # What it costs
//
// Encode reads no further than it must to know its last id, needs some
// 450 bytes of stack and allocates nothing when dst has room. A Tokenizer of
// 30,522 pieces takes 0.7 MB. The table, 0.14 MB, is read once, by the first New.
//
// # Caveats
//
// There are no pairs of texts, no padding, no offsets and no way back from ids
// to text. Vocabularies with a piece that holds one of the 83 combining marks
// which the reference keeps, and would put in canonical order, are refused;
// without such a piece their order cannot matter.
package wordpiece

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A Tokenizer turns text into ids. It never changes after New, so any number
// of goroutines may use it.
type Tokenizer struct {
	trie     trie
	table    *table
	punct    [utf8.RuneSelf]int32 // ids of ASCII punctuation
	specials []special

	unk, cls, sep int32
}

// A special is a piece that is found in the text as it stands, before it is
// normalized. All of them start with '['.
type special struct {
	text string
	id   int32
}

// specialTexts are the special pieces; those that New can do without come last.
var specialTexts = []string{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"}

const neededSpecials = 3

// continuation starts a piece that does not start a word.
const continuation = "##"

// New reads a vocabulary: one piece a line, its line number, from 0, its id.
// It keeps no reference to vocab. A vocabulary is refused when [UNK], [CLS] or
// [SEP] is missing, a piece is there twice, a line is empty or over 400 bytes,
// it is not UTF-8, or it holds a piece the package cannot be exact about (see the caveats).
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

// A piece is where a line of the vocabulary stands in it, without the mark of
// a continuation, and the line's number.
type piece struct {
	from, to uint32
	id       int32
}

// split finds the pieces that start a word and those that continue one.
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
			return nil, nil, fmt.Errorf("wordpiece: line %d of the vocabulary is longer than any word: is it a vocab.txt?", id+1)
		}
		if table.holdsMark(text) {
			return nil, nil, fmt.Errorf("wordpiece: line %d of the vocabulary, %q, holds a combining mark that is not supported", id+1, text)
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

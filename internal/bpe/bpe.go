// Package bpe counts tokens exactly as OpenAI's byte-pair encodings do.
//
// # What it guarantees
//
// For valid UTF-8, counts are those of reference tiktoken 0.14's
// encode_ordinary: the same split of the text into pieces, by
// the same Unicode classes (of the reference, not of the Go release), and the
// same merges inside each piece. The text of a special token, such as
// "<|endoftext|>", is ordinary text.
//
// Text that is not valid UTF-8 is outside what the reference accepts. Here
// each byte that is not part of a valid sequence counts as one character that
// is neither letter, number nor white space, as U+FFFD would be, and keeps its
// own value in the tokens.
//
// Time is linear in the length of the text, also for a megabyte of one letter,
// and counting ordinary text allocates nothing. All methods of an Encoding may
// be called concurrently.
//
// # Caveats
//
// The tables of an encoding are built when it is first asked for (10 to 30
// milliseconds) and stay in memory (o200k 11 MB, cl100k 5.5 MB, the others
// 3 MB each).
// Counts do not add up: the tokens of a+b may be fewer or more than those of
// a and b, because a piece may span the cut.
//
// docs/reference/format/bpe.md describes the embedded tables and their source.
package bpe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

var (
	// ErrUnknown is wrapped by Get's error for a name that is not in Names.
	ErrUnknown = errors.New("unknown encoding")
	// ErrTable is wrapped by Get's error for an embedded table that is damaged.
	ErrTable = errors.New("damaged table")
)

// An Encoding is a vocabulary and a rule for splitting text into the pieces
// that are encoded one by one. It is immutable.
type Encoding struct {
	name string
	next splitter
	*table
}

// Get returns the encoding of that name and loads its tables on first use.
// Later calls return the same Encoding. The error of an unknown name lists
// the known ones.
func Get(name string) (*Encoding, error) {
	for _, k := range known {
		if k.name == name {
			return k.load()
		}
	}
	return nil, fmt.Errorf("%w %q: known are %s", ErrUnknown, name, strings.Join(Names(), ", "))
}

// Count returns the number of tokens of s in o200k_base, the encoding of every
// figure that names no model. If that table is damaged it counts three bytes
// as one token.
func Count(s string) int {
	e, err := Get("o200k_base")
	if err != nil {
		return (len(s) + 2) / 3
	}
	return e.Count(s)
}

// Names returns the names that Get knows, sorted.
func Names() []string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	slices.Sort(names)
	return names
}

// Name returns the name by which Get found the encoding.
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of s.
func (e *Encoding) Count(s string) int { return e.count(view(s)) }

// CountBytes is Count for a byte slice, which it neither copies nor keeps.
func (e *Encoding) CountBytes(b []byte) int { return e.count(b) }

// view returns the bytes of s without copying them, so that strings and byte
// slices share one code path. The package never writes to its input.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

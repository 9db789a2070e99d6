package keyword

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// An Index holds the terms of documents, which it numbers 0, 1, 2 … in the
// order of addition. The zero value is an empty index. Its methods may be
// called concurrently; it must not be copied after first use.
type Index struct {
	// Analyser reads documents and queries. Set it before the first Add.
	Analyser Analyser

	mu    sync.RWMutex // protects the fields below
	table table
	posts blocks
	// columns has a number for each document: 0 if it was removed, else its
	// length + 1. It selects a column of weights.
	columns []uint16
	longest uint16 // the highest of columns, ever
	live    int    // documents that were not removed
	dead    int    // removed documents that still have postings
	length  int64  // of all live documents together

	weights atomic.Pointer[weights] // for the mean length that the last query saw
}

// maxLength is the highest length that columns can hold.
const maxLength = 1<<16 - 2

// scratch are the terms of the document being added.
var scratch = sync.Pool{New: func() any { return new([]Term) }}

// Add adds a document and returns its number, or -1 if the index already had
// MaxDocs documents.
func (x *Index) Add(text string) (doc int) {
	buf := scratch.Get().(*[]Term)
	defer scratch.Put(buf)
	terms, length := x.Analyser.Terms((*buf)[:0], text)
	*buf = terms

	x.mu.Lock()
	defer x.mu.Unlock()
	doc = len(x.columns)
	if doc >= MaxDocs {
		return -1
	}
	first := posting(doc)<<freqBits | 1
	for _, t := range terms {
		e := x.table.entry(t)
		switch {
		case e.n == 0 || e.last[0] < first:
			if e.n == 0 {
				e.term = t
				x.table.used++
			}
			x.posts.push(e, first)
		case e.last[0]&maxFreq < maxFreq:
			e.last[0]++
		}
	}
	column := uint16(min(length, maxLength) + 1)
	x.columns = append(x.columns, column)
	x.longest = max(x.longest, column)
	x.live++
	x.length += int64(column) - 1
	return doc
}

// Remove removes a document. Its number is not used again. An unknown number is
// ignored.
func (x *Index) Remove(doc int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if doc < 0 || doc >= len(x.columns) || x.columns[doc] == 0 {
		return
	}
	x.length -= int64(x.columns[doc]) - 1
	x.columns[doc] = 0
	x.live--
	x.dead++
	if x.dead > 64+x.live/4 {
		x.compact()
	}
}

// compact drops the postings of removed documents.
func (x *Index) compact() {
	t := table{entries: make([]entry, max(64, x.table.used*5/4))}
	var posts blocks
	for i := range x.table.entries {
		e := &x.table.entries[i]
		if e.n == 0 {
			continue
		}
		kept := entry{term: e.term}
		x.posts.walk(e, func(ps []posting) {
			for _, p := range ps {
				if x.columns[p>>freqBits] != 0 {
					posts.push(&kept, p)
				}
			}
		})
		if kept.n > 0 {
			*t.entry(e.term) = kept
			t.used++
		}
	}
	x.table, x.posts, x.dead = t, posts, 0
}

// Len returns the number of documents ever added, which is the next one's number.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.columns)
}

// Live returns the number of documents that were not removed.
func (x *Index) Live() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live
}

// Bytes returns the memory of the index, including spare room but not the
// temporary memory of queries and additions.
func (x *Index) Bytes() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := int(unsafe.Sizeof(*x)) + cap(x.table.entries)*int(unsafe.Sizeof(entry{})) + cap(x.columns)*2 + cap(
		x.posts.pages)*24
	for _, page := range x.posts.pages {
		n += cap(page) * 4
	}
	if w := x.weights.Load(); w != nil {
		n += cap(w.table)*4 + int(unsafe.Sizeof(*w))
	}
	return n
}

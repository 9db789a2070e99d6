package bpe

import "sync"

// A scratch is the working memory of one call: what merging needs, and the
// recent results of merging. It is taken from a pool when a call first meets
// a piece that is not a token.
type scratch struct {
	merger
	recent recentCounts
}

// The pool is shared by all encodings of one table through table.pool, since
// the recent results are of that table.
type scratchPool struct{ sync.Pool }

func (p *scratchPool) get() *scratch {
	if s, ok := p.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

// count counts the pieces that are tokens themselves without leaving this
// loop; they are nine of ten in ordinary text.
func (e *Encoding) count(b []byte) int {
	n := 0
	var s *scratch
	for i := 0; i < len(b); {
		end := e.next(b, i)
		if size := end - i; size > maxWord {
			if e.longs.get(e.table, b[i:end]) != none {
				n++
			} else {
				if s == nil {
					s = e.pool.get()
				}
				n += len(s.merge(e.table, b[i:end]))
			}
		} else if w := loadWord(b, i, size); e.words.has(w) {
			n++
		} else {
			if s == nil {
				s = e.pool.get()
			}
			n += s.countWord(e.table, w, b[i:end])
		}
		i = end
	}
	if s != nil {
		e.pool.Put(s)
	}
	return n
}

// recentBits is the logarithm of the number of remembered counts: 128 KB, so
// that they stay in the second-level cache beside the hot part of the tables.
const recentBits = 13

// recentCounts remembers the counts of words that are not tokens, since names
// and terms come again and again in one text. The value of a slot is the count.
type recentCounts [1 << recentBits]word

func (s *scratch) countWord(t *table, w word, p []byte) int {
	slot := &s.recent[w.hash()>>(64-recentBits)]
	if slot.holds(w) {
		return int(slot.value())
	}
	n := len(s.merge(t, p))
	*slot = word{w.lo, w.hi | uint64(n)<<valueShift}
	return n
}

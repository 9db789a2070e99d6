package bpe

import "fmt"

// appendIDs appends the token ids of text to dst. Tests compare them with the
// reference; counting needs no ids.
func (e *Encoding) appendIDs(dst []uint32, text string) []uint32 {
	b := view(text)
	var s *scratch
	for i := 0; i < len(b); {
		end := e.next(b, i)
		id := none
		if size := end - i; size > maxWord {
			id = e.longs.get(e.table, b[i:end])
		} else {
			id = e.words.get(loadWord(b, i, size))
		}
		if id != none {
			dst = append(dst, id)
		} else {
			if s == nil {
				s = e.pool.get()
			}
			dst = append(dst, s.merge(e.table, b[i:end])...)
		}
		i = end
	}
	if s != nil {
		e.pool.Put(s)
	}
	return dst
}

// decode returns the bytes of the tokens. They need not be valid UTF-8, since a token
// may hold part of a character. An id that the encoding does not have, special tokens
// included, is an error.
func (e *Encoding) decode(ids []uint32) ([]byte, error) {
	var out []byte
	for i, id := range ids {
		if int(id) >= e.size() || e.off[id] == e.off[id+1] {
			return nil, fmt.Errorf("decode token %d of %d: %s has no id %d", i, len(ids), e.name, id)
		}
		out = append(out, e.bytes(id)...)
	}
	return out, nil
}

func (s *wordMap) get(w word) uint32 {
	mask := uint64(len(s.slots) - 1)
	for i := w.hash() >> s.shift; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.holds(w) {
			return slot.value()
		} else if slot.hi == 0 {
			return none
		}
	}
}

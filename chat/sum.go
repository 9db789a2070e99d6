package chat

import (
	"hash/maphash"

	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

var seed = maphash.MakeSeed()

// Sum returns a fast hash of raw by which this process recognises bytes that
// it has seen. It is never 0, and differs between processes.
func Sum(raw []byte) uint64 {
	passes.Add(passes.Sums, len(raw))
	return max(1, maphash.Bytes(seed, raw))
}

// Summed returns the message's Sum, computing it if necessary. It does not
// modify the message.
func (m *Message) Summed() uint64 {
	if m.Sum != 0 {
		return m.Sum
	}
	return Sum(m.Raw)
}

package chat

import (
	"hash/maphash"

	"github.com/oriel-context/oriel/internal/tally"
)

var seed = maphash.MakeSeed()

// Sum is a fast hash of some bytes, by which this process knows them again. It is never
// 0, and another one in every process.
func Sum(raw []byte) uint64 {
	tally.Add(tally.Sums, len(raw))
	return max(1, maphash.Bytes(seed, raw))
}

// Summed is the message's Sum, which is computed where it was not. It changes nothing.
func (m *Message) Summed() uint64 {
	if m.Sum != 0 {
		return m.Sum
	}
	return Sum(m.Raw)
}

package timeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Hash is the first half of a SHA-256.
type Hash [16]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) == 2*len(h) {
		if _, err := hex.Decode(h[:], []byte(s)); err == nil {
			return h, nil
		}
	}
	return Hash{}, fmt.Errorf("%q is no hash: want %d hex digits", s, 2*len(h))
}

// HashOf is the hash of a content.
func HashOf(data []byte) Hash {
	sum := sha256.Sum256(data)
	return Hash(sum[:16])
}

// Chain is the chain hash of a message under one whose chain hash is before:
// docs/format/timeline.md tells of what.
func Chain(before Hash, m *Message, content Hash) Hash {
	var buffer [256]byte
	b := append(buffer[:0], before[:]...)
	b = append(b, m.Identity[:]...)
	b = append(b, content[:]...)
	b = appendString(b, m.Format)
	b = appendString(b, m.Role)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Time.UnixMicro()))
	b = appendString(b, m.Ref)
	return HashOf(b)
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

package timeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

// Hash is the first half of a SHA-256.
type Hash [16]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash parses the text that String returns.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) == 2*len(h) {
		if _, err := hex.Decode(h[:], []byte(s)); err == nil {
			return h, nil
		}
	}
	return Hash{}, fmt.Errorf("invalid hash %q: want %d hex digits", s, 2*len(h))
}

// MarshalText returns the text of String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is ParseHash.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}

// HashOf returns the hash of data.
func HashOf(data []byte) Hash {
	passes.Add(passes.SHA256, len(data))
	sum := sha256.Sum256(data)
	return Hash(sum[:16])
}

// Chain returns the chain hash of a message that follows one with the chain
// hash before. docs/reference/format/timeline.md lists what is hashed.
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

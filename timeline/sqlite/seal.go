package sqlite

import (
	"encoding/binary"

	"github.com/oriel-context/oriel/timeline"
)

// Hashes over the rows that no chain covers; docs/format/timeline.md lists
// what they cover. Like the chain they prove that a row is what was stored,
// unless somebody recomputed them.

// seal collects the bytes to hash.
type seal []byte

func (s *seal) text(all ...string) {
	for _, t := range all {
		*s = binary.LittleEndian.AppendUint32(*s, uint32(len(t)))
		*s = append(*s, t...)
	}
}

func (s *seal) number(all ...int64) {
	for _, n := range all {
		*s = binary.LittleEndian.AppendUint64(*s, uint64(n))
	}
}

func (s *seal) hash() timeline.Hash { return timeline.HashOf(*s) }

// sealVariant returns the hash of form n of the message with a chain hash.
func sealVariant(chain timeline.Hash, n int64, content timeline.Hash) timeline.Hash {
	s := make(seal, 0, 64)
	s = append(s, chain[:]...)
	s.number(n)
	s = append(s, content[:]...)
	return s.hash()
}

// sealConversation returns the hash of a conversation.
func sealConversation(tenant, name string, c *conversation, updated int64) timeline.Hash {
	s := make(seal, 0, 256)
	s.text(tenant, name)
	s.number(c.head.Trunk, c.head.Depth, c.revision, c.created, updated)
	s.text(c.project, c.continues)
	return s.hash()
}

// sealRecord returns the hash of a record with the place at and the time
// micro.
func sealRecord(tenant, conversation, kind, key string, at timeline.Place, micro int64, data []byte, contents []timeline.Hash) timeline.Hash {
	s := make(seal, 0, 256+len(data))
	s.text(tenant, conversation, kind, key)
	s.number(at.Trunk, at.Depth, micro, int64(len(data)))
	s = append(s, data...)
	for _, h := range contents {
		s = append(s, h[:]...)
	}
	return s.hash()
}

// sealDerived returns the hash of data derived from a content.
func sealDerived(content timeline.Hash, kind string, data []byte) timeline.Hash {
	s := make(seal, 0, 64+len(data))
	s = append(s, content[:]...)
	s.text(kind)
	s = append(s, data...)
	return s.hash()
}

// sealToken returns the hash of a token.
func sealToken(t *timeline.Token) timeline.Hash {
	s := make(seal, 0, 128)
	s = append(s, t.Hash[:]...)
	s.text(t.Tenant, t.Role)
	s.number(micros(t.Created), micros(t.Expires), micros(t.Revoked))
	return s.hash()
}

/*
Package seal makes the hashes of stored rows that no chain covers;
docs/reference/format/timeline.md lists what they cover. Like the chain they prove that a row is
what was stored, unless somebody recomputed them.
*/
package seal

import (
	"encoding/binary"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// sum collects the bytes to hash.
type sum []byte

func (s *sum) text(all ...string) {
	for _, t := range all {
		*s = binary.LittleEndian.AppendUint32(*s, uint32(len(t)))
		*s = append(*s, t...)
	}
}

func (s *sum) number(all ...int64) {
	for _, n := range all {
		*s = binary.LittleEndian.AppendUint64(*s, uint64(n))
	}
}

func (s *sum) hash() timeline.Hash { return timeline.HashOf(*s) }

// Variant returns the hash of form n of the message with a chain hash.
func Variant(chain timeline.Hash, n int64, content timeline.Hash) timeline.Hash {
	s := make(sum, 0, 64)
	s = append(s, chain[:]...)
	s.number(n)
	s = append(s, content[:]...)
	return s.hash()
}

// Conversation returns the hash of a conversation.
func Conversation(tenant string, c *timeline.Conversation) timeline.Hash {
	s := make(sum, 0, 256)
	s.text(tenant, c.Name)
	s.number(c.Head.Trunk, c.Head.Depth, c.Revision, c.Created.UnixMicro(), c.Updated.UnixMicro())
	s.text(c.Project, c.Continues)
	return s.hash()
}

// Record returns the hash of a record with the place at and the time
// micro.
func Record(tenant, conversation, kind, key string, at timeline.Place, micro int64, data []byte,
	contents []timeline.Hash) timeline.Hash {
	s := make(sum, 0, 256+len(data))
	s.text(tenant, conversation, kind, key)
	s.number(at.Trunk, at.Depth, micro, int64(len(data)))
	s = append(s, data...)
	for _, h := range contents {
		s = append(s, h[:]...)
	}
	return s.hash()
}

// Derived returns the hash of data derived from a content.
func Derived(content timeline.Hash, kind string, data []byte) timeline.Hash {
	s := make(sum, 0, 64+len(data))
	s = append(s, content[:]...)
	s.text(kind)
	s = append(s, data...)
	return s.hash()
}

// Extract returns the hash of an extract.
func Extract(span timeline.Span, kind string, data []byte) timeline.Hash {
	s := make(sum, 0, 64+len(data))
	s.number(span.Trunk, span.First, span.Last)
	s.text(kind)
	s = append(s, data...)
	return s.hash()
}

// Token returns the hash of a token.
func Token(t *timeline.AccessToken) timeline.Hash {
	s := make(sum, 0, 128)
	s = append(s, t.Hash[:]...)
	s.text(t.Tenant, t.Role)
	s.number(micros(t.Created), micros(t.Expires), micros(t.Revoked))
	return s.hash()
}

// micros returns a time that may be zero, which is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

package recall

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/oriel-context/oriel/timeline"
)

// vectorFamily is the family of derived data in which vectors are stored; the
// rest of the kind is the name of the model (docs/reference/format/timeline.md).
const vectorFamily = "vector/"

// vectorStore stores one model's vectors for a tenant's contents.
type vectorStore struct {
	store        timeline.Store
	tenant, kind string
	dimensions   int    // that vectors must have to be read; 0 for any
	owner        string // of claims
}

// kept holds the vectors of a content by the hash of the text that was
// embedded.
type kept struct {
	dimensions int
	vectors    map[uint64][]byte // scale and values
	order      []uint64
}

const (
	vectorHead  = 4     // the number of dimensions
	vectorEntry = 8 + 4 // hash and scale, before the values
	// maxStale is how many vectors of other texts are kept with a content: the
	// same content may be said under several names.
	maxStale = 64
)

// textHash distinguishes the embedded texts of a content.
func textHash(text string) uint64 {
	h := timeline.HashOf([]byte(text))
	return binary.LittleEndian.Uint64(h[:])
}

// read returns the stored vectors of contents. It skips data that it cannot
// decode; those vectors are made again.
func (v *vectorStore) read(ctx context.Context, contents []timeline.Hash) (map[timeline.Hash]kept, error) {
	found := make(map[timeline.Hash]kept, len(contents))
	err := v.store.Derived(ctx, v.tenant, v.kind, contents, func(h timeline.Hash, data []byte) error {
		if k, ok := readVectors(data); ok {
			found[h] = k
		}
		return nil
	})
	return found, err
}

// write stores vectors. With a read-only store it does nothing.
func (v *vectorStore) write(ctx context.Context, data []timeline.Derived) error {
	if len(data) == 0 {
		return nil
	}
	if err := v.store.KeepDerived(ctx, v.tenant, v.kind, data); err != nil && !errors.Is(err, timeline.ErrReadOnly) {
		return err
	}
	return nil
}

func readVectors(data []byte) (kept, bool) {
	if len(data) < vectorHead {
		return kept{}, false
	}
	k := kept{dimensions: int(binary.LittleEndian.Uint32(data))}
	size := vectorEntry + k.dimensions
	data = data[vectorHead:]
	if k.dimensions <= 0 || k.dimensions%lane != 0 || k.dimensions > math.MaxUint16+1 || len(data)%size != 0 {
		return kept{}, false
	}
	data = append([]byte(nil), data...) // the store's slice is valid only during the visit
	k.vectors = make(map[uint64][]byte, len(data)/size)
	for ; len(data) > 0; data = data[size:] {
		h := binary.LittleEndian.Uint64(data)
		if _, twice := k.vectors[h]; !twice {
			k.order = append(k.order, h)
		}
		k.vectors[h] = data[8:size:size]
	}
	return k, true
}

// quantised decodes a vector into the form of the index. A scale of 0 marks a
// text for which the model returns no direction.
func quantised(entry []byte) (values []int8, scale float32) {
	scale = math.Float32frombits(binary.LittleEndian.Uint32(entry))
	values = make([]int8, len(entry)-4)
	for i, b := range entry[4:] {
		values[i] = int8(b)
	}
	return values, scale
}

// appendVector appends a vector to the data of its content.
func appendVector(data []byte, dimensions int, hash uint64, values []int8, scale float32) []byte {
	if len(data) == 0 {
		data = binary.LittleEndian.AppendUint32(data, uint32(dimensions))
	}
	data = binary.LittleEndian.AppendUint64(data, hash)
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(scale))
	for _, v := range values {
		data = append(data, byte(v))
	}
	return append(data, make([]byte, dimensions-len(values))...)
}

// appendKept appends an entry that was read.
func appendKept(data []byte, hash uint64, entry []byte) []byte {
	data = binary.LittleEndian.AppendUint64(data, hash)
	return append(data, entry...)
}

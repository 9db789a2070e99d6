// Package vector finds the nearest among vectors in memory by scanning them all.
//
// A vector is kept as one signed byte for each dimension and a scale that makes its
// length 1: 388 bytes for 384 dimensions. A query is rounded to 15 bits, not 8.
// Scores are cosines: exact for the rounded values, the same bits on every CPU, and
// at 384 dimensions within about 0.002 of the cosine of what was added. On average
// 0.03 (text) to 0.14 (a million random vectors) of the ten nearest differ from
// those by float32. Of 50 hits that a caller rescores by the float32 vectors, the
// best ten were the exact ten in all our measurements.
//
// Any number of goroutines may read an [Index] while others write. A reader never
// waits: it sees the vectors that existed when it began, and may or may not see
// later removals.
//
// Ids count up from 0 and never change. A removed vector keeps its id and its
// memory; rebuild an index that has lost most of its vectors.
package vector

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/oriel-context/oriel/internal/vector/mat"
)

// MaxDimensions is the largest number of dimensions.
const MaxDimensions = 1 << 16

const (
	step      = 32   // what dimensions are a multiple of
	block     = 64   // vectors that are scanned in one go: the bits of a word
	chunkSize = 1024 // vectors of a chunk
)

// Errors about a vector, a query or a new index.
var (
	// ErrDimensions: the number of dimensions is invalid, or differs from the
	// index's.
	ErrDimensions = errors.New("wrong number of dimensions")
	// ErrNoDirection: the vector is zero or has a value that is NaN or infinite, so
	// it has no cosine.
	ErrNoDirection = errors.New("vector has no direction")
)

// Hit is a vector that was found.
type Hit struct {
	ID    int
	Score float32 // cosine
}

// Index holds vectors. Make one with [New].
type Index struct {
	dimensions int
	scan       scanner
	scratch    sync.Pool // of *scratch

	chunks atomic.Pointer[[]*chunk]
	length atomic.Int64 // grows after the chunks hold the new vectors

	writing sync.Mutex // held to change anything but a removed bit
}

// chunk has room for chunkSize vectors. Those below the index's length no longer
// change.
type chunk struct {
	values  []int8
	scales  [chunkSize]float32
	removed [chunkSize / block]atomic.Uint64
}

// New returns an empty index of vectors with the given dimensions, a multiple of 32.
// The environment variable ORIEL_KERNEL selects the kernels, as in package mat; it
// is an error if this CPU does not have them.
func New(dimensions int) (*Index, error) {
	if dimensions <= 0 || dimensions%step != 0 || dimensions > MaxDimensions {
		return nil, fmt.Errorf("new vector index: %w: %d is not a multiple of %d from %d to %d",
			ErrDimensions, dimensions, step, step, MaxDimensions)
	}
	kernels, err := mat.Choose("")
	if err != nil {
		return nil, fmt.Errorf("new vector index: %w", err)
	}
	return newIndex(dimensions, scannerOf(kernels.Name)), nil
}

func newIndex(dimensions int, scan scanner) *Index {
	x := &Index{dimensions: dimensions, scan: scan}
	x.scratch.New = func() any { return newScratch(dimensions) }
	x.chunks.Store(new([]*chunk))
	return x
}

// Kernel returns the name of the kernel that an index of [New] uses, "go" for plain
// Go.
func Kernel() (string, error) {
	kernels, err := mat.Choose("")
	if err != nil || native(kernels.Name) != nil {
		return kernels.Name, err
	}
	return "go", nil
}

func scannerOf(kernels string) scanner {
	if scan := native(kernels); scan != nil {
		return scan
	}
	return plain
}

// Dimensions returns the number of dimensions.
func (x *Index) Dimensions() int { return x.dimensions }

// Len returns the number of vectors ever added, including removed ones: ids are
// below it.
func (x *Index) Len() int { return int(x.length.Load()) }

// Bytes returns the memory of the index, including spare room.
func (x *Index) Bytes() int {
	chunks := *x.chunks.Load()
	each := int(unsafe.Sizeof(chunk{})) + chunkSize*x.dimensions
	return len(chunks)*each + cap(chunks)*int(unsafe.Sizeof(chunks[0]))
}

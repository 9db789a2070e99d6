package minilm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"
)

// ErrFile is wrapped by every error about a weight file.
var ErrFile = errors.New("not a usable MiniLM weight file")

// docs/reference/format/minilm.md describes the layout.
const (
	magic      = "ORIELMLM"
	version    = 1
	headerSize = 52
	checksumAt = 48
	maxPieces  = 1 << 20

	kindInt8    = 0
	kindFloat32 = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header stands between the magic and the notice.
type header struct {
	Version, Kind                                  uint32
	Layers, Width, Heads, Inner, Pieces, Positions uint32
	NoticeSize, VocabularySize                     uint32
	Checksum                                       uint32
}

func newHeader(kind uint32) header {
	return header{Version: version, Kind: kind, Layers: layers, Width: width, Heads: heads, Inner: inner,
		Positions: positions}
}

// size returns the length of the file that begins with h.
func (h *header) size() int64 {
	pieces := int64(h.Pieces)
	total := headerSize + int64(h.NoticeSize) + int64(h.VocabularySize)
	perValue := int64(1)
	if h.Kind == kindFloat32 {
		perValue = 4
	} else {
		total += 4 * pieces
	}
	total += perValue*width*pieces + 4*positions*width + 4*2*width
	for _, s := range shapes {
		k, n := int64(s[0]), int64(s[1])
		total += layers * (perValue*k*n + 4*n)
		if h.Kind == kindInt8 {
			total += layers * 4 * (k + 2*n)
		}
	}
	return total + layers*4*4*width
}

func checksum(file string) uint32 {
	sum := crc32.Checksum(bytesOf(file[:checksumAt]), castagnoli)
	return crc32.Update(sum, castagnoli, bytesOf(file[headerSize:]))
}

// bytesOf returns the bytes of s without copying; nobody may write to them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// readWeights parses a file. The result refers to file, which must not change.
func readWeights(file string) (*weights, error) {
	if len(file) < headerSize || file[:len(magic)] != magic {
		return nil, fmt.Errorf("%w: it does not begin with %q and a header of %d bytes", ErrFile, magic, headerSize)
	}
	var h header
	if _, err := binary.Decode(bytesOf(file[len(magic):headerSize]), binary.LittleEndian, &h); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrFile, err)
	}
	if h.Version != version {
		return nil, fmt.Errorf("%w: it has version %d, this program reads version %d", ErrFile, h.Version, version)
	}
	if h.Kind != kindInt8 && h.Kind != kindFloat32 {
		return nil, fmt.Errorf("%w: kind %d is neither int8 (%d) nor float32 (%d)", ErrFile, h.Kind, kindInt8,
			kindFloat32)
	}
	want := newHeader(h.Kind)
	want.Pieces, want.NoticeSize, want.VocabularySize, want.Checksum = h.Pieces, h.NoticeSize, h.VocabularySize,
		h.Checksum
	if h != want {
		return nil, fmt.Errorf(
			"%w: %d layers of width %d, %d heads, inner width %d, %d positions; this program knows %d, %d, %d, %d, %d",
			ErrFile, h.Layers, h.Width, h.Heads, h.Inner, h.Positions, layers, width, heads, inner, positions)
	}
	if h.Pieces == 0 || h.Pieces > maxPieces {
		return nil, fmt.Errorf("%w: %d pieces, not between 1 and %d", ErrFile, h.Pieces, maxPieces)
	}
	if int64(len(file)) != h.size() {
		return nil, fmt.Errorf("%w: it has %d bytes, its header says %d; is it truncated?", ErrFile, len(file),
			h.size())
	}
	if sum := checksum(file); sum != h.Checksum {
		return nil, fmt.Errorf("%w: its checksum is %08x, its header says %08x; some bytes have changed", ErrFile, sum,
			h.Checksum)
	}
	w := decode(reader{file[headerSize:]}, h)
	// A last line without a line end would be a piece without an embedding.
	if lines := bytes.Count(w.vocabulary, []byte("\n")); lines != int(h.Pieces) ||
		!bytes.HasSuffix(w.vocabulary, []byte("\n")) {
		return nil, fmt.Errorf("%w: the vocabulary has %d lines for %d pieces", ErrFile, lines, h.Pieces)
	}
	return w, nil
}

// decode reads the sections of a file whose size was checked.
func decode(r reader, h header) *weights {
	w := &weights{float: h.Kind == kindFloat32}
	w.notice = r.take(int(h.NoticeSize))
	w.vocabulary = bytesOf(r.take(int(h.VocabularySize)))
	if w.float {
		w.piecesF32 = r.floats(int(h.Pieces) * width)
	} else {
		w.pieceScale = r.floats(int(h.Pieces))
		w.pieces = r.int8s(int(h.Pieces) * width)
	}
	w.positions = r.floats(positions * width)
	w.norm = r.norm()
	for i := range w.layers {
		l := &w.layers[i]
		for j, d := range l.dense() {
			*d = r.dense(shapes[j][0], shapes[j][1], w.float)
			switch d {
			case &l.out:
				l.attentionNorm = r.norm()
			case &l.down:
				l.outputNorm = r.norm()
			}
		}
	}
	return w
}

// reader removes sections from the front of the rest of a file.
type reader struct{ rest string }

func (r *reader) take(n int) string {
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) int8s(n int) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(r.take(n)))), n)
}

func (r *reader) floats(n int) []float32 {
	s, out := bytesOf(r.take(4*n)), make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(s[4*i:]))
	}
	return out
}

func (r *reader) ints(n int) []int32 {
	s, out := bytesOf(r.take(4*n)), make([]int32, n)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(s[4*i:]))
	}
	return out
}

func (r *reader) norm() norm { return norm{gamma: r.floats(width), beta: r.floats(width)} }

func (r *reader) dense(k, n int, float bool) dense {
	d := dense{}
	d.K, d.N = k, n
	if float {
		d.Bias, d.f32 = r.floats(n), r.floats(k*n)
		return d
	}
	d.by = r.floats(k)
	d.Scale, d.Sum, d.Bias = r.floats(n), r.ints(n), r.floats(n)
	d.Weights = r.int8s(k * n)
	return d
}

// file encodes w as a file.
func (w *weights) file() []byte {
	h := newHeader(kindInt8)
	if w.float {
		h.Kind = kindFloat32
	}
	h.Pieces = uint32(bytes.Count(w.vocabulary, []byte("\n")))
	h.NoticeSize, h.VocabularySize = uint32(len(w.notice)), uint32(len(w.vocabulary))

	out := append(make([]byte, 0, h.size()), magic...)
	out = put(out, h)
	out = append(out, w.notice...)
	out = append(out, w.vocabulary...)
	if w.float {
		out = put(out, w.piecesF32)
	} else {
		out = put(put(out, w.pieceScale), w.pieces)
	}
	out = put(out, w.positions)
	out = put(put(out, w.norm.gamma), w.norm.beta)
	for i := range w.layers {
		l := &w.layers[i]
		for _, d := range l.dense() {
			if w.float {
				out = put(put(out, d.Bias), d.f32)
			} else {
				out = put(put(out, d.by), d.Scale)
				out = put(put(put(out, d.Sum), d.Bias), d.Weights)
			}
			switch d {
			case &l.out:
				out = put(put(out, l.attentionNorm.gamma), l.attentionNorm.beta)
			case &l.down:
				out = put(put(out, l.outputNorm.gamma), l.outputNorm.beta)
			}
		}
	}
	h.Checksum = checksum(unsafe.String(unsafe.SliceData(out), len(out)))
	binary.LittleEndian.PutUint32(out[checksumAt:], h.Checksum)
	return out
}

func put(out []byte, v any) []byte {
	out, err := binary.Append(out, binary.LittleEndian, v)
	if err != nil {
		panic(err) // only a type without a fixed size can fail
	}
	return out
}

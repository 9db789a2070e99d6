package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// magic begins every file.
const magic = "ORSPOOL1"

// A frame is the length of its payload and a checksum of kind and payload, 4 bytes each,
// little-endian, the kind, and the payload.
const frameHead = 9

// Kinds of frames.
const (
	// kindBlob is bytes that later entries of the file refer to by their number.
	kindBlob = 'b'
	// kindEntry is an entry: the number of its blobs and the numbers of each, as
	// uvarints, then Entry.Meta.
	kindEntry = 'e'
)

var table = crc32.MakeTable(crc32.Castagnoli)

func checksum(kind byte, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte{kind}, table), table, payload)
}

// span is the place of a frame's payload.
type span struct{ at, size int64 }

// end returns where the frame ends.
func (s span) end() int64 { return s.at + s.size }

// start returns where the frame begins.
func (s span) start() int64 { return s.at - frameHead }

// errTorn: the end of a file is missing, because its process died while it wrote.
var errTorn = errors.New("the last frame is not whole")

// errBroken: a frame does not have its checksum, or what it says is impossible.
var errBroken = errors.New("a frame is damaged")

// contents is what a file has.
type contents struct {
	blobs, entries []span
	size           int64 // of what is whole
}

// scan reads a file of so many bytes up to the first frame that is not whole. If there is
// one, it returns errTorn or errBroken with what goes before.
func scan(r io.ReaderAt, size int64) (c contents, err error) {
	head := make([]byte, len(magic))
	if size < int64(len(magic)) {
		return c, errTorn
	}
	if _, err := r.ReadAt(head, 0); err != nil {
		return c, err
	}
	if string(head) != magic {
		return c, fmt.Errorf("%w: the file does not begin with %s", errBroken, magic)
	}
	c.size = int64(len(magic))
	for c.size < size {
		kind, payload, s, err := readFrame(r, c.size, size)
		if err != nil {
			return c, err
		}
		switch kind {
		case kindBlob:
			c.blobs = append(c.blobs, s)
		case kindEntry:
			if _, _, err := splitEntry(payload, len(c.blobs)); err != nil {
				return c, err
			}
			c.entries = append(c.entries, s)
		default:
			return c, fmt.Errorf("%w: kind %q", errBroken, kind)
		}
		c.size = s.end()
	}
	return c, nil
}

// readFrame reads the frame at a place of a file of so many bytes.
func readFrame(r io.ReaderAt, at, size int64) (kind byte, payload []byte, s span, err error) {
	if size-at < frameHead {
		return 0, nil, s, errTorn
	}
	var head [frameHead]byte
	if _, err := r.ReadAt(head[:], at); err != nil {
		return 0, nil, s, err
	}
	s = span{at + frameHead, int64(binary.LittleEndian.Uint32(head[:]))}
	if s.end() > size {
		return 0, nil, s, errTorn
	}
	payload = make([]byte, s.size)
	if _, err := r.ReadAt(payload, s.at); err != nil && !(err == io.EOF && s.size == 0) {
		return 0, nil, s, err
	}
	kind = head[8]
	if checksum(kind, payload) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, s, fmt.Errorf("%w at byte %d", errBroken, at)
	}
	return kind, payload, s, nil
}

// appendFrame appends the head of a frame.
func appendHead(b []byte, kind byte, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, checksum(kind, payload))
	return append(b, kind)
}

// joinEntry returns the payload of an entry.
func joinEntry(blobs []int, meta []byte) []byte {
	b := binary.AppendUvarint(make([]byte, 0, 10+3*len(blobs)+len(meta)), uint64(len(blobs)))
	for _, n := range blobs {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return append(b, meta...)
}

// splitEntry is the inverse of joinEntry in a file that has so many blobs.
func splitEntry(payload []byte, known int) (blobs []int, meta []byte, err error) {
	count, n := binary.Uvarint(payload)
	if n <= 0 || count > uint64(len(payload)) {
		return nil, nil, fmt.Errorf("%w: an entry without its number of blobs", errBroken)
	}
	payload = payload[n:]
	blobs = make([]int, 0, count)
	for range count {
		number, n := binary.Uvarint(payload)
		if n <= 0 || number >= uint64(known) {
			return nil, nil, fmt.Errorf("%w: an entry with a blob that is not there", errBroken)
		}
		payload = payload[n:]
		blobs = append(blobs, int(number))
	}
	return blobs, payload, nil
}

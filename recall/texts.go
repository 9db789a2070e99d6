package recall

import (
	"fmt"
	"sort"
	"unsafe"

	"github.com/klauspost/compress/s2"
)

// blockText is how many bytes of text are compressed together. Chats shrink to
// about half, and reading one passage takes about 3 µs. Blocks twice as large
// would be an eighth smaller and take twice as long.
const blockText = 4 << 10

// texts holds the texts of the passages. The newest are uncompressed; older
// ones are in compressed blocks, of which a search reads those that it shows.
type texts struct {
	ends   []uint32 // by passage: its end in its block
	blocks []textBlock
	open   []byte
	first  int32 // the first passage of open
	packed int64 // bytes of all blocks
}

type textBlock struct {
	first int32 // its first passage
	data  []byte
}

func (t *texts) count() int { return len(t.ends) }

func (t *texts) add(text string) {
	t.open = append(t.open, text...)
	t.ends = append(t.ends, uint32(len(t.open)))
	if len(t.open) >= blockText {
		data := pack(t.open)
		t.packed += int64(cap(data))
		t.blocks = append(t.blocks, textBlock{t.first, data})
		t.open, t.first = t.open[:0], int32(len(t.ends))
	}
}

// pack compresses a text into a slice of exactly the needed size.
func pack(text []byte) []byte {
	return append([]byte(nil), s2.EncodeBetter(make([]byte, s2.MaxEncodedLen(len(text))), text)...)
}

// blank overwrites a removed passage, so that its text is no longer in memory.
func (t *texts) blank(i int32) {
	b := t.blockOf(i)
	raw := t.open
	if b < len(t.blocks) {
		raw = unpack(nil, t.blocks[b].data)
	}
	from, to := t.bounds(i, b)
	clear(raw[from:to])
	if b < len(t.blocks) {
		t.packed -= int64(cap(t.blocks[b].data))
		t.blocks[b].data = pack(raw)
		t.packed += int64(cap(t.blocks[b].data))
	}
}

// blockOf returns the number of a passage's block; the open one is the last.
func (t *texts) blockOf(i int32) int {
	if i >= t.first {
		return len(t.blocks)
	}
	return sort.Search(len(t.blocks), func(b int) bool { return t.blocks[b].first > i }) - 1
}

// bounds returns where a passage begins and ends in its block.
func (t *texts) bounds(i int32, block int) (from, to uint32) {
	first := t.first
	if block < len(t.blocks) {
		first = t.blocks[block].first
	}
	if i > first {
		from = t.ends[i-1]
	}
	return from, t.ends[i]
}

func unpack(buf, data []byte) []byte {
	raw, err := s2.Decode(buf, data)
	if err != nil {
		panic(fmt.Sprintf("recall: a block of texts is damaged: %v", err)) // pack wrote it, so this is a bug
	}
	return raw
}

// textReader reads texts. It decompresses a block once for consecutive reads.
type textReader struct {
	t     *texts
	block int // the number of the block in raw
	raw   []byte
}

func (t *texts) reader() textReader { return textReader{t: t, block: none} }

func (r *textReader) at(i int32) string {
	b := r.t.blockOf(i)
	from, to := r.t.bounds(i, b)
	if b == len(r.t.blocks) {
		return string(r.t.open[from:to])
	}
	if r.block != b {
		r.raw, r.block = unpack(r.raw[:cap(r.raw)], r.t.blocks[b].data), b
	}
	return string(r.raw[from:to])
}

// at returns the text of one passage.
func (t *texts) at(i int32) string {
	r := t.reader()
	return r.at(i)
}

func (t *texts) bytes() int64 {
	return int64(cap(t.ends))*4 + int64(cap(t.blocks))*int64(unsafe.Sizeof(textBlock{})) + int64(cap(t.open)) + t.packed
}

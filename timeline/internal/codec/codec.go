/*
Package codec compresses the contents that stores in databases keep.

A content is stored as it is, compressed by zstd, or by zstd with a dictionary that
is part of the program and never changes; Compress chooses. Expand returns the bytes
that Compress was given, or an error, and never more of them than were stored.
*/
package codec

import (
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/oriel-context/oriel/internal/rawjson/passes"
	"github.com/oriel-context/oriel/timeline"
)

// Values of content.codec: how a content is stored.
const (
	Raw  = 0
	Zstd = 1
	Dict = 2 // zstd with the dictionary
)

// dictionary is written by dictgen and never changes.
//
//go:embed dictionary.zstd
var dictionary []byte

const (
	// minCompress is the size below which a content is stored uncompressed.
	// Compressing one takes 20 µs, and all of them together are 1.5% of
	// recorded sessions.
	minCompress = 256
	// maxDict is the size up to which the dictionary is used. Messages of
	// recorded sessions below this size get a third smaller than with zstd
	// alone, larger ones at most a seventh, for twice the time.
	maxDict = 768
)

// Codecs compress and expand contents. They are created on first use and shared: they
// hold tables for a few callers at a time, and no goroutines.
type Codecs struct {
	plain, dict func() (*zstd.Encoder, error)
	decode      func() (*zstd.Decoder, error)
}

// New returns compressors, which the caller frees.
func New() *Codecs {
	encoder := func(o ...zstd.EOption) func() (*zstd.Encoder, error) {
		return sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, append(o,
				zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(min(4, runtime.GOMAXPROCS(0))),
				zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))...)
		})
	}
	return &Codecs{
		plain: encoder(),
		dict:  encoder(zstd.WithEncoderDict(dictionary)),
		decode: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderDicts(dictionary),
				zstd.WithDecoderMaxMemory(timeline.MaxContent+1), zstd.WithDecodeAllCapLimit(true))
		}),
	}
}

// Compress returns the smallest form of a content. The result may be raw itself.
func (c *Codecs) Compress(raw []byte) (codec int64, data []byte, err error) {
	if len(raw) < minCompress {
		return Raw, raw, nil
	}
	get, codec := c.plain, int64(Zstd)
	if len(raw) <= maxDict {
		get, codec = c.dict, Dict
	}
	e, err := get()
	if err != nil {
		return 0, nil, err
	}
	passes.Add(passes.Compressed, len(raw))
	if data = e.EncodeAll(raw, make([]byte, 0, len(raw)/2)); len(data) < len(raw) {
		return codec, data, nil
	}
	return Raw, raw, nil
}

// ErrContent: the stored form of a content cannot be expanded.
var ErrContent = errors.New("a content is not what was stored")

// Expand undoes Compress. It never returns more than size bytes.
func (c *Codecs) Expand(codec, size int64, data, buffer []byte) ([]byte, error) {
	if size < 0 || size > timeline.MaxContent {
		return nil, fmt.Errorf("%w: of %d bytes", ErrContent, size)
	}
	raw := data
	switch codec {
	case Raw:
	case Zstd, Dict:
		d, err := c.decode()
		if err != nil {
			return nil, err
		}
		if int64(cap(buffer)) < size {
			buffer = make([]byte, 0, size)
		}
		if raw, err = d.DecodeAll(data, buffer[:0:size]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrContent, err)
		}
	default:
		return nil, fmt.Errorf("%w: codec %d is unknown", ErrContent, codec)
	}
	if int64(len(raw)) != size {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrContent, len(raw), size)
	}
	return raw, nil
}

// Free frees the decoder's memory.
func (c *Codecs) Free() {
	if d, err := c.decode(); err == nil {
		d.Close()
	}
}

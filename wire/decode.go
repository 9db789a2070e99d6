package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// MaxDecoded is the limit of Decode's output in bytes: well above the longest
// streams, and a bound on decompression bombs.
const MaxDecoded = 256 << 20

// ErrDecodedTooLarge reports that a decoded body exceeds MaxDecoded bytes.
var ErrDecodedTooLarge = fmt.Errorf("the decoded body is over %d bytes: the rest is not read", MaxDecoded)

// Decode returns a reader that removes a Content-Encoding: gzip, deflate (with or
// without the zlib header), br, zstd, or several such as "gzip, br", the last one
// first. Decode itself does not read from r.
//
// Neither the result nor any intermediate encoding exceeds MaxDecoded, and a zstd
// window is at most the 8 MiB that HTTP allows (RFC 9659).
func Decode(encoding string, r io.Reader) (io.Reader, error) {
	return decode(encoding, r, MaxDecoded)
}

func decode(encoding string, r io.Reader, limit int) (io.Reader, error) {
	const most = 4
	codings := strings.Split(encoding, ",")
	if len(codings) > most {
		return nil, fmt.Errorf("%d content encodings: at most %d are read", len(codings), most)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		open, err := decoder(codings[i])
		if err != nil {
			return nil, err
		}
		if open != nil {
			r = &decoded{from: bufio.NewReader(r), open: open, left: limit}
		}
	}
	return r, nil
}

// decoder returns a function that opens one coding, or nil if there is nothing to
// decode.
func decoder(coding string) (func(*bufio.Reader) (io.Reader, error), error) {
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "", "identity":
		return nil, nil
	case "gzip", "x-gzip":
		return func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }, nil
	case "deflate":
		return inflate, nil
	case "br":
		return func(r *bufio.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }, nil
	case "zstd":
		return func(r *bufio.Reader) (io.Reader, error) {
			// With concurrency 1 it starts no goroutines, so there is nothing to
			// close.
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(8<<20))
		}, nil
	}
	return nil, fmt.Errorf("unknown content encoding %q: use gzip, deflate, br or zstd", coding)
}

// inflate reads deflate with a zlib header, as specified, or without, as many servers
// send it.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// decoded is opened by its first Read and returns an error after left bytes.
type decoded struct {
	from *bufio.Reader
	open func(*bufio.Reader) (io.Reader, error)
	r    io.Reader
	left int
	err  error
}

func (d *decoded) Read(p []byte) (int, error) {
	if d.err != nil || len(p) == 0 {
		return 0, d.err
	}
	if d.r == nil {
		if _, err := d.from.Peek(1); err != nil {
			d.err = err // an empty body decodes to nothing
			return 0, err
		}
		if d.r, d.err = d.open(d.from); d.err != nil {
			return 0, d.err
		}
	}
	n, err := d.r.Read(p[:min(len(p), d.left+1)])
	if n > d.left {
		n, err = d.left, ErrDecodedTooLarge
	}
	d.left -= n
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrDecodedTooLarge) {
		err = fmt.Errorf("decode the body: %w", err)
	}
	d.err = err
	return n, err
}

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

// MaxDecoded is how many bytes Decode gives at most: well above what the longest
// streams have, and an end to what a few bytes can grow to.
const MaxDecoded = 256 << 20

// ErrDecodedTooLarge says that a body has more than MaxDecoded bytes.
var ErrDecodedTooLarge = fmt.Errorf("the decoded body is over %d bytes: the rest is not read", MaxDecoded)

// Decode takes a Content-Encoding off a body: gzip, deflate (with or without zlib's
// frame), br, zstd, or several as "gzip, br", which are taken off from the last. The
// first bytes are read by the first Read, never here.
//
// Neither the result nor what is between two encodings grows beyond MaxDecoded, and a
// zstd window not beyond the 8 MiB that HTTP allows (RFC 9659).
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

// decoder opens what one coding made; nil where there is nothing to decode.
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
			// One at a time: it starts no goroutines, so there is nothing to close.
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		}, nil
	}
	return nil, fmt.Errorf("content encoding %q is not known: gzip, deflate, br and zstd are", coding)
}

// inflate reads deflate as it was meant, in zlib's frame, and as many servers send
// it, without.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// decoded is opened by its first Read and ends with an error beyond left bytes.
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
			d.err = err // nothing came, which nothing decodes to
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

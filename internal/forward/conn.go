package forward

import (
	"context"
	"errors"
	"io"
	"net"
)

// Dial returns dial with connections that write a body in memory as a whole. Others copy
// it in pieces of 32 kB, each with a system call, because http.Transport gives them a reader
// that hides the bytes.
func Dial(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network,
	address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			return &conn{tcp}, nil
		}
		return c, err
	}
}

// conn is a connection whose ReadFrom lets the body write itself.
type conn struct{ *net.TCPConn }

// ReadFrom implements io.ReaderFrom.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(io.WriterTo); ok {
			return writeWhole(c.TCPConn, body, limited)
		}
	}
	return c.TCPConn.ReadFrom(r)
}

// writeWhole writes a body within its limit.
func writeWhole(w io.Writer, body io.WriterTo, limited *io.LimitedReader) (int64, error) {
	n, err := body.WriteTo(&limitedWriter{w, limited.N})
	if limited.N -= n; limited.N == 0 && errors.Is(err, io.ErrShortWrite) {
		err = nil // it is longer than its length says, and the caller notices
	}
	return n, err
}

// limitedWriter writes at most n bytes.
type limitedWriter struct {
	io.Writer
	n int64
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	short := int64(len(p)) > w.n
	if short {
		p = p[:w.n]
	}
	n, err := w.Writer.Write(p)
	if w.n -= int64(n); short && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

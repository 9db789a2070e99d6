package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// flushWriter is what every encoder is.
type flushWriter interface {
	io.WriteCloser
	Flush() error
}

var encoders = map[string]func(io.Writer) flushWriter{
	"gzip":   func(w io.Writer) flushWriter { return gzip.NewWriter(w) },
	"X-GZIP": func(w io.Writer) flushWriter { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) flushWriter {
		return zlib.NewWriter(w)
	},
	" Deflate ": func(w io.Writer) flushWriter { // as many servers send it
		fw, _ := flate.NewWriter(w, 5)
		return fw
	},
	"br": func(w io.Writer) flushWriter { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) flushWriter {
		zw, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		return zw
	},
}

var encodings = []string{"gzip", "X-GZIP", "deflate", " Deflate ", "br", "zstd"}

func encode(data []byte, codings ...string) []byte {
	for _, c := range codings {
		var out bytes.Buffer
		w := encoders[c](&out)
		_, _ = w.Write(data)
		_ = w.Close()
		data = out.Bytes()
	}
	return data
}

// Whatever encodings a body has, and however it arrives, it is what it was.
func TestDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "body")
		codings := rapid.SliceOfN(rapid.SampledFrom(encodings), 0, 3).Draw(t, "codings")
		var body io.Reader = bytes.NewReader(encode(want, codings...))
		if rapid.Bool().Draw(t, "byte by byte") {
			body = iotest.OneByteReader(body)
		}
		r, err := Decode(strings.Join(codings, ","), body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: %d bytes, want %d", err, len(got), len(want))
		}
	})
	for _, plain := range []string{"", "identity", " , "} {
		r, err := Decode(plain, strings.NewReader("x"))
		if got, _ := io.ReadAll(r); err != nil || string(got) != "x" {
			t.Errorf("%q: %q, %v", plain, got, err)
		}
	}
	for _, bad := range []string{"compress", "gzip, rot13", "gzip,gzip,gzip,gzip,gzip"} {
		if _, err := Decode(bad, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// What was flushed can be read although more is to come: a stream is not held up.
func TestDecodeGivesWhatWasFlushed(t *testing.T) {
	for _, c := range encodings {
		pr, pw := io.Pipe()
		go func() {
			w := encoders[c](pw)
			for _, event := range []string{"data: 1\n\n", "data: 2\n\n"} {
				_, _ = io.WriteString(w, event)
				_ = w.Flush()
			}
			// Neither closed nor ended: the reader has to come by itself.
		}()
		r, err := Decode(c, pr)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 18)
		if _, err := io.ReadFull(r, got); err != nil || string(got) != "data: 1\n\ndata: 2\n\n" {
			t.Errorf("%s: %q, %v", c, got, err)
		}
		pr.Close()
	}
}

// A small body that decodes to a large one ends with an error, at the limit, and so
// does one that is large only between two encodings.
func TestDecodeIsBounded(t *testing.T) {
	const limit = 10_000
	bomb := make([]byte, 20*limit)
	for _, c := range encodings {
		for _, codings := range [][]string{{c}, {c, "gzip"}, {"gzip", c}} {
			r, err := decode(strings.Join(codings, ","), bytes.NewReader(encode(bomb, codings...)), limit)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if !errors.Is(err, ErrDecodedTooLarge) || n > limit {
				t.Errorf("%v: %d bytes, %v", codings, n, err)
			}
			if _, again := r.Read(make([]byte, 1)); !errors.Is(again, ErrDecodedTooLarge) {
				t.Errorf("%v: read on after the limit: %v", codings, again)
			}
		}
		exact := encode(bomb[:limit], c)
		if r, _ := decode(c, bytes.NewReader(exact), limit); r != nil {
			if n, err := io.Copy(io.Discard, r); n != limit || err != nil {
				t.Errorf("%s: %d bytes, %v", c, n, err)
			}
		}
	}
	if between := encode(encode(bomb[:limit/2], "gzip"), "br"); len(between) > limit {
		t.Fatal("the sample is too large")
	}
	// An encoder that makes more of what it gets: stored blocks of nothing.
	padded := append(bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, limit), 1, 0, 0, 0xff, 0xff)
	r, err := decode("deflate, gzip", bytes.NewReader(encode(padded, "gzip")), limit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrDecodedTooLarge) {
		t.Errorf("between two encodings: %v", err)
	}
}

func TestDecodeTellsWhatIsBroken(t *testing.T) {
	for _, c := range encodings {
		whole := encode(bytes.Repeat([]byte("hello "), 100), c)
		r, err := Decode(c, bytes.NewReader(whole[:len(whole)-3]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); err == nil {
			t.Errorf("%s: a body without its end is taken", c)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, c := range encodings {
		f.Add(encode([]byte("data: {}\n\n"), c), byte(i))
	}
	f.Fuzz(func(t *testing.T, body []byte, coding byte) {
		r, err := decode(encodings[int(coding)%len(encodings)]+", gzip"[:6*(int(coding)/len(encodings)%2)],
			bytes.NewReader(body), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := io.Copy(io.Discard, r); n > 1<<20 {
			t.Fatalf("%d bytes", n)
		}
	})
}

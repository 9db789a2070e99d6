//go:build !oriel_nomodel

package minilm

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFileIsWrittenAsItWasRead(t *testing.T) {
	w, err := readWeights(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if string(w.file()) != embedded {
		t.Error("the file differs from what was read")
	}
}

// seal makes file's checksum right again.
func seal(file []byte) []byte {
	binary.LittleEndian.PutUint32(file[checksumAt:], checksum(string(file)))
	return file
}

func TestDamagedFileIsRefusedWithAReason(t *testing.T) {
	word := func(at int, v uint32) func([]byte) []byte {
		return func(f []byte) []byte {
			binary.LittleEndian.PutUint32(f[at:], v)
			return seal(f)
		}
	}
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		reason string
	}{
		{"empty", func([]byte) []byte { return nil }, "does not begin with"},
		{"header cut", func(f []byte) []byte { return f[:headerSize-1] }, "does not begin with"},
		{"only a header", func(f []byte) []byte { return f[:headerSize] }, "is it truncated?"},
		{"last byte missing", func(f []byte) []byte { return f[:len(f)-1] }, "is it truncated?"},
		{"one byte more", func(f []byte) []byte { return append(f, 0) }, "is it truncated?"},
		{"a git pointer", func([]byte) []byte { return []byte(strings.Repeat("version https://git-lfs ", 5)) },
			"does not begin with"},
		{"magic", func(f []byte) []byte { f[0] = 'o'; return f }, "does not begin with"},
		{"a weight", func(f []byte) []byte { f[len(f)/2] ^= 1; return f }, "some bytes have changed"},
		{"the notice", func(f []byte) []byte { f[headerSize] ^= 1; return f }, "some bytes have changed"},
		{"checksum", func(f []byte) []byte { f[checksumAt] ^= 1; return f }, "some bytes have changed"},
		{"newer version", word(8, version+1), "it has version 2, this program reads version 1"},
		{"unknown kind", word(12, 7), "kind 7"},
		{"kind float32", word(12, kindFloat32), "is it truncated?"},
		{"layers", word(16, 12), "12 layers of width 384"},
		{"width", word(20, 768), "width 768"},
		{"no pieces", word(32, 0), "0 pieces"},
		{"many pieces", word(32, 1<<31), "pieces, not between"},
		{"one piece less", word(32, 30521), "is it truncated?"},
		{"huge notice", word(40, 1<<32-1), "is it truncated?"},
		{"lines for pieces", func(f []byte) []byte {
			at := strings.Index(string(f), "\nthe\n")
			f[at] = '_'
			return seal(f)
		}, "lines for 30522 pieces"},
		{"a piece without its line's end", func(f []byte) []byte {
			size := binary.LittleEndian.Uint32(f[44:])
			end := headerSize + int(binary.LittleEndian.Uint32(f[40:])) + int(size)
			binary.LittleEndian.PutUint32(f[44:], size+6)
			return seal(slices.Insert(f, end, []byte("zzqqzz")...))
		}, "lines for 30522 pieces"},
		{"piece twice", func(f []byte) []byte {
			at := strings.Index(string(f), "\nhas\n")
			copy(f[at:], "\nthe\n")
			return seal(f)
		}, "the"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(c.damage([]byte(embedded)), Options{})
			if err == nil {
				m.Close()
				t.Fatal("it was read")
			}
			if !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %q, want %q in it", err, c.reason)
			}
		})
	}
}

// A file that was changed anywhere and sealed again is refused, or gives vectors.
func FuzzRead(f *testing.F) {
	notice := int(binary.LittleEndian.Uint32([]byte(embedded[40:])))
	f.Add(0, []byte("ORIELMLM"))
	f.Add(40, []byte{0, 0, 0, 0})
	f.Add(headerSize+notice, []byte("[PAD]\n[PAD]\n"))
	f.Add(headerSize+notice+1000, []byte("\n\n\n"))
	f.Add(len(embedded)-3000, []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0xc0, 0x7f})
	f.Fuzz(func(t *testing.T, at int, patch []byte) {
		if at < 0 || at > len(embedded) {
			return
		}
		file := []byte(embedded)
		copy(file[at:], patch)
		m, err := Read(seal(file), Options{Threads: 1})
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Errorf("%v", err)
			}
			return
		}
		defer m.Close()
		vectorsOf(t, m, []string{"any words, [PAD] and zzqqzz"})
	})
}

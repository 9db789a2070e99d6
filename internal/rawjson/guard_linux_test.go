package rawjson

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Texts that end where the memory ends: a read past the end is a fault.
func TestNothingIsReadBehindTheText(t *testing.T) {
	page := os.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no mapping: %v", err)
	}
	defer syscall.Munmap(mem)
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Skipf("no guard page: %v", err)
	}
	var texts []string
	for _, tt := range refused {
		texts = append(texts, tt.text)
	}
	texts = append(texts, accepted...)
	for n := range 200 {
		texts = append(texts, `["`+strings.Repeat("x", n)+`",12]`, `"`+strings.Repeat("é", n), strings.Repeat(`\`, n),
			strings.Repeat("1", n))
	}
	texts = append(texts, `"\u`, `"\u0`, `"\u004`, `"\ud83d`, `"\ud83d\`, `"\ud83d\u`, `"\ud83d\ude0`, `tru`, `-`, `1e`,
		"\"\xf0\x9f\x98")
	for kname, k := range kernels() {
		for _, text := range texts {
			for _, pad := range []int{0, 1, 7, 63, 64, 65, 128 - len(text)%64} {
				data := mem[page-pad-len(text) : page : page]
				for i := range pad {
					data[i] = ' '
				}
				copy(data[pad:], text)
				d, got := parseWith(k, data, Limits{})
				_, want := parseWith(nil, bytes.Clone(data), Limits{})
				if (got == nil) != (want == nil) {
					t.Fatalf("%s: %q: %v, want %v", kname, data, got, want)
				}
				if d != nil {
					spansOf(d.Root())
					_ = d.Root().Str()
				}
			}
		}
	}
}

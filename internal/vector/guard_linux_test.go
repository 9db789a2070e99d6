package vector

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// atEdge is a copy of s that ends where memory ends that can be touched, or
// starts where it starts, and cannot be written.
func atEdge[T any](t *testing.T, s []T, atEnd bool) []T {
	t.Helper()
	var zero T
	size, page := len(s)*int(unsafe.Sizeof(zero)), os.Getpagesize()
	room := (size + page) / page * page
	mem, err := syscall.Mmap(-1, 0, room+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no mapping: %v", err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	inner := mem[page : page+room]
	place := inner
	if atEnd {
		place = inner[room-size:]
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(place))), len(s))
	copy(out, s)
	for _, p := range []struct {
		mem  []byte
		prot int
	}{{mem[:page], syscall.PROT_NONE}, {mem[page+room:], syscall.PROT_NONE}, {inner, syscall.PROT_READ}} {
		if err := syscall.Mprotect(p.mem, p.prot); err != nil {
			t.Skipf("no protection: %v", err)
		}
	}
	return out[:len(s):len(s)]
}

// Everything lies at an edge of the memory: an access beyond it is a fault.
func TestNothingOutsideTheSlicesIsTouched(t *testing.T) {
	rng := newRand()
	eachKernel(t, func(t *testing.T, scan scanner) {
		for _, atEnd := range []bool{true, false} {
			for _, d := range []int{32, 64, 96, 384, 416} {
				for _, n := range []int{1, 4, 6, 8, 64} {
					m := newMaterial(rng, n, d, func() int8 { return int8(rng.IntN(256)) }, randomVector(rng, d))
					m.values, m.scales = atEdge(t, m.values, atEnd), atEdge(t, m.scales, atEnd)
					m.query.values, m.query.planes = atEdge(t, m.query.values, atEnd), atEdge(t, m.query.planes, atEnd)
					padded := make([]float32, n+2)
					padded[0], padded[n+1] = 7, 7
					scan(padded[1:n+1], m.values, m.scales, &m.query, new(totals))
					if padded[0] != 7 || padded[n+1] != 7 {
						t.Fatalf("%d×%d: wrote outside of out", n, d)
					}
				}
			}
		}
	})
}

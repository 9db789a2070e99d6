package mat

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// guarded is memory between two pages that cannot be touched.
type guarded struct{ mem []byte }

func newGuarded(t *testing.T, size int) guarded {
	t.Helper()
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no mapping: %v", err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	for _, guard := range [][]byte{mem[:page], mem[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Skipf("no guard page: %v", err)
		}
	}
	return guarded{mem[page : page+size]}
}

// atEdge is a copy of s that ends where the memory ends, or starts where it
// starts.
func atEdge[T any](t *testing.T, s []T, atEnd bool) []T {
	t.Helper()
	var zero T
	size := len(s) * int(unsafe.Sizeof(zero))
	g := newGuarded(t, max(size, 1))
	place := g.mem
	if atEnd {
		place = g.mem[len(g.mem)-size:]
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(place))), len(s))
	copy(out, s)
	return out[:len(s):len(s)]
}

// Everything lies at an edge of the memory: an access beyond it is a fault. The
// weights cannot be written at all, as if they were a mapped file.
func TestNothingOutsideTheSlicesIsTouched(t *testing.T) {
	rng := newRand()
	for _, k := range All() {
		for _, atEnd := range []bool{true, false} {
			edge := func(t *testing.T, x []float32) []float32 { return atEdge(t, x, atEnd) }
			name := k.Name + map[bool]string{true: "/end", false: "/start"}[atEnd]

			for _, m := range []int{4, 8, 12, 16, 20, 28} {
				for _, depth := range []int{4, 20, 64} {
					t.Run(fmt.Sprintf("%s/Linear/%dx%d", name, m, depth), func(t *testing.T) {
						const n, ldc = 64, 70
						w := randomMatrix(rng, depth, n, func() int8 { return int8(rng.IntN(256)) })
						w.Weights, w.Sum = atEdge(t, w.Weights, atEnd), atEdge(t, w.Sum, atEnd)
						w.Scale, w.Bias = edge(t, w.Scale), edge(t, w.Bias)
						readOnly(t, w.Weights)
						a, rows := randomRows(rng, m, depth, func() uint8 { return uint8(rng.IntN(256)) })
						a, rows = atEdge(t, a, atEnd), atEdge(t, rows, atEnd)
						c := edge(t, make([]float32, (m-1)*ldc+n))
						k.Linear(c, ldc, a, rows, w, false)
						k.Linear(c, ldc, a, rows, w, true)
					})
				}
				for _, n := range []int{16, 32, 48} {
					for _, depth := range []int{1, 4, 7} {
						t.Run(fmt.Sprintf("%s/Mul/%dx%dx%d", name, m, depth, n), func(t *testing.T) {
							const more = 5
							lda, ldb, ldc := depth+more, n+more, n+more
							a := edge(t, normal(rng, (m-1)*lda+depth, 1))
							b := edge(t, normal(rng, (depth-1)*ldb+n, 1))
							c := edge(t, make([]float32, (m-1)*ldc+n))
							k.Mul(c, ldc, a, lda, b, ldb, m, n, depth, edge(t, normal(rng, m, 1)))
							k.Mul(c, ldc, a, lda, b, ldb, m, n, depth, nil)
						})
					}
				}
			}
			for _, rows := range []int{16, 32} {
				for _, cols := range []int{16, 48} {
					t.Run(fmt.Sprintf("%s/Transpose/%dx%d", name, rows, cols), func(t *testing.T) {
						const more = 3
						src := edge(t, normal(rng, (rows-1)*(cols+more)+cols, 1))
						dst := edge(t, make([]float32, (cols-1)*(rows+more)+rows))
						k.Transpose(dst, rows+more, src, cols+more, rows, cols)
					})
				}
			}
			for n := Lane; n <= 8*Lane; n += Lane {
				t.Run(fmt.Sprintf("%s/rows/%d", name, n), func(t *testing.T) {
					x, y, z := edge(t, normal(rng, n, 1)), edge(t, normal(rng, n, 1)), edge(t, normal(rng, n, 1))
					if n%Panel == 0 {
						k.Quantise(atEdge(t, make([]uint8, n), atEnd), x, y)
					}
					k.Norm(x, y, z)
					k.GELU(x)
					for first := 1; first <= n; first++ {
						k.Softmax(x, first, 0.5)
					}
				})
			}
		}
	}
}

// readOnly forbids writing to the pages that hold s.
func readOnly(t *testing.T, s []int8) {
	t.Helper()
	page := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(&s[0])) / page * page
	end := (uintptr(unsafe.Pointer(&s[len(s)-1]))/page + 1) * page
	if _, _, errno := syscall.Syscall(syscall.SYS_MPROTECT, start, end-start, syscall.PROT_READ); errno != 0 {
		t.Skipf("no read-only memory: %v", errno)
	}
}

// Package bytealg is what the standard library's bytes and strings use of its internal
// packages, for copies of them outside of it.
package bytealg

import (
	"bytes"
	"strings"
	"unsafe"
)

// The limits are those of amd64.
const (
	MaxBruteForce = 64
	MaxLen        = 63
	PrimeRK       = 16777619
)

func Cutover(n int) int                        { return (n + 16) / 8 }
func Compare(a, b []byte) int                  { return bytes.Compare(a, b) }
func CompareString(a, b string) int            { return strings.Compare(a, b) }
func Count(b []byte, c byte) int               { return bytes.Count(b, []byte{c}) }
func CountString(s string, c byte) int         { return strings.Count(s, string([]byte{c})) }
func Index(a, b []byte) int                    { return bytes.Index(a, b) }
func IndexString(a, b string) int              { return strings.Index(a, b) }
func IndexByte(b []byte, c byte) int           { return bytes.IndexByte(b, c) }
func IndexByteString(s string, c byte) int     { return strings.IndexByte(s, c) }
func LastIndexByte(b []byte, c byte) int       { return bytes.LastIndexByte(b, c) }
func LastIndexByteString(s string, c byte) int { return strings.LastIndexByte(s, c) }
func MakeNoZero(n int) []byte                  { return make([]byte, n) }
func NoEscape(p unsafe.Pointer) unsafe.Pointer { return p }

func IndexRabinKarp[T string | []byte](s, sep T) int {
	return strings.Index(string(s), string(sep))
}

func LastIndexRabinKarp[T string | []byte](s, sep T) int {
	return strings.LastIndex(string(s), string(sep))
}

func HashStrRev[T string | []byte](sep T) (hash, power uint32) {
	power = 1
	for i := len(sep) - 1; i >= 0; i-- {
		hash = hash*PrimeRK + uint32(sep[i])
		power *= PrimeRK
	}
	return hash, power
}

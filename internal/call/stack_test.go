package call_test

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/oriel-context/oriel/internal/call"
)

func TestAReservedStackStaysWhereItIs(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which may shrink it
	moved := make(chan bool)
	go func() {
		call.ReserveStack()
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		descend(100)
		moved <- before != uintptr(unsafe.Pointer(&here))
	}()
	if <-moved {
		t.Error("it grew again")
	}
}

// descend uses more than 12 kB of stack.
//
//go:noinline
func descend(n int) (sum byte) {
	var frame [128]byte
	frame[n] = byte(n)
	if n > 0 {
		sum = descend(n - 1)
	}
	return sum + frame[n]
}

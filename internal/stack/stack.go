// Package stack gives goroutines that live for one call the stack that they need at once.
//
// A goroutine begins with a stack of a few kB. Each time it grows, the runtime copies it
// and corrects the pointers of every frame; a goroutine that calls deep into SQLite does
// so four times. Reserve at its beginning makes that one step, with one frame to copy.
package stack

// Reserve lets the stack of the calling goroutine grow to at least 32 kB.
//
//go:noinline
func Reserve() {
	var frame [size]byte
	use(&frame)
}

// size is that of a frame that does not fit into a stack of 16 kB, the next smaller one.
const size = 20 << 10

//go:noinline
func use(*[size]byte) {}

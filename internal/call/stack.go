package call

// ReserveStack lets the stack of the calling goroutine grow to at least 32 kB.
//
// A goroutine begins with a stack of a few kB. Each time it grows, the runtime copies it
// and corrects the pointers of every frame; a goroutine that calls deep into SQLite does
// so four times. ReserveStack at its beginning makes that one step, with one frame to copy.
//
//go:noinline
func ReserveStack() {
	var frame [frameSize]byte
	useFrame(&frame)
}

// frameSize is that of a frame that does not fit into a stack of 16 kB, the next smaller one.
const frameSize = 20 << 10

//go:noinline
func useFrame(*[frameSize]byte) {}

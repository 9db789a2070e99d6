package serve

import (
	"os"
	"runtime/debug"

	"github.com/oriel-context/oriel/recall"
)

// Memory limits of the process, so that the bodies of past calls do not pile
// up between two collections: for calls alone, and with the recall library,
// which has a limit of its own. Unused memory is not taken.
const (
	ServerMemory  = 128 << 20
	LibraryMemory = ServerMemory + recall.DefaultMemory + recall.DefaultMemory/2
)

// boundMemory sets the collector's memory limit, unless the user has set one.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(LibraryMemory)
	}
}

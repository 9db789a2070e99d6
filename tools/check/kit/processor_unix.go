//go:build unix

package kit

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time of this process: elapsed time means
// nothing on a shared machine.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

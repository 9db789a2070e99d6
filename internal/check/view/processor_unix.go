//go:build unix

package view

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process: elapsed time means
// nothing on a shared machine.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

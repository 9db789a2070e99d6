//go:build unix

package view

import (
	"syscall"
	"time"
)

// processorTime is what this process has used: the clock tells nothing on a machine that
// others use too.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

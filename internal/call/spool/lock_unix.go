//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package spool

import (
	"os"
	"syscall"
)

// lock locks a file until it is closed. It reports whether nobody else has locked it.
func lock(f *os.File) bool { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

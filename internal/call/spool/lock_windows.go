package spool

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until it is closed. It reports whether nobody else has locked it. The
// byte that it locks is behind all others, which stay readable.
func lock(f *os.File) bool {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, at) == nil
}

// syncDir does nothing: names are durable with their files.
func syncDir(string) error { return nil }

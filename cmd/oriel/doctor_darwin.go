package main

import "golang.org/x/sys/unix"

// availableMemory returns the memory of the machine: the free part of it means
// little here.
func availableMemory() (uint64, error) { return unix.SysctlUint64("hw.memsize") }

func freeDisk(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

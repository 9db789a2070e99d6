//go:build unix

package main

import "syscall"

// fileLimit returns how many files this process may open.
func fileLimit() (uint64, error) {
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err
}

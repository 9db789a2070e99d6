//go:build unix

package proxy

import "syscall"

// mostConnections returns how many connections of clients may be open: each call takes
// another one to its provider, and the rest of the program has files, too.
func mostConnections() int {
	const own = 64
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > 2*usualConnections+own {
		return usualConnections
	}
	return max(16, (int(l.Cur)-own)/2)
}

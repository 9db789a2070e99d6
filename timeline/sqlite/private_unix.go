//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// ours reports whether a file belongs to this user.
func ours(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

//go:build unix && !fuzz

package importer

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to this user.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

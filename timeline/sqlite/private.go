package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// makePrivate takes the rights of others away from the files, and from the folder
// where it is the history's own: one that holds something else may be meant for
// others, and is left as it is. What belongs to another user is left to that user.
func makePrivate(path string) {
	if runtime.GOOS == "windows" {
		return // no modes: the user's data folder is private
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		restrict(path+suffix, 0o600)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 == 0 || info.Mode()&os.ModeSticky != 0 {
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), fileName) {
			return
		}
	}
	restrict(dir, 0o700)
}

// restrict gives one's own file or folder a mode, if it has rights beyond that.
func restrict(path string, mode os.FileMode) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&^mode == 0 || !ours(info) {
		return
	}
	_ = os.Chmod(path, mode) // a file system without modes is no reason to stop
}

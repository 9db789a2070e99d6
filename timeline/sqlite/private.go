package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// ownFiles are the names of the files that Oriel makes in a data folder: the history and
// its backups beside it, what was learnt of providers, logs of runs.
var ownFiles = []string{fileName + "*", "learnt.json*", "run-*.log", ".oriel-doctor-*"}

func isOwn(name string) bool {
	return slices.ContainsFunc(ownFiles, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name)
		return ok
	})
}

// makePrivate takes the rights of others away from the history's files, and from the folder
// where all files in it are Oriel's: one that holds something else may be meant for
// others, and is left as it is. A link to a folder stands for the folder. What belongs to
// another user is left to that user.
func makePrivate(path string) {
	if runtime.GOOS == "windows" {
		return // no modes: the user's data folder is private
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		restrict(path+suffix, 0o600)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 == 0 || info.Mode()&os.ModeSticky != 0 {
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !isOwn(f.Name()) {
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

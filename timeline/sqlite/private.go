package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// ownFiles are the names of the files that Oriel creates in a data folder: the
// history and backups beside it, learnt limits, logs of runs.
var ownFiles = []string{fileName + "*", "learnt.json*", "run-*.log", ".oriel-doctor-*"}

func isOwn(name string) bool {
	return slices.ContainsFunc(ownFiles, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name)
		return ok
	})
}

// makePrivate removes other users' access to the history's files, and to the
// folder if all files in it are Oriel's. A folder that contains anything else
// may be shared on purpose and is left unchanged. A link to a folder stands
// for the folder. Files of other users are left unchanged.
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

// restrict removes access rights beyond mode from the user's own file or
// folder.
func restrict(path string, mode os.FileMode) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&^mode == 0 || !ours(info) {
		return
	}
	_ = os.Chmod(path, mode) // ignore errors of file systems without modes
}

package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// UserFolder returns the default data folder.
func UserFolder() (string, error) {
	dir, err := userData(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", fmt.Errorf("no folder for the history: %w: give --data or set ORIEL_DATA", err)
	}
	return dir, nil
}

// userData returns the folder in which programs of a system keep a user's
// data.
func userData(system string, env func(string) string, home func() (string, error)) (string, error) {
	switch system {
	case "windows":
		if dir := env("LocalAppData"); dir != "" {
			return filepath.Join(dir, "oriel"), nil
		}
		return "", errors.New("%LocalAppData% is not set")
	case "darwin", "ios":
		dir, err := home()
		return filepath.Join(dir, "Library", "Application Support", "oriel"), err
	}
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oriel"), nil
	}
	dir, err := home()
	return filepath.Join(dir, ".local", "share", "oriel"), err
}

// userState returns the folder in which a user's programs keep what is not worth a backup.
func userState(system string, env func(string) string, home func() (string, error)) (string, error) {
	if system == "windows" || system == "darwin" || system == "ios" { // they have none
		dir, err := userData(system, env, home)
		return filepath.Join(dir, "spool"), err
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oriel", "spool"), nil
	}
	dir, err := home()
	if err != nil {
		return "", fmt.Errorf(
			"no folder for calls that the history does not accept: %w: give --spool or set ORIEL_SPOOL", err)
	}
	return filepath.Join(dir, ".local", "state", "oriel", "spool"), nil
}

// IsAnothers reports whether this user may not look into a data folder.
func IsAnothers(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oriel.db"))
	return errors.Is(err, fs.ErrPermission)
}

// AnothersFolder returns the error for a data folder that this user may not read.
func AnothersFolder(dir string) error {
	return fmt.Errorf("%s cannot be read: permission denied: it belongs to another user; --data names another folder",
		dir)
}

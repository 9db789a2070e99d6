package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/oriel-context/oriel/timeline/importer"
)

// usualPlace is a file or folder in which an agent keeps its conversations.
type usualPlace struct{ agent, path string }

// usualPlaces lists where agents keep their conversations on a system.
func usualPlaces(system string, env func(string) string, home string) []usualPlace {
	or := func(dir string, otherwise ...string) string {
		if dir != "" {
			return dir
		}
		return filepath.Join(append([]string{home}, otherwise...)...)
	}
	data := or(env("XDG_DATA_HOME"), ".local", "share")
	config := or(env("XDG_CONFIG_HOME"), ".config")
	switch system {
	case "darwin":
		config = filepath.Join(home, "Library", "Application Support")
	case "windows":
		config = or(env("AppData"), "AppData", "Roaming")
	}
	extensions := filepath.Join(config, "Code", "User", "globalStorage")
	return []usualPlace{
		{"Claude Code", filepath.Join(or(env("CLAUDE_CONFIG_DIR"), ".claude"), "projects")},
		{"Codex", filepath.Join(or(env("CODEX_HOME"), ".codex"), "sessions")},
		{"Gemini CLI", filepath.Join(home, ".gemini", "tmp")},
		{"opencode", filepath.Join(data, "opencode", "storage", "session")},
		{"Cline", filepath.Join(extensions, "saoudrizwan.claude-dev", "tasks")},
		{"Roo Code", filepath.Join(extensions, "rooveterinaryinc.roo-cline", "tasks")},
		{"aider", ".aider.chat.history.md"},
	}
}

// findMine returns the paths of the usual places that hold conversations, and prints what
// it found.
func findMine(w io.Writer, o importer.Options) ([]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("--mine: %w", err)
	}
	var found []string
	for _, p := range usualPlaces(runtime.GOOS, os.Getenv, home) {
		files, bytes := filesIn(p.path)
		if files == 0 || importer.Check([]string{p.path}, o) != nil {
			continue
		}
		found = append(found, p.path)
		fmt.Fprintf(w, "%-12s %s, %s in %s\n", p.agent, plural(files, "file", "files"), size(bytes), oneLine(p.path, 200))
	}
	if len(found) == 0 {
		return nil, errors.New("--mine: no agent keeps conversations in its usual place here: name files or folders")
	}
	return found, nil
}

// filesIn counts the files below a path and their bytes.
func filesIn(path string) (files int, bytes int64) {
	filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				files++
				bytes += info.Size()
			}
		}
		return nil
	})
	return files, bytes
}

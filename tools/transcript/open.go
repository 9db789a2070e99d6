package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrUnknown reports that a file is not a recording that this package can read.
var ErrUnknown = errors.New("not a known recording")

// Open reads the sessions of a file, or of all recordings below a folder, in
// order of their paths. The content of a file determines its format. In a
// folder, other files are skipped; a single file that is not a recording, or a
// folder without recordings, is an error.
func Open(path string) ([]*Session, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	if !info.IsDir() {
		return openFile(path)
	}
	var sessions []*Session
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Ext(file) {
		case ".jsonl", ".json":
		default:
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		found, err := openFile(file)
		if errors.Is(err, ErrUnknown) || errors.Is(err, errNoSession) {
			return nil
		}
		sessions = append(sessions, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open recordings: %w", err)
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("open recordings in %s: %w", path, ErrUnknown)
	}
	return sessions, nil
}

// sniff is how much of a file is examined to determine its kind.
const sniff = 4096

func openFile(path string) ([]*Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, sniff)
	start, err := in.Peek(sniff)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("open recording %s: %w", path, err)
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	text := strings.TrimLeft(string(start), " \t\r\n\ufeff")
	switch {
	case strings.HasPrefix(text, "{") && filepath.Ext(path) != ".json":
		// A line of a session names its type, and its place in the chain.
		s, err := ClaudeCode(name, in)
		if err != nil {
			return nil, err
		}
		return []*Session{s}, nil
	case strings.HasPrefix(text, "[") && (strings.Contains(text, `"traj"`) || strings.Contains(text, `"task_id"`)):
		return TauBench(name, in)
	}
	return nil, fmt.Errorf("open recording %s: %w", path, ErrUnknown)
}

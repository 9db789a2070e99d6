package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// source is a file to import.
type source struct {
	path  string
	given string // the path that the person gave: the file or a folder above it
	size  int64
	// modified is the time of messages without a time of their own.
	modified time.Time
	kind     kind
	// label is the name of a conversation without a name of its own.
	label string
}

// find lists the files under the paths and determines their kinds.
func (im *importing) find(ctx context.Context, paths []string) (all []*source, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // not a fault of the input
		}
	}()
	for _, given := range paths {
		given = filepath.Clean(given)
		info, err := os.Stat(given)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s is neither a file nor a folder: write what it has into a file first",
				ErrInput, given)
		}
		if !info.IsDir() {
			s := &source{path: given, given: given, size: info.Size(), modified: info.ModTime()}
			if err := im.named(ctx, s); err != nil {
				return nil, err
			}
			all = append(all, s)
			continue
		}
		before := im.report.Broken
		found, err := im.folder(ctx, given)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 0 && im.report.Broken > before:
			return nil, fmt.Errorf("%w: no file in the folder %s can be read, first %s", ErrInput, given,
				im.report.Problems[min(before, maxProblems-1)])
		case len(found) == 0:
			return nil, fmt.Errorf("%w: %w in any file of the folder %s (%s)", ErrInput, ErrNoFormat, given,
				formatList())
		}
		all = append(all, found...)
	}
	all = label(all)
	for _, s := range all {
		im.total += s.size
	}
	return all, nil
}

// named determines the kind of a file that a person named.
func (im *importing) named(ctx context.Context, s *source) error {
	want := im.options.Format
	k, err := s.sniff(ctx, want)
	switch {
	case err != nil:
		return err
	case k.format == Auto:
		return fmt.Errorf("%w: %s has %w (%s); name one with --format to read it anyway", ErrInput, s.path, ErrNoFormat,
			formatList())
	}
	s.kind = k
	return nil
}

// folder lists the files below a folder that have a known format, by path. It
// skips hidden files and folders and does not follow links below the folder.
func (im *importing) folder(ctx context.Context, root string) ([]*source, error) {
	var found []*source
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if path == root {
				return err
			}
			im.problem(Problem{File: path, What: cause(err)})
			return nil
		}
		if path != root && strings.HasPrefix(entry.Name(), ".") && entry.Name() != aiderFile {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			im.problem(Problem{File: path, What: cause(err)})
			return nil
		}
		s := &source{path: path, given: root, size: info.Size(), modified: info.ModTime()}
		if s.kind, err = s.sniff(ctx, Auto); err != nil {
			im.problem(Problem{File: path, What: cause(err)})
			return nil
		}
		if want := im.options.Format; s.kind.format == Auto ||
			want != Auto && want != s.kind.format && !(want.isBody() && s.kind.format.isBody()) {
			im.report.Skipped = append(im.report.Skipped, path)
			return nil
		} else if want != Auto {
			s.kind.format = want
		}
		found = append(found, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return found, nil
}

func cause(err error) string {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// label gives files their labels and lists each file once. If two labels would be
// equal and the conversations have no other names, it prepends names of folders
// above the given ones.
func label(all []*source) []*source {
	var out []*source
	seen := map[string]bool{}
	groups := map[string][]*source{}
	for _, s := range all {
		full := absolute(s.path)
		if seen[full] {
			continue
		}
		seen[full] = true
		s.label = strings.ToValidUTF8(s.below(), "\ufffd")
		out = append(out, s)
		if s.kind.format.isBody() || s.kind.format.isNamedByFolder() {
			groups[s.label] = append(groups[s.label], s)
		}
	}
	for _, group := range groups {
		if len(group) == 1 {
			continue
		}
		for _, s := range group {
			above := strings.TrimSuffix(filepath.ToSlash(s.labelled()), s.label)
			if parent := path.Base(path.Clean(above)); parent != "." && parent != "/" {
				s.label = parent + "/" + s.label
			}
		}
	}
	for _, s := range out {
		if n := len(s.label) - timeline.MaxName; n > 0 {
			s.label = strings.ToValidUTF8(s.label[n:], "")
		}
	}
	return out
}

// labelled returns the path whose end becomes the label: the file's without its
// extension, or its folder's if all files of the format have the same name.
func (s *source) labelled() string {
	full := absolute(s.path)
	if s.kind.format.isNamedByFolder() {
		return filepath.Dir(full)
	}
	return strings.TrimSuffix(full, filepath.Ext(full))
}

// below returns the part of labelled below the given folder, or its last element.
func (s *source) below() string {
	full := s.labelled()
	if rel, err := filepath.Rel(absolute(s.given), full); err == nil && rel != "." && rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(full)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Edit sets one value of a file.
type Edit struct {
	Path  []string `json:"path"`
	Value string   `json:"value"`
	// Old is what stood there, if Had is set. Made counts the objects on the way that the
	// edit added.
	Old  string `json:"old,omitempty"`
	Had  bool   `json:"had,omitempty"`
	Made int    `json:"made,omitempty"`
}

// Change is the change of one file.
type Change struct {
	// File is the file's own path, with symbolic links resolved.
	File    string `json:"file"`
	Existed bool   `json:"existed"`
	Edits   []Edit `json:"edits"`
	// Backup is the copy that is made before the change; "" if there was no file.
	Backup string `json:"backup,omitempty"`
	// Before and After are the hashes of the file's bytes.
	Before string `json:"before"`
	After  string `json:"after"`

	before, after string // the texts
}

// Edits are the change of an agent's configuration.
type Edits struct {
	Agent string `json:"agent"`
	// URL is the address of the proxy.
	URL     string   `json:"url,omitempty"`
	Changes []Change `json:"changes"`
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// maxFile is the size in bytes of the largest file that is changed.
const maxFile = 32 << 20

// read returns a file's own path and its text; existed is false if there is none.
func read(file string) (path, text string, existed bool, err error) {
	path, err = filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linked := os.Lstat(file); linked == nil {
			return "", "", false,
				fmt.Errorf("%s is a link to a file that is not there: create that file, or remove the link", file)
		}
		return file, "", false, nil
	}
	if err != nil {
		return "", "", false, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", "", false, err
	case !info.Mode().IsRegular():
		return "", "", false, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxFile:
		return "", "", false, fmt.Errorf("%s has %d bytes, too many to change", path, info.Size())
	}
	data, err := os.ReadFile(path)
	return path, string(data), true, err
}

// newChange returns the change that makes edits to a file. It is nil if the file has all of
// them already.
func newChange(file string, edits []Edit) (*Change, error) {
	path, text, existed, err := read(file)
	if err != nil {
		return nil, err
	}
	c := &Change{File: path, Existed: existed, Before: hash(text), before: text}
	for _, e := range edits {
		d, err := parse(path, text)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w: mend it first", path, err)
		}
		e.Old, e.Had, err = d.Get(e.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: change it by hand", path, err)
		}
		if e.Had && same(e.Old, e.Value) {
			continue
		}
		for n := len(e.Path) - 1; !e.Had && n > 0; n-- {
			if _, there, err := d.Get(e.Path[:n]); (err == nil && !there) && !hasTable(d, e.Path[:n]) {
				e.Made++
			}
		}
		next, err := d.Set(e.Path, e.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: change it by hand", path, err)
		}
		if err := verify(path, next, e); err != nil {
			return nil, err
		}
		text = next
		c.Edits = append(c.Edits, e)
	}
	if len(c.Edits) == 0 {
		return nil, nil
	}
	c.after, c.After = text, hash(text)
	return c, nil
}

// hasTable reports whether a TOML file has a table.
func hasTable(d Document, path []string) bool {
	t, ok := d.(*tomlDocument)
	if !ok {
		return false
	}
	_, _, found := t.region(path)
	return found
}

// same reports whether two values are the same but for white space.
func same(a, b string) bool {
	return strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
}

// verify returns an error if a text does not have an edit.
func verify(path, text string, e Edit) error {
	d, err := parse(path, text)
	if err != nil {
		return fmt.Errorf("%s cannot be changed: %w: change it by hand", path, err)
	}
	if got, ok, err := d.Get(e.Path); err != nil || !ok || got != e.Value {
		return fmt.Errorf("%s cannot be changed: %s would not be read: change it by hand", path,
			strings.Join(e.Path, "."))
	}
	return nil
}

// Diff returns the difference that the change makes, as lines with -, + and blanks.
func (c *Change) Diff() string { return diff(c.before, c.after) }

// Fresh returns an error if a record has changes that were made before and not taken back.
func (p *Edits) Fresh(record string) error {
	if _, err := os.Stat(record); err == nil {
		return fmt.Errorf(
			"%s is set up already, in another way: oriel setup %s --undo takes that back, then write this", p.Agent,
			p.Agent)
	}
	return nil
}

// Write makes the changes. It records them in a file first, so that Undo can take them back
// whenever the program dies. After an error the files are as they were.
func (p *Edits) Write(record string) (err error) {
	if err := p.Fresh(record); err != nil {
		return err
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Existed {
			c.Backup = unused(c.File + ".oriel-backup")
		}
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		return err
	}
	if err := replace(record, string(data)+"\n", 0o600); err != nil {
		return err
	}
	for i := range p.Changes {
		if err := p.Changes[i].write(); err != nil {
			_, failed := Undo(record)
			return errors.Join(err, failed)
		}
	}
	return nil
}

// unused returns a path at which there is nothing: path, or one with a number behind it.
func unused(path string) string {
	for n, name := 2, path; ; n, name = n+1, fmt.Sprint(path, "-", n) {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// write makes one change.
func (c *Change) write() error {
	if _, text, _, err := read(c.File); err != nil {
		return err
	} else if hash(text) != c.Before {
		return fmt.Errorf("%s was changed by another program just now: try again", c.File)
	}
	mode := fs.FileMode(0o600)
	if c.Existed {
		info, err := os.Stat(c.File)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
		if err := replace(c.Backup, c.before, mode); err != nil {
			return err
		}
	} else if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	return replace(c.File, c.after, mode)
}

// restore brings back the bytes from before the change.
func (c *Change) restore() error {
	if !c.Existed {
		return os.Remove(c.File)
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	data, err := c.copied()
	if err != nil {
		return err
	}
	if err := replace(c.File, data, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Remove(c.Backup)
}

// copied returns the bytes from before the change.
func (c *Change) copied() (string, error) {
	data, err := os.ReadFile(c.Backup)
	if err == nil && hash(string(data)) != c.Before {
		err = fmt.Errorf("%s is not the copy that was made: compare it with %s by hand", c.Backup, c.File)
	}
	return string(data), err
}

// replace writes a file by a rename, so that it has the old bytes or the new ones.
func replace(path, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Recorded returns the plans that are recorded in a folder.
func Recorded(folder string) []Edits {
	var plans []Edits
	for _, agent := range Agents() {
		var p Edits
		data, err := os.ReadFile(filepath.Join(folder, agent+".json"))
		if err == nil && json.Unmarshal(data, &p) == nil {
			plans = append(plans, p)
		}
	}
	return plans
}

// Undo takes back what a record has. It returns what was done to each file.
func Undo(record string) (done []string, err error) {
	data, err := os.ReadFile(record)
	if err != nil {
		return nil, err
	}
	var p Edits
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", record, err)
	}
	for i := range slices.Backward(p.Changes) {
		what, err := p.Changes[i].undo()
		if err != nil {
			return done, err
		}
		done = append(done, what)
	}
	return done, os.Remove(record)
}

func (c *Change) undo() (string, error) {
	_, text, existed, err := read(c.File)
	_, lost := c.copied()
	why := "was changed since"
	switch {
	case err != nil:
		return "", err
	case !existed:
		return c.File + " is gone: there is nothing to undo", nil
	case hash(text) == c.Before && c.Existed:
		if lost == nil {
			err = os.Remove(c.Backup)
		}
		return c.File + " is as it was before already", err
	case hash(text) == c.After && c.Existed && lost != nil:
		why = "has no copy from before any more"
	case hash(text) == c.After:
		if err := c.restore(); err != nil {
			return "", err
		}
		if !c.Existed {
			return c.File + " is removed, as there was none before", nil
		}
		return c.File + " has its bytes from before", nil
	}
	next := text
	for _, e := range slices.Backward(c.Edits) {
		if next, err = takeOut(c.File, next, e); err != nil {
			return "", err
		}
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return "", err
	}
	if err := replace(c.File, next, info.Mode().Perm()); err != nil {
		return "", err
	}
	done := c.File + " " + why + ": only what oriel setup put in is taken out"
	if lost == nil {
		done += "; the copy from before is " + c.Backup
	}
	return done, nil
}

// takeOut returns a text without an edit, if nobody has changed its value.
func takeOut(path, text string, e Edit) (string, error) {
	d, err := parse(path, text)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w: mend it first", path, err)
	}
	name := strings.Join(e.Path, ".")
	got, ok, err := d.Get(e.Path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w: take %s out by hand", path, err, name)
	case !ok:
		return text, nil // somebody took it out
	case e.Had && same(got, e.Old):
		return text, nil // somebody put it back, or it was never written
	case !same(got, e.Value):
		return "", fmt.Errorf(
			"%s: %s is %s now, which oriel setup did not write: take it out by hand, or write %s there again", path,
			name, got, e.Value)
	case e.Had:
		return d.Set(e.Path, e.Old)
	}
	if text, err = d.Remove(e.Path); err != nil {
		return "", err
	}
	for n := len(e.Path) - 1; n >= len(e.Path)-e.Made && n > 0; n-- {
		if d, err = parse(path, text); err != nil || !d.Empty(e.Path[:n]) {
			return text, err
		}
		if text, err = d.Remove(e.Path[:n]); err != nil {
			return "", err
		}
	}
	return text, nil
}

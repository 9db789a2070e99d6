package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Learnt holds what refusals and usage reports taught about providers: the limits of
// their models and how they count. A file keeps it across restarts. Several processes may
// share the file; for each model it holds the newest entry. Learnt is safe for concurrent
// use.
type Learnt struct {
	Limits      *Limits
	Calibration *Calibration

	mu    sync.Mutex // one Save at a time; protects what follows
	place LearntPlace
	base  learntFile // what was here when the file was last read or written
	last  []byte     // the file then
	seen  string     // its stamp then
}

// LearntPlace is where Learnt is kept: a file, or a place that several machines share.
type LearntPlace interface {
	// String names the place in errors.
	String() string
	// Stamp identifies the state of the place, without waiting for anything.
	Stamp() string
	// Read returns the content, or nil if there is none.
	Read() ([]byte, error)
	// Replace writes data unless the content is no longer was, and reports whether it did.
	Replace(was, data []byte) (bool, error)
}

// learntFile is the content of the file; docs/format/calls.md describes it.
type learntFile struct {
	V      int `json:"v"`
	Limits struct {
		Tokens parts `json:"tokens,omitempty"`
		Binds  parts `json:"binds,omitempty"`
	} `json:"limits"`
	Calibration parts `json:"calibration,omitempty"`
}

type parts map[string]json.RawMessage

// maxParts bounds the entries of each kind: clients choose the names of models.
const maxParts = 4096

// merge returns the parts to write: those that changed here since base was read, and the
// file's version of all others. A part that did not change here and is no longer in the
// file was forgotten by another process, and stays out.
func (p parts) merge(base, file parts) parts {
	out := parts{}
	for name, part := range p {
		was, had := base[name]
		in, ok := file[name]
		switch {
		case !had || !bytes.Equal(part, was):
			out[name] = part
		case ok:
			out[name] = in
		}
	}
	for name, part := range file {
		_, had := base[name]
		if _, has := p[name]; !has && !had && len(out) < maxParts {
			out[name] = part
		}
	}
	return out
}

// OpenLearnt reads the file; see OpenLearntAt.
func OpenLearnt(path string) (*Learnt, error) { return OpenLearntAt(learntPath(path)) }

// OpenLearntAt reads a place. One that is missing or cannot be read counts as empty;
// in the latter case OpenLearntAt also returns an error, for a log, and the next Save
// overwrites what is damaged.
func OpenLearntAt(path LearntPlace) (*Learnt, error) {
	l := &Learnt{Limits: new(Limits), Calibration: new(Calibration), place: path}
	seen := path.Stamp()
	data, err := path.Read()
	if err == nil && data == nil {
		return l, nil
	}
	l.seen = seen
	var f learntFile
	if err == nil {
		f, err = readLearnt(data)
	}
	if err == nil {
		err = l.load(f)
	}
	if errors.Is(err, errOldLearnt) {
		return l, fmt.Errorf("%s is of an earlier version, whose limits were not checked; it is left out of account, limits and calibration are learnt anew", path)
	}
	if err != nil {
		return l, fmt.Errorf("%s is damaged and left out of account, limits and calibration are learnt anew: %w", path, err)
	}
	l.base, err = l.current()
	return l, err
}

// learntVersion is the version of the file. Version 1 held limits that a single refusal had
// taught, for all tenants.
const learntVersion = 2

var errOldLearnt = errors.New("version 1")

func readLearnt(data []byte) (f learntFile, err error) {
	if err = json.Unmarshal(data, &f); err != nil {
		return f, err
	}
	switch f.V {
	case learntVersion:
		return f, nil
	case 1:
		return learntFile{}, errOldLearnt
	}
	return learntFile{}, fmt.Errorf("version %d, this program knows %d", f.V, learntVersion)
}

// current returns what this process knows, in the form of the file.
func (l *Learnt) current() (f learntFile, err error) {
	data, err := json.Marshal(struct {
		V           int          `json:"v"`
		Limits      *Limits      `json:"limits"`
		Calibration *Calibration `json:"calibration"`
	}{learntVersion, l.Limits, l.Calibration})
	if err != nil {
		return f, err
	}
	return readLearnt(data)
}

// load replaces what this process knows by the content of a file.
func (l *Learnt) load(f learntFile) error {
	if err := l.loadLimits(f); err != nil {
		return err
	}
	if f.Calibration == nil {
		f.Calibration = parts{}
	}
	calibration, err := json.Marshal(f.Calibration)
	if err == nil {
		err = json.Unmarshal(calibration, l.Calibration)
	}
	return err
}

func (l *Learnt) loadLimits(f learntFile) error {
	limits, err := json.Marshal(f.Limits)
	if err == nil {
		err = json.Unmarshal(limits, l.Limits)
	}
	return err
}

// Save merges what other processes have learnt or forgotten, and writes the file if
// anything changed: whole, or not at all.
func (l *Learnt) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.save(); err != nil {
		return fmt.Errorf("keep what was learnt: %w", err)
	}
	return nil
}

func (l *Learnt) save() error {
	now, err := l.current()
	if err != nil {
		return err
	}
	for range saveTries {
		was, err := l.place.Read()
		if err != nil {
			return err
		}
		merged := now
		file, bad := readLearnt(was)
		if bad == nil || was == nil { // otherwise it is damaged and is overwritten
			merged.Limits.Tokens = now.Limits.Tokens.merge(l.base.Limits.Tokens, file.Limits.Tokens)
			merged.Limits.Binds = now.Limits.Binds.merge(l.base.Limits.Binds, file.Limits.Binds)
			merged.Calibration = now.Calibration.merge(l.base.Calibration, file.Calibration)
		}
		data, err := json.Marshal(merged)
		if err != nil {
			return err
		}
		data = append(data, '\n')
		done := bytes.Equal(data, was)
		if !done {
			if done, err = l.place.Replace(was, data); err != nil {
				return err
			}
		}
		if !done {
			continue
		}
		l.seen = l.place.Stamp()
		l.last = data
		return l.adopt(now, merged)
	}
	return nil // another process was faster each time; the next Save writes it
}

// adopt loads what the file has now. What was learnt here since now was read stays, and the
// next Save writes it.
func (l *Learnt) adopt(now, merged learntFile) error {
	l.base = merged
	if !now.Limits.Tokens.equal(merged.Limits.Tokens) || !now.Limits.Binds.equal(merged.Limits.Binds) {
		since, err := l.current()
		if err != nil {
			return err
		}
		since.Limits.Tokens = since.Limits.Tokens.merge(now.Limits.Tokens, merged.Limits.Tokens)
		since.Limits.Binds = since.Limits.Binds.merge(now.Limits.Binds, merged.Limits.Binds)
		if err := l.loadLimits(since); err != nil {
			return err
		}
	}
	return l.Calibration.update(now.Calibration, merged.Calibration)
}

func (p parts) equal(o parts) bool {
	return maps.EqualFunc(p, o, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// Refresh merges what other processes have learnt or forgotten if the file has changed.
func (l *Learnt) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.place.Stamp()
	if is == l.seen {
		return nil
	}
	l.seen = is // also if the file cannot be read: that is reported once
	if err := l.save(); err != nil {
		return fmt.Errorf("merge what other processes learnt: %w", err)
	}
	return nil
}

// Reread is Refresh for processes that cannot wait until they are told of a change: it reads
// the file in any case.
func (l *Learnt) Reread() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err := l.place.Read()
	if err == nil && !bytes.Equal(data, l.last) {
		err = l.save()
	}
	if err != nil {
		return fmt.Errorf("merge what other processes learnt: %w", err)
	}
	return nil
}

// Forget removes what was learnt of a model, or of all models for "all", and returns the
// number of removed limits, bindings and calibrations.
func (l *Learnt) Forget(model string) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := l.current()
	if err != nil {
		return 0, err
	}
	forget := func(all parts, windows bool) {
		for key := range all {
			_, name, _ := strings.Cut(key, "\t")
			if i := strings.LastIndexByte(name, ' '); windows && i >= 0 {
				name = name[:i]
			}
			if model == "all" || name == model {
				delete(all, key)
				n++
			}
		}
	}
	forget(now.Limits.Tokens, true)
	forget(now.Limits.Binds, false)
	forget(now.Calibration, false)
	if n == 0 {
		return 0, nil
	}
	if err := l.load(now); err != nil {
		return 0, err
	}
	if err := l.save(); err != nil {
		return 0, fmt.Errorf("forget what was learnt: %w", err)
	}
	return n, nil
}

// LearntScale is the calibration of one tenant's model.
type LearntScale struct {
	Tenant string `json:"tenant"`
	Model  string `json:"model"`
	Scale
}

// Scales returns all calibrations, sorted by tenant and model.
func (l *Learnt) Scales() []LearntScale {
	now, err := l.current()
	if err != nil {
		return nil
	}
	var out []LearntScale
	for _, key := range slices.Sorted(maps.Keys(now.Calibration)) {
		tenant, model, _ := strings.Cut(key, "\t")
		out = append(out, LearntScale{tenant, model, l.Calibration.Scale(key)})
	}
	return out
}

// saveTries bounds how often another process may be faster.
const saveTries = 16

// learntPath is a file that keeps Learnt.
type learntPath string

func (p learntPath) String() string { return string(p) }

// Stamp returns the size and the time of the file; it is empty if there is no file.
func (p learntPath) Stamp() string {
	info, err := os.Stat(string(p))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
}

func (p learntPath) Read() ([]byte, error) {
	data, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// Replace writes the file whole, or not at all.
func (p learntPath) Replace(was, data []byte) (bool, error) {
	f, err := os.CreateTemp(filepath.Dir(string(p)), filepath.Base(string(p))+".*") // for its owner alone
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	if is, bad := os.ReadFile(string(p)); bad == nil && !bytes.Equal(is, was) {
		return false, os.Remove(f.Name())
	}
	if err := os.Rename(f.Name(), string(p)); err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}

package record

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
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
)

// Learnt is what providers have taught, kept in a file over restarts: what their models
// take, and how they count. Several processes may keep what they learnt in one file: of
// each model it has what was learnt last. It is safe for concurrent use.
type Learnt struct {
	Limits      *view.Limits
	Calibration *token.Calibration

	mu   sync.Mutex // one Save at a time; protects what follows
	path string
	base learntFile // what was here when the file was last read or written
	seen fileStamp  // the file then
}

// learntFile is the file, model by model: docs/format/calls.md.
type learntFile struct {
	V      int `json:"v"`
	Limits struct {
		Tokens parts `json:"tokens,omitempty"`
		Binds  parts `json:"binds,omitempty"`
	} `json:"limits"`
	Calibration parts `json:"calibration,omitempty"`
}

type parts map[string]json.RawMessage

// maxParts is how many entries the file has of each kind: clients choose names of models.
const maxParts = 4096

// merge returns the parts to write: those that changed here since base was read, and the
// file's version of all others. A part that did not change here and is no longer in the
// file was forgotten by another process, and stays out.
func (now parts) merge(base, file parts) parts {
	out := parts{}
	for name, part := range now {
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
		if _, has := now[name]; !has && !had && len(out) < maxParts {
			out[name] = part
		}
	}
	return out
}

// OpenLearnt reads the file. One that is not there, or cannot be read, is as if nothing
// had been learnt; the error, for a log, tells of the latter. What there is is written
// over by the next Save.
func OpenLearnt(path string) (*Learnt, error) {
	l := &Learnt{Limits: new(view.Limits), Calibration: new(token.Calibration), path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	l.seen = stamp(path)
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
	l.base, err = l.present()
	return l, err
}

// learntVersion is that of the file. Version 1 had limits that one refusal had taught, for
// all tenants.
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

// present is what is known here.
func (l *Learnt) present() (f learntFile, err error) {
	data, err := json.Marshal(struct {
		V           int                `json:"v"`
		Limits      *view.Limits       `json:"limits"`
		Calibration *token.Calibration `json:"calibration"`
	}{learntVersion, l.Limits, l.Calibration})
	if err != nil {
		return f, err
	}
	return readLearnt(data)
}

// load makes what is known here that of a file.
func (l *Learnt) load(f learntFile) error {
	limits, err := json.Marshal(f.Limits)
	if err == nil {
		err = json.Unmarshal(limits, l.Limits)
	}
	if err != nil {
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

// Save takes up what other processes have learnt or forgotten, and writes the file where
// something is new: whole, or not at all.
func (l *Learnt) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.save(); err != nil {
		return fmt.Errorf("keep what was learnt: %w", err)
	}
	return nil
}

func (l *Learnt) save() error {
	now, err := l.present()
	if err != nil {
		return err
	}
	for range saveTries {
		was, err := os.ReadFile(l.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		merged := now
		file, bad := readLearnt(was)
		if bad == nil || err != nil { // else it is damaged, and written over
			merged.Limits.Tokens = now.Limits.Tokens.merge(l.base.Limits.Tokens, file.Limits.Tokens)
			merged.Limits.Binds = now.Limits.Binds.merge(l.base.Limits.Binds, file.Limits.Binds)
			merged.Calibration = now.Calibration.merge(l.base.Calibration, file.Calibration)
		}
		done, err := l.replace(was, merged)
		if err != nil {
			return err
		}
		if !done {
			continue
		}
		l.seen = stamp(l.path)
		if err := l.load(merged); err != nil {
			return err
		}
		l.base, err = l.present()
		return err
	}
	return nil // another process comes first each time: the next Save has it
}

// Refresh takes up what other processes have learnt or forgotten, if the file has changed.
func (l *Learnt) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := stamp(l.path)
	if is == l.seen {
		return nil
	}
	l.seen = is // also where it cannot be read: that is told once
	if err := l.save(); err != nil {
		return fmt.Errorf("take up what was learnt elsewhere: %w", err)
	}
	return nil
}

// stamp tells one state of a file from another; zero where there is none.
func stamp(path string) (s fileStamp) {
	if info, err := os.Stat(path); err == nil {
		s = fileStamp{info.Size(), info.ModTime().UnixNano()}
	}
	return s
}

type fileStamp struct{ size, modified int64 }

// Forget forgets what was learnt of a model, of all models for "all", and reports how many
// limits, bindings and calibrations that were.
func (l *Learnt) Forget(model string) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := l.present()
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

// Scale is how a provider was found to count, for people to see.
type Scale struct {
	Tenant string `json:"tenant"`
	Model  string `json:"model"`
	token.Scale
}

// Scales returns how providers count, in the order of their models' names.
func (l *Learnt) Scales() []Scale {
	now, err := l.present()
	if err != nil {
		return nil
	}
	var out []Scale
	for _, key := range slices.Sorted(maps.Keys(now.Calibration)) {
		tenant, model, _ := strings.Cut(key, "\t")
		out = append(out, Scale{tenant, model, l.Calibration.Scale(key)})
	}
	return out
}

// saveTries is how often another process may come first.
const saveTries = 3

// replace writes the file, unless it is another by now than it was.
func (l *Learnt) replace(was []byte, merged learntFile) (bool, error) {
	data, err := json.Marshal(merged)
	if err != nil {
		return false, err
	}
	if bytes.Equal(append(data, '\n'), was) {
		return true, nil
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+".*") // for its owner alone
	if err != nil {
		return false, err
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	if is, bad := os.ReadFile(l.path); bad == nil && !bytes.Equal(is, was) {
		return false, os.Remove(f.Name())
	}
	if err := os.Rename(f.Name(), l.path); err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}

// keepLearnt has what this call taught kept.
func (c *recording) keepLearnt() {
	if c.r.o.Learnt == nil {
		return
	}
	if err := c.r.o.Learnt(); err != nil {
		c.r.told(c.call.ID, c.thread.Conversation, err)
	}
}

// keepWait is how long something that was learnt may be known here alone.
const keepWait = time.Minute

// keepSoon has what was learnt kept, with all that comes until then.
func (r *Recorder) keepSoon() {
	if r.o.Learnt == nil {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.keeping == nil && !r.closed {
		r.keeping = time.AfterFunc(keepWait, r.keep)
	}
}

func (r *Recorder) keep() {
	r.changing.Lock()
	r.keeping = nil
	r.changing.Unlock()
	if err := r.o.Learnt(); err != nil {
		r.told("", "", err)
	}
}

// refresh takes up what other processes have learnt or forgotten, at most once a second.
func (r *Recorder) refresh() {
	if r.o.Refresh == nil {
		return
	}
	now, last := r.o.Now().Unix(), r.refreshed.Load()
	if now == last || !r.refreshed.CompareAndSwap(last, now) {
		return
	}
	if err := r.o.Refresh(); err != nil {
		r.told("", "", err)
	}
}

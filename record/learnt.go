package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

	mu   sync.Mutex // one Save at a time; protects base
	path string
	base learntFile // what was here when the file was last read or written
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

// maxParts is how many models the file has of each kind: clients choose their names.
const maxParts = 256

// merge is what there is here, and of what did not change here what there is in the file.
func (now parts) merge(base, file parts) parts {
	out := parts{}
	for name, part := range now {
		if in, ok := file[name]; ok && bytes.Equal(part, base[name]) {
			part = in
		}
		out[name] = part
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
	if err == nil {
		_, err = readLearnt(data)
	}
	s := struct {
		Limits      *view.Limits
		Calibration *token.Calibration
	}{new(view.Limits), new(token.Calibration)}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return l, fmt.Errorf("%s is damaged and left out of account, limits and calibration are learnt anew: %w", path, err)
	}
	if s.Limits != nil { // null: none was learnt
		l.Limits = s.Limits
	}
	if s.Calibration != nil {
		l.Calibration = s.Calibration
	}
	l.base, err = l.present()
	return l, err
}

func readLearnt(data []byte) (f learntFile, err error) {
	if err = json.Unmarshal(data, &f); err == nil && f.V != 1 {
		err = fmt.Errorf("version %d, this program knows 1", f.V)
	}
	return f, err
}

// present is what is known here.
func (l *Learnt) present() (f learntFile, err error) {
	data, err := json.Marshal(struct {
		V           int                `json:"v"`
		Limits      *view.Limits       `json:"limits"`
		Calibration *token.Calibration `json:"calibration"`
	}{1, l.Limits, l.Calibration})
	if err != nil {
		return f, err
	}
	return readLearnt(data)
}

// Save writes the file: whole, or not at all.
func (l *Learnt) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := l.present()
	if err != nil {
		return err
	}
	for range saveTries {
		was, err := os.ReadFile(l.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep what was learnt: %w", err)
		}
		file, err := readLearnt(was)
		if err != nil {
			file = learntFile{} // it is written over
		}
		merged := now
		merged.Limits.Tokens = now.Limits.Tokens.merge(l.base.Limits.Tokens, file.Limits.Tokens)
		merged.Limits.Binds = now.Limits.Binds.merge(l.base.Limits.Binds, file.Limits.Binds)
		merged.Calibration = now.Calibration.merge(l.base.Calibration, file.Calibration)
		done, err := l.replace(was, merged)
		if err != nil {
			return fmt.Errorf("keep what was learnt: %w", err)
		}
		if done {
			l.base = now
			break
		}
	}
	return nil // else the next Save has it
}

// saveTries is how often another process may come first.
const saveTries = 3

// replace writes the file, unless it is another by now than it was.
func (l *Learnt) replace(was []byte, merged learntFile) (bool, error) {
	data, err := json.Marshal(merged)
	if err != nil {
		return false, err
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

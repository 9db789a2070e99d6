package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Learnt holds what refusals and usage reports taught about providers: the limits of
// their models and how they count. A file keeps it across restarts. Several processes may
// share the file: Save applies what was learnt here to what the file has by then, so that
// nothing that another process learnt is lost. Learnt is safe for concurrent use.
type Learnt struct {
	Limits      *Limits
	Calibration *Calibration

	mu    sync.Mutex // one Save at a time; protects what follows
	place LearntPlace
	last  []byte // the file when it was last read or written
	seen  string // its stamp then
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

// OpenLearnt reads the file; see OpenLearntAt.
func OpenLearnt(path string) (*Learnt, error) { return OpenLearntAt(learntPath(path)) }

// OpenLearntAt reads a place. One that is missing or cannot be read counts as empty;
// in the latter case OpenLearntAt also returns an error, for a log, and the next Save
// overwrites what is damaged.
func OpenLearntAt(place LearntPlace) (*Learnt, error) {
	l := &Learnt{Limits: &Limits{journal: true}, Calibration: &Calibration{journal: true}, place: place}
	seen := place.Stamp()
	data, err := place.Read()
	if err == nil && data == nil {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("%s cannot be read; until it can, limits and calibration are learnt anew: %w", place, err)
	}
	l.seen = seen
	s, err := readLearnt(data)
	if errors.Is(err, errOldLearnt) {
		return l, fmt.Errorf("%s is of an earlier version, whose limits were not checked; it is ignored, and limits and calibration are learnt anew", place)
	}
	if err != nil {
		return l, fmt.Errorf("%s is damaged and ignored; limits and calibration are learnt anew: %w", place, err)
	}
	l.adopt(s, data)
	return l, nil
}

// learntVersion is the version of the file. Version 1 held limits that a single refusal had
// taught, for all tenants.
const learntVersion = 2

var errOldLearnt = errors.New("version 1")

// state is the content of the file; docs/reference/format/calls.md describes it.
type state struct {
	V           int          `json:"v"`
	Limits      *Limits      `json:"limits"`
	Calibration *Calibration `json:"calibration,omitempty"`
}

func emptyState() state { return state{learntVersion, new(Limits), new(Calibration)} }

// readLearnt returns the state that data holds; an empty one if it is nil.
func readLearnt(data []byte) (state, error) {
	s := emptyState()
	if data == nil {
		return s, nil
	}
	var version struct{ V int }
	if err := json.Unmarshal(data, &version); err != nil {
		return s, err
	}
	switch version.V {
	case learntVersion:
		if err := json.Unmarshal(data, &s); err != nil {
			return emptyState(), err
		}
		if s.Limits == nil || s.Calibration == nil { // null
			return emptyState(), nil
		}
		return s, nil
	case 1:
		return s, errOldLearnt
	}
	return s, fmt.Errorf("version %d, this program knows %d", version.V, learntVersion)
}

// Hold makes what Calibration observes count only after Save has kept it: processes that
// share the place then count alike.
func (l *Learnt) Hold() { l.Calibration.hold() }

// Save applies what was learnt here to what the file has, and writes that: whole, or not
// at all.
func (l *Learnt) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.save()
}

func (l *Learnt) save() error {
	limits, pairs := l.Limits.takeChanges(), l.Calibration.takeAdded()
	err := l.replace(func(s state) bool {
		for _, change := range limits {
			change(s.Limits)
		}
		s.Calibration.observeAll(pairs)
		return len(limits)+len(pairs) > 0
	})
	if err != nil {
		l.Limits.returnChanges(limits)
		l.Calibration.returnAdded(pairs)
		return fmt.Errorf("keep what was learnt: %w", err)
	}
	return nil
}

// saveTries bounds how often another process may be faster, saveWait the pause between two
// tries.
const (
	saveTries = 100
	saveWait  = 10 * time.Millisecond
)

// replace changes the content of the place, and adopts it. change reports whether it has
// changed anything; it may be called several times.
func (l *Learnt) replace(change func(state) bool) error {
	for try := range saveTries {
		was, err := l.place.Read()
		if err != nil {
			return err
		}
		s, bad := readLearnt(was)
		if bad != nil { // it is damaged and is overwritten
			if s, err = l.known(); err != nil {
				return err
			}
		}
		if !change(s) && bad == nil {
			l.adopt(s, was)
			return nil
		}
		data, err := json.Marshal(s)
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
		if done {
			l.seen = l.place.Stamp()
			l.adopt(s, data)
			return nil
		}
		time.Sleep(rand.N(min(time.Duration(try+1)*time.Millisecond, saveWait)))
	}
	return errors.New("other processes were faster each time")
}

// known returns a copy of what this process knows and the place has.
func (l *Learnt) known() (state, error) {
	data, err := json.Marshal(state{learntVersion, l.Limits, l.Calibration})
	if err != nil {
		return state{}, err
	}
	return readLearnt(data)
}

// adopt takes over the content of the place. What was learnt here and is not kept yet
// applies to it.
func (l *Learnt) adopt(s state, data []byte) {
	l.last = data
	l.Limits.adopt(s.Limits)
	l.Calibration.adopt(s.Calibration)
}

// Refresh adopts what other processes have learnt or forgotten if the file has changed.
func (l *Learnt) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.place.Stamp()
	if is == l.seen {
		return nil
	}
	l.seen = is // also if the file cannot be read: that is reported once
	return l.read()
}

// Reread is Refresh for processes that cannot wait until they are told of a change: it reads
// the file in any case.
func (l *Learnt) Reread() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read()
}

func (l *Learnt) read() error {
	data, err := l.place.Read()
	if err == nil && bytes.Equal(data, l.last) {
		return nil
	}
	var s state
	if err == nil {
		s, err = readLearnt(data)
	}
	if err != nil {
		return fmt.Errorf("read what other processes learnt: %w", err)
	}
	l.adopt(s, data)
	return nil
}

// Forget removes what was learnt of a model, or of all models for "all", and returns the
// number of removed limits, bindings and calibrations.
func (l *Learnt) Forget(model string) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.place == nil {
		return 0, nil // nothing is kept
	}
	forgotten := func(key string) bool {
		_, name, _ := strings.Cut(key, "\t")
		return model == "all" || name == model
	}
	err = l.save() // what is to be forgotten may not be kept yet
	if err == nil {
		err = l.replace(func(s state) bool {
			n = s.Limits.forget(forgotten) + s.Calibration.forget(forgotten)
			return n > 0
		})
	}
	if err != nil {
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
	var out []LearntScale
	for _, key := range l.Calibration.keys() {
		tenant, model, _ := strings.Cut(key, "\t")
		out = append(out, LearntScale{tenant, model, l.Calibration.Scale(key)})
	}
	return out
}

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

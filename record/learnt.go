package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
)

// Learnt is what providers have taught, kept in a file over restarts: what their models
// take, and how they count. It is safe for concurrent use.
type Learnt struct {
	Limits      *view.Limits
	Calibration *token.Calibration

	mu   sync.Mutex // one Save at a time
	path string
}

// storedLearnt is the file: docs/format/calls.md.
type storedLearnt struct {
	V           int                `json:"v"`
	Limits      *view.Limits       `json:"limits"`
	Calibration *token.Calibration `json:"calibration"`
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
	s := storedLearnt{Limits: new(view.Limits), Calibration: new(token.Calibration)}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.V != 1 {
		err = fmt.Errorf("version %d, this program knows 1", s.V)
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
	return l, nil
}

// Save writes the file: whole, or not at all.
func (l *Learnt) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err := json.Marshal(storedLearnt{1, l.Limits, l.Calibration})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+".*") // for its owner alone
	if err != nil {
		return fmt.Errorf("keep what was learnt: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		return fmt.Errorf("keep what was learnt: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
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

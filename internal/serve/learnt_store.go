package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// learntWait bounds how long reading or writing what was learnt may take. Calls wait less:
// see call.Waits.
const learntWait = 5 * time.Second

// sharedLearnt keeps what was learnt about providers in the database of the history, for
// all servers.
type sharedLearnt struct {
	where string
	// use runs do on the store that is open now, or returns why there is none.
	use func(do func(timeline.Documents) error) error
}

func (l sharedLearnt) String() string { return LearntFile + " in " + l.where }

// Stamp implements token.LearntPlace.
func (l sharedLearnt) Stamp() (stamp string) {
	_ = l.use(func(d timeline.Documents) error {
		stamp = fmt.Sprint(d.DocumentsChanged())
		return nil
	})
	return stamp
}

// Read implements token.LearntPlace.
func (l sharedLearnt) Read() (data []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), learntWait)
	defer cancel()
	err = l.use(func(d timeline.Documents) (err error) {
		data, err = d.Document(ctx, LearntFile)
		return err
	})
	return data, err
}

// Replace implements token.LearntPlace.
func (l sharedLearnt) Replace(was, data []byte) (done bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), learntWait)
	defer cancel()
	err = l.use(func(d timeline.Documents) (err error) {
		done, err = d.ReplaceDocument(ctx, LearntFile, was, data)
		return err
	})
	return done, err
}

// documents runs do on the current history, which must be in a database.
func (r *reopener) documents(do func(timeline.Documents) error) error {
	o := r.use()
	defer r.done(o)
	d, ok := o.store.(timeline.Documents)
	if !ok {
		if err := r.err(); err != nil {
			return err
		}
		return errors.ErrUnsupported
	}
	return do(d)
}

// LearntOf returns the place of a store that is open, or nil for the file in the folder.
func LearntOf(s timeline.Store, where string) token.LearntPlace {
	d, ok := s.(timeline.Documents)
	if !ok {
		return nil
	}
	return sharedLearnt{where, func(do func(timeline.Documents) error) error { return do(d) }}
}

// LearntFile is the file in the data folder with what providers taught.
const LearntFile = "learnt.json"

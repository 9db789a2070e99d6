package record

import (
	"context"
	"errors"
	"time"
)

// storeWait is how long a call waits for the store now.
func (r *Recorder) storeWait() time.Duration {
	if r.stuck.Load() {
		return min(r.o.BriefWait, r.o.StoreWait)
	}
	return r.o.StoreWait
}

// noteStore notes how the store has answered: it is stuck from when it does not, until it
// does.
func (r *Recorder) noteStore(err error) {
	r.stuck.Store(errors.Is(err, context.DeadlineExceeded))
}

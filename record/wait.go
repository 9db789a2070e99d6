package record

import (
	"context"
	"errors"
	"time"
)

// stuckWait is how long a call waits for a store that did not answer the last time, and
// for a conversation of which it sends everything anyway.
const stuckWait = 50 * time.Millisecond

// storeWait is how long a call waits for the store now.
func (r *Recorder) storeWait() time.Duration {
	if r.stuck.Load() {
		return min(stuckWait, r.o.StoreWait)
	}
	return r.o.StoreWait
}

// noteStore notes how the store has answered: it is stuck from when it does not, until it
// does.
func (r *Recorder) noteStore(err error) {
	r.stuck.Store(errors.Is(err, context.DeadlineExceeded))
}

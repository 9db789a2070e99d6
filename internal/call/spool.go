package call

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/internal/event"
)

// spooler keeps calls that the store does not accept, and writes them when it does. As
// long as one waits, further calls go behind it, so that the calls of a conversation are
// written in their order.
type spooler struct {
	*spool.Spool
	engine *Engine
	dir    string

	ctx     context.Context // ends when the engine closes
	cancel  context.CancelFunc
	ended   chan struct{}
	settled chan struct{} // closed when nothing waits, or the store has refused something
	once    sync.Once     // closes settled
}

// SpoolState describes the calls that wait on disk for the store.
type SpoolState struct {
	// Calls wait, and their files take Bytes. Newer of them were written by a newer version
	// of Oriel and wait for it.
	Calls, Newer int
	Bytes        int64
	// Lost counts calls that fitted neither into the store nor into the spool, and those
	// of the spool that could not be read or written.
	Lost int64
}

// OpenSpool begins to write what waits in a folder, and waits until what an earlier process
// left is written, so that the first calls find their conversations in the store. It gives up
// waiting when the store refuses something, and after Waits.Store.
func (r *Engine) OpenSpool(ctx context.Context, dir string, o spool.Options) {
	r.openSpool(dir, o)
	ctx, cancel := context.WithTimeout(ctx, r.o.Waits.Store)
	defer cancel()
	_ = waitFor(ctx, r.spool.settled)
}

// openSpool begins to write what waits in a folder.
func (r *Engine) openSpool(dir string, o spool.Options) {
	o.Problem = func(err error) { r.report(event.OpenStore, nil, "", fmt.Errorf("the spool in %s: %w", dir, err)) }
	found := spool.Open(dir, o)
	s := &spooler{Spool: found, engine: r, dir: dir, ended: make(chan struct{}), settled: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	r.spool = s
	if n := found.Stats().Entries; n > 0 {
		r.o.Log.Warn("calls that the store did not accept earlier are written now", "calls", n, "folder", dir)
	} else {
		s.settle()
	}
	go s.drain()
}

func (s *spooler) settle() { s.once.Do(func() { close(s.settled) }) }

// save writes a call to the store, or puts it behind those that wait. It leaves the store to
// drain while the queue is crowded: a queue that is full refuses calls, and those are lost.
func (s *spooler) save(w *write) (spooled bool, err error) {
	if s.Stats().Entries == 0 && !s.engine.queue.crowded() {
		if err = s.engine.try(w, s.engine.o.Waits.Spool); err == nil || isFinal(err) {
			return false, err
		}
	}
	e, bad := w.spooled()
	if bad == nil {
		bad = s.Append(e)
	}
	if bad != nil {
		return false, fmt.Errorf("the call is lost: %w", errors.Join(err, bad))
	}
	if err != nil {
		s.engine.report(event.OpenStore, &Request{ID: w.id, Tenant: w.tenant}, w.conversation,
			fmt.Errorf("%w; the call waits on this machine's disk until the store accepts it", err))
	}
	return true, nil
}

const (
	// maxDrained is how many calls are written together, and drainers at how many
	// conversations at a time.
	maxDrained, drainers = 32, 8
	// minDrainPause and maxDrainPause are how long a store that accepts nothing is left
	// alone.
	minDrainPause, maxDrainPause = 50 * time.Millisecond, 2 * time.Second
)

// drain writes what waits until the engine closes. A store that accepts nothing is asked
// again after a while.
func (s *spooler) drain() {
	defer close(s.ended)
	pause, wait := minDrainPause, s.engine.o.Waits.Spool
	for {
		found, err := s.First(s.ctx, maxDrained)
		if err != nil {
			return // the engine closes, and nothing waits
		}
		n := s.write(found, wait)
		s.Done(n)
		if s.Stats().Entries == 0 {
			s.settle()
		}
		if n > 0 {
			pause = minDrainPause
			continue
		}
		wait = min(2*wait, s.engine.o.Waits.Write) // the store may be slow
		s.settle()
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, maxDrainPause)
	}
}

// write writes calls, those of one conversation in their order, each within wait, and
// returns how many of the first need not wait any more.
func (s *spooler) write(found []spool.Entry, wait time.Duration) (n int) {
	settled := make([]bool, len(found))
	groups := map[string][]int{}
	var order []string
	writes := make([]*write, len(found))
	newer := make([]error, len(found))
	for i, e := range found {
		w, err := readSpooled(e, s.engine.o.Store)
		if errors.Is(err, errNewer) {
			newer[i] = err
			continue
		}
		if err != nil {
			s.lose(&write{}, err)
			settled[i] = true
			continue
		}
		writes[i] = w
		key := queueKey(w.tenant, w.conversation)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, drainers)
	for _, key := range order {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for _, i := range groups[key] {
				if settled[i] = s.writeOne(writes[i], wait); !settled[i] {
					return
				}
			}
		})
	}
	wg.Wait()
	// A call of a newer version is set aside only if no other waits before it: all that come
	// after one that waits are found again.
	for n < len(settled) && (settled[n] || newer[n] != nil && s.keep(found[n], newer[n])) {
		n++
	}
	return n
}

// keep sets aside a call that only a newer version can read, and reports whether it could.
func (s *spooler) keep(e spool.Entry, err error) bool {
	if bad := s.Keep(e); bad != nil {
		s.engine.report(event.OpenStore, nil, "", fmt.Errorf("the spool in %s: %w", s.dir, bad))
		return false
	}
	s.engine.report(event.OpenStore, nil, "", fmt.Errorf("%w; it stays in %s until that version is started", err,
		s.dir))
	return true
}

// writeOne writes a call and reports whether it need not wait any more.
func (s *spooler) writeOne(w *write, wait time.Duration) bool {
	err := s.engine.try(w, wait)
	switch {
	case err == nil:
		s.engine.counters.Written.Add(1)
	case isFinal(err):
		s.lose(w, err)
	default:
		return false
	}
	return true
}

// lose reports and counts a call that no store accepts.
func (s *spooler) lose(w *write, err error) {
	s.engine.lost.Add(1)
	s.engine.failOpen(event.OpenStore, &Request{ID: w.id, Tenant: w.tenant}, w.conversation,
		fmt.Errorf("a call of the spool is lost: %w", err))
}

// shutDown writes what waits, if the store accepts it, and gives up the spool.
func (s *spooler) shutDown(ctx context.Context) error {
	s.cancel()
	err := waitFor(ctx, s.ended)
	if n := s.Stats().Entries; n > 0 {
		s.engine.o.Log.Error("calls wait on disk for the store: the next process writes them", "calls", n, "folder",
			s.dir)
	}
	return errors.Join(err, s.Close())
}

// Spool returns the state of the spool.
func (r *Engine) Spool() SpoolState {
	state := SpoolState{Lost: r.lost.Load()}
	if r.spool != nil {
		found := r.spool.Stats()
		state.Calls, state.Newer, state.Bytes = found.Entries+found.Kept, found.Kept, found.Bytes
	}
	return state
}

// waiting returns the error of a store for which calls wait, or nil. Calls of a newer version
// do not wait for the store.
func (r *Engine) waiting() error {
	state := r.Spool()
	if state.Calls == state.Newer {
		return nil
	}
	err := fmt.Errorf("%d calls wait on this machine's disk (%d bytes in %s) until the store accepts them", state.Calls,
		state.Bytes, r.spool.dir)
	if last := r.lastError.Load(); last != nil {
		err = fmt.Errorf("%w: %w", err, *last)
	}
	return err
}

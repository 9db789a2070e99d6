// Package lines writes lines for a reader that may be slow, stuck or gone, without ever
// making the caller wait.
//
// A Writer has a bounded queue and one goroutine that writes. A line that follows a write
// within 5 ms waits for the rest of them, so that lines that come quickly are written
// together. Lines that find the queue full, or that cannot be written, are dropped and
// counted. After the next successful write, a note with the count marks the gap.
//
// A write that never returns, as to a pipe that nobody reads, blocks only that goroutine;
// Close waits for it no longer than its argument.
package lines

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultLimit is the default size of a queue in bytes. A batch that is being written
// counts separately, so a Writer holds at most twice as much.
const DefaultLimit = 1 << 20

// Options of a Writer; the zero value is useful.
type Options struct {
	// Limit is the size of the queue in bytes; 0 means DefaultLimit.
	Limit int
	// Note returns the line that reports how many lines are missing, with its newline. If
	// it is nil, no line does.
	Note func(dropped int64) []byte
}

// Writer accepts lines, one per call of Write. It is safe for concurrent use.
type Writer struct {
	out   io.Writer
	limit int
	note  func(int64) []byte
	wake  chan struct{} // has room for one
	ended chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // protects what follows
	queue   [][]byte
	size    int   // bytes in queue
	batch   int   // lines that are being written
	missing int64 // dropped since the last note
	dropped int64 // since the beginning
	err     error // of the first line that could not be written
	closed  bool
	due     time.Time   // when the next line may be written
	timer   *time.Timer // signals then; nil if nothing waits for it
}

const (
	// pause is the least time between the writes of two batches.
	pause = 5 * time.Millisecond
	// together is how many bytes of lines go into one write; a pipe takes as many at
	// once.
	together = 4096
)

// New returns a Writer to out and starts its goroutine, which Close ends. Nothing else
// may write to out until then.
func New(out io.Writer, o Options) *Writer {
	w := &Writer{out: out, limit: o.Limit, note: o.Note, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if w.limit <= 0 {
		w.limit = DefaultLimit
	}
	go w.run()
	return w
}

// Write queues a copy of p, which is one line or several that belong together, or drops
// it. It never waits and never fails.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.size+len(p) > w.limit {
		w.drop(1)
		w.signalWhenDue() // the note need not wait for another line
		return len(p), nil
	}
	w.queue = append(w.queue, append([]byte(nil), p...))
	w.size += len(p)
	w.signalWhenDue()
	return len(p), nil
}

// signalWhenDue wakes the goroutine when the next line may be written.
func (w *Writer) signalWhenDue() {
	left := time.Until(w.due)
	switch {
	case left <= 0:
		w.signal()
	case w.timer == nil:
		w.timer = time.AfterFunc(left, func() {
			w.mu.Lock()
			w.timer = nil
			w.mu.Unlock()
			w.signal()
		})
	}
}

// drop counts lines that are lost.
func (w *Writer) drop(n int64) {
	w.missing += n
	w.dropped += n
}

// signal wakes the goroutine.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
}

// Dropped returns how many lines were dropped since the beginning.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// run writes batches until the Writer is closed and its queue is empty.
func (w *Writer) run() {
	defer close(w.ended)
	for range w.wake {
		for {
			batch, missing, last := w.dequeue()
			w.writeAll(batch)
			if missing > 0 {
				w.report(missing)
			}
			if last {
				return
			}
			if len(batch) == 0 {
				break
			}
		}
	}
}

// dequeue returns the queued lines, and how many are missing after them.
func (w *Writer) dequeue() (batch [][]byte, missing int64, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, w.queue, w.size, w.batch = w.queue, nil, 0, len(w.queue)
	missing, w.missing = w.missing, 0
	if len(batch) > 0 {
		w.due = time.Now().Add(pause)
	}
	return batch, missing, w.closed
}

// writeAll writes lines, several at once if they are short.
func (w *Writer) writeAll(batch [][]byte) {
	for len(batch) > 0 {
		n, size := 1, len(batch[0])
		for n < len(batch) && size+len(batch[n]) <= together {
			size += len(batch[n])
			n++
		}
		batch = batch[w.write(batch[:n]):]
	}
}

// write writes lines at once, counts one that fails as dropped, and returns how many are
// done.
func (w *Writer) write(batch [][]byte) (done int) {
	text := batch[0]
	if len(batch) > 1 {
		text = bytes.Join(batch, nil)
	}
	n, err := w.out.Write(text)
	if done = len(batch); err != nil {
		for done = 1; done < len(batch) && n >= len(batch[done-1]); done++ {
			n -= len(batch[done-1])
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch -= done
	if err != nil {
		w.drop(1)
		if w.err == nil {
			w.err = err
		}
	}
	return done
}

// report writes the note about missing lines. If that fails, the next note includes their
// number.
func (w *Writer) report(missing int64) {
	if w.note == nil {
		return
	}
	if _, err := w.out.Write(w.note(missing)); err != nil {
		w.mu.Lock()
		w.missing += missing
		w.mu.Unlock()
	}
}

// Close drops later lines, waits up to wait for queued lines to be written, and returns
// an error if any lines were dropped since the beginning. If the wait ends first, the
// goroutine is left with its write.
func (w *Writer) Close(wait time.Duration) error {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var left int64
	select {
	case <-w.ended:
	case <-timer.C:
		w.mu.Lock()
		left = int64(len(w.queue) + w.batch)
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n := w.dropped + left; {
	case n == 0:
		return nil
	case w.err != nil:
		return fmt.Errorf("%d lines were dropped, the first because: %w", n, w.err)
	default:
		return fmt.Errorf("%d lines were dropped: nobody read them", n)
	}
}

package sqlite

import (
	"context"
	"time"
)

// Deleted bytes stay in the write-ahead log, and their pages in the file,
// until the log is written back and emptied. A reader of an older state
// prevents that. Therefore a deletion sets a mark in its transaction, the
// setting "uncleared", which is removed when the bytes are gone. Every process
// that writes looks for it, whichever process set it.

const (
	// clearWait is how long a deletion waits for readers.
	clearWait = 2 * time.Second
	// clearEvery is how often other work tries to clear.
	clearEvery = time.Second
	// clearPatience is how long after a failed wait no deletion waits again,
	// so that many deletions beside one reader do not take clearWait each.
	clearPatience = 10 * time.Second
)

// markUncleared sets the mark within the transaction of a deletion. Epochs
// rise, so that marks differ.
func (w *writer) markUncleared() error {
	_, err := w.exec(
		"INSERT INTO setting (name, value) VALUES ('uncleared', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
		w.epoch)
	w.uncleared = w.epoch
	return err
}

// clearLog writes the log back and empties it, so that neither file contains
// deleted bytes, and removes the mark. It reports whether the bytes are gone.
// No transaction may be open.
func (w *writer) clearLog() bool {
	mark := w.uncleared
	w.tried = w.clock.now()
	busy, found, err := w.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil || !found || busy != 0 {
		return false
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return true // the mark stays, and costs another attempt
	}
	if err := w.refresh(); err != nil {
		w.rollback()
		return true
	}
	// A later deletion has its own mark.
	if _, err := w.exec("DELETE FROM setting WHERE name = 'uncleared' AND value <= ?", mark); err != nil {
		w.rollback()
		return true
	}
	if w.commit() == nil && w.uncleared <= mark {
		w.uncleared = 0
	}
	return true
}

// clearLater calls clearLog if there is something to clear and it was not
// tried just now.
func (w *writer) clearLater() {
	if w.uncleared != 0 && w.clock.now().Sub(w.tried) > clearEvery {
		w.clearLog()
	}
}

// awaitClear tries to clear for as long as a deletion waits; others get their
// turns at the writer meanwhile. It reports whether the bytes are gone.
func (w *writer) awaitClear(ctx context.Context) bool {
	start, clear, wait := w.clock.now(), false, false
	for delay := 2 * time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		over := false
		if err := w.perform(&task{ctx: ctx, alone: func() error {
			clear = w.uncleared == 0 || w.clearLog()
			now := w.clock.now()
			wait, over = now.Sub(w.gaveUp) > clearPatience, now.Sub(start) >= clearWait
			if !clear && over {
				w.gaveUp = now
			}
			return nil
		}}); err != nil || clear || !wait || over {
			return clear
		}
		if w.clock.pause(ctx, delay) != nil {
			return false
		}
	}
}

// clock is the source of time for clearing.
type clock struct {
	now   func() time.Time
	pause func(context.Context, time.Duration) error
}

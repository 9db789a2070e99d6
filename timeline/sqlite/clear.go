package sqlite

import (
	"context"
	"time"
)

// What is deleted stays in the write-ahead log, and its pages in the file, until the
// log is written back and emptied, which somebody who reads an older state prevents.
// Therefore a deletion leaves a mark in the same transaction, the setting
// "uncleared", which goes when the bytes are gone. Every process that writes looks
// for it, whoever made it.

const (
	// clearWait is how long a deletion waits for those who read.
	clearWait = 2 * time.Second
	// clearEvery is how often the clearing is tried beside other work.
	clearEvery = time.Second
	// clearPatience is for how long after a wait in vain nobody waits again, so
	// that many deletions beside one reader do not take clearWait each.
	clearPatience = 10 * time.Second
)

// markUncleared leaves the mark, in the transaction of a deletion. Epochs rise, so
// that one mark is told from another.
func (w *writer) markUncleared() error {
	_, err := w.exec("INSERT INTO setting (name, value) VALUES ('uncleared', ?) ON CONFLICT DO UPDATE SET value = excluded.value", w.epoch)
	w.uncleared = w.epoch
	return err
}

// clearLog has the log written back and emptied, so that what was deleted is in
// neither file any more, and takes the mark away. It tells whether the bytes are
// gone. There must be no transaction.
func (w *writer) clearLog() bool {
	mark := w.uncleared
	w.tried = w.clock.now()
	busy, found, err := w.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil || !found || busy != 0 {
		return false
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return true // the mark stays, and costs another try
	}
	if err := w.refresh(); err != nil {
		w.rollback()
		return true
	}
	// Another deletion since then has its own mark.
	if _, err := w.exec("DELETE FROM setting WHERE name = 'uncleared' AND value <= ?", mark); err != nil {
		w.rollback()
		return true
	}
	if w.commit() == nil && w.uncleared <= mark {
		w.uncleared = 0
	}
	return true
}

// clearLater is clearLog where there is something to clear and it has not been tried
// just now.
func (w *writer) clearLater() {
	if w.uncleared != 0 && w.clock.now().Sub(w.tried) > clearEvery {
		w.clearLog()
	}
}

// awaitClear tries until the bytes are gone, for as long as a deletion waits; others
// have their turns at the writer meanwhile. It tells whether the bytes are gone.
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

// clock is the time by which bytes are cleared.
type clock struct {
	now   func() time.Time
	pause func(context.Context, time.Duration) error
}

package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress shows on a terminal how far a long command is. Its methods do
// nothing elsewhere.
type Progress struct {
	out   io.Writer // nil if nobody watches
	what  string
	start time.Time
	// Things reports that things are counted and not bytes.
	Things bool

	mu    sync.Mutex // protects all below
	from  int64      // what was done already when the first update came; -1 before it
	drawn time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	// drawEvery limits how often the bar is drawn.
	drawEvery = 100 * time.Millisecond
	// Commands that end within quiet show no bar.
	quiet = 300 * time.Millisecond
	// leastRate is how long a rate is measured before it says how much time is left.
	leastRate = 3 * time.Second
)

// NewProgress returns a progress that draws on out if that is a terminal.
func NewProgress(out io.Writer, what string) *Progress {
	p := &Progress{what: what, start: time.Now(), from: -1}
	if IsTerminal(out) {
		p.out = out
	}
	return p
}

// Update sets how many bytes of the total are done; a total of 0 means
// unknown.
func (p *Progress) Update(done, total int64) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from < 0 {
		p.from = done
	}
	now := time.Now()
	if now.Sub(p.start) < quiet || now.Sub(p.drawn) < drawEvery {
		return
	}
	p.drawn = now
	fmt.Fprintf(p.out, "\r\x1b[K%s", p.line(done, total, now.Sub(p.start)))
}

// line returns the bar for one moment.
func (p *Progress) line(done, total int64, took time.Duration) string {
	if total <= 0 {
		return fmt.Sprintf("%s … %.0f s", p.what, took.Seconds())
	}
	done = min(done, total)
	const width = 24
	full := Bar(int(done*1000/total), 1000, width)
	rate := float64(done-min(max(p.from, 0), done)) / max(took.Seconds(), 0.001)
	left := ""
	if rate > 0 && took > leastRate {
		left = ", " + (time.Duration(float64(total-done) / rate * float64(time.Second))).Round(time.Second).String() +
			" left"
	}
	size := Bytes
	if p.Things {
		size = func(n int64) string { return Thousands(int(n)) }
	}
	return fmt.Sprintf("%s %s%s %3d%%  %s of %s, %s/s%s", p.what, full, strings.Repeat("·", width-len([]rune(full))),
		100*done/total,
		size(done), size(total), size(int64(rate)), left)
}

// Watch calls ask for the progress repeatedly, until end.
func (p *Progress) Watch(ask func() (done, total int64)) {
	if p.out == nil {
		return
	}
	p.stop = make(chan struct{})
	p.ended.Go(func() {
		tick := time.NewTicker(drawEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Update(ask())
			case <-p.stop:
				return
			}
		}
	})
}

// End removes the bar.
func (p *Progress) End() {
	if p.out == nil {
		return
	}
	if p.stop != nil {
		close(p.stop)
		p.ended.Wait()
		p.stop = nil
	}
	if !p.drawn.IsZero() {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

package replicas

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// watcher looks at the replicas while faults happen.
type watcher struct {
	replicas []*replica
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu        sync.Mutex // protects what follows
	degraded  []time.Duration
	longest   time.Duration
	mostCalls int
}

// watchEvery is how often a replica is asked how it is.
const watchEvery = 100 * time.Millisecond

func (t *trial) watch() *watcher {
	w := &watcher{replicas: t.many, stop: make(chan struct{}), degraded: make([]time.Duration, len(t.many))}
	for i, r := range t.many {
		w.stopped.Go(func() { w.look(i, r) })
	}
	return w
}

// look adds up how long calls waited on the disk of a replica.
func (w *watcher) look(i int, r *replica) {
	var since time.Time
	last := time.Now()
	for {
		select {
		case <-w.stop:
			return
		case <-time.After(watchEvery):
		}
		waiting, err := r.waiting()
		now := time.Now()
		if err != nil { // it was killed
			last = now
			continue
		}
		w.mu.Lock()
		if waiting == 0 {
			since = time.Time{}
		} else {
			if since.IsZero() {
				since = last
			}
			w.degraded[i] += now.Sub(last)
			w.longest = max(w.longest, now.Sub(since))
			w.mostCalls = max(w.mostCalls, waiting)
		}
		w.mu.Unlock()
		last = now
	}
}

// report prints what was seen. drained is how long the last fault was felt after the load.
func (w *watcher) report(drained time.Duration) {
	close(w.stop)
	w.stopped.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum time.Duration
	for _, d := range w.degraded {
		sum += d
	}
	fmt.Printf("calls waited on the disks of replicas for %.1f s in all, %.1f s at most at a time, %d of them at most on one disk; drained %.1f s after the last call\n",
		sum.Seconds(), w.longest.Seconds(), w.mostCalls, drained.Seconds())
}

// report prints how long clients waited for answers.
func (l *load) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Printf("%d calls answered, %d asked again of another replica; %s\n", l.answered.Load(), l.resent.Load(),
		quantiles(l.waits))
	fmt.Printf("%d calls during faults; %s\n", len(l.within), quantiles(l.within))
}

// quantiles describes how long calls took.
func quantiles(waits []time.Duration) string {
	if len(waits) == 0 {
		return "-"
	}
	slices.Sort(waits)
	at := func(part float64) float64 { return waits[int(part*float64(len(waits)-1))].Seconds() }
	return fmt.Sprintf("a call took %.2f s at the median, %.2f s at 99 %%, %.2f s at most", at(0.5), at(0.99), at(1))
}

var spoolCalls = regexp.MustCompile(`(?m)^oriel_spool_calls (\d+)`)

// waiting returns how many calls wait on the disk of the replica.
func (r *replica) waiting() (int, error) {
	res, err := client.Get(r.base + "/oriel/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	found := spoolCalls.FindSubmatch(data)
	if found == nil {
		return 0, fmt.Errorf("%s has no oriel_spool_calls", r.name)
	}
	return strconv.Atoi(string(found[1]))
}

// health returns nil if the server says that all is well.
func (r *replica) health() error {
	res, err := client.Get(r.base + "/oriel/healthz")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var health struct{ Status, Error string }
	if err := json.NewDecoder(res.Body).Decode(&health); err != nil {
		return err
	}
	if health.Status != "ok" {
		return fmt.Errorf("%s: %s", health.Status, health.Error)
	}
	return nil
}

package replicas

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// fault is something that happens to the replicas or their database under load.
type fault struct {
	name  string
	times int
	begin func() error
	// end is called when calls were answered for a while; nil: the fault is over.
	end func() error
}

// load is what clients see while faults happen.
type load struct {
	answered, resent atomic.Int64
	over             atomic.Bool // no further conversation begins
	ended            chan struct{}

	fault atomic.Bool // one lasts now

	mu     sync.Mutex // protects what follows
	waits  []time.Duration
	within []time.Duration // waits of calls that began and ended during a fault
}

// underFaults sends calls to the replicas until all faults have happened, one after the
// other, and at least those of as many conversations as were asked for.
func (t *trial) underFaults() {
	l := &load{ended: make(chan struct{})}
	watching := t.watch()
	go t.put(l)
	faults := t.faults()
	total := 0
	for _, f := range faults {
		total += f.times
	}
	happened := 0
	for _, f := range faults {
		if f.times == 0 {
			continue
		}
		for n := range f.times {
			t.await(l, int64(t.conversations*t.calls*(happened+1)/(total+1)), 0)
			if err := t.happen(l, &f); err != nil {
				t.problem("%s, time %d: %v", f.name, n+1, err)
				break
			}
			happened++
		}
		fmt.Printf("%s: %d of %d times; %d calls answered so far\n", f.name, happened, total, l.answered.Load())
	}
	l.over.Store(true)
	<-l.ended
	ended := time.Now()
	t.settle()
	drained := time.Since(ended)
	watching.report(drained)
	l.report()
	if lost := l.resent.Load(); lost > 0 && t.kills == 0 {
		t.problem("%d calls lost their connection although no replica was killed", lost)
	}
}

// happen lets a fault happen, and calls go on meanwhile.
func (t *trial) happen(l *load, f *fault) error {
	if err := f.begin(); err != nil || f.end == nil {
		return err
	}
	l.fault.Store(true)
	t.await(l, l.answered.Load()+int64(t.parallel), t.hold)
	l.fault.Store(false)
	return f.end()
}

// await waits for so many answered calls in all, and for so long at least.
func (t *trial) await(l *load, answered int64, atLeast time.Duration) {
	for began := time.Now(); l.answered.Load() < answered ||
		time.Since(began) < atLeast; time.Sleep(5 * time.Millisecond) {
		select {
		case <-l.ended: // the calls failed
			return
		default:
		}
	}
}

// put sends the calls of conversation after conversation, some at a time.
func (t *trial) put(l *load) {
	defer close(l.ended)
	var group sync.WaitGroup
	slots := make(chan struct{}, t.parallel)
	begun := 0
	for ; begun < t.conversations || !l.over.Load(); begun++ {
		slots <- struct{}{}
		number := begun
		group.Go(func() {
			defer func() { <-slots }()
			t.insist(newConversation(number), rand.New(rand.NewPCG(t.seed, uint64(number))), l)
		})
		if t.failed() {
			break
		}
	}
	group.Wait()
	t.conversations = begun
}

// failed reports whether so much went wrong that the load need not go on.
func (t *trial) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.problems) >= 20
}

// insist sends the calls of a conversation, each until it is answered: again to another
// replica if the connection was lost.
func (t *trial) insist(c *conversation, random *rand.Rand, l *load) {
	c.session = true
	if c.kind == refused {
		c.kind = plain
	}
	for range t.calls {
		body := c.next()
		began, fault := time.Now(), l.fault.Load()
		for try := 0; ; try++ {
			o, err := c.send(t.many[random.IntN(len(t.many))].base, "many", body)
			if err == nil && o.status == 200 {
				break
			}
			if err == nil {
				t.problem("conversation %d, call %d: status %d: %.200s", c.number, c.turn, o.status, o.body)
				return
			}
			if try == 100 {
				t.problem("conversation %d, call %d: no replica answers: %v", c.number, c.turn, err)
				return
			}
			l.resent.Add(1)
			time.Sleep(10 * time.Millisecond) // the client's pause
		}
		l.answer(time.Since(began), fault)
		c.answered()
	}
}

func (l *load) answer(took time.Duration, fault bool) {
	l.mu.Lock()
	l.waits = append(l.waits, took)
	if fault && l.fault.Load() {
		l.within = append(l.within, took)
	}
	l.mu.Unlock()
	l.answered.Add(1)
}

// faults returns the faults that the flags ask for.
func (t *trial) faults() []fault {
	random := rand.New(rand.NewPCG(t.seed, 99))
	stops := 0
	return []fault{
		{name: "kill -9 of a replica", times: t.kills, begin: func() error {
			r := t.many[random.IntN(len(t.many))]
			r.server.Kill()
			return r.start(r.base[len("http://"):])
		}},
		{name: "stop of the database, fast and immediate in turn", times: t.stops, begin: func() error {
			if stops++; stops%2 == 1 {
				t.database.Halt()
			} else {
				t.database.Crash()
			}
			return nil
		}, end: func() error { return t.database.Start() }},
		t.failover(),
		t.fullDisk(),
		{name: fmt.Sprintf("%s of latency between replicas and database", latency), times: t.slows,
			begin: func() error { return t.delay(latency) }, end: func() error { return t.delay(t.latency) }},
		t.crowd(),
	}
}

// settle waits until nothing waits on the disks of the replicas.
func (t *trial) settle() {
	for _, r := range t.many {
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			err := r.health()
			if err == nil {
				break
			}
			if time.Since(began) > 2*time.Minute {
				t.problem("%s is not healthy two minutes after the last fault: %v", r.name, err)
				return
			}
		}
	}
}

package replicas

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// underFaults sends all calls to the replicas while these, or the database, end and come
// back.
func (t *trial) underFaults() {
	var answered, resent atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.each(func(c *conversation, random *rand.Rand) { t.insist(c, random, &answered, &resent) })
	}()
	total := int64(t.conversations * t.calls)
	faults := t.kills + t.stops
	kills, stops := 0, 0
	random := rand.New(rand.NewPCG(t.seed, 99))
	for i := 1; i <= faults; i++ {
		due := total * int64(i) / int64(faults+1)
		for ended := false; answered.Load() < due && !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond):
			}
		}
		if kills < t.kills {
			kills++
			r := t.many[random.IntN(len(t.many))]
			r.server.Kill()
			if err := r.start(r.base[len("http://"):]); err != nil {
				t.problem("start again: %v", err)
				break
			}
			continue
		}
		stops++
		t.database.Crash()
		before := answered.Load()
		for answered.Load() < min(before+int64(t.parallel), total) { // calls go on meanwhile
			select {
			case <-done:
				before = -int64(t.parallel)
			case <-time.After(time.Millisecond):
			}
		}
		if err := t.database.Start(); err != nil {
			t.problem("start the database again: %v", err)
			break
		}
	}
	<-done
	t.settle()
	fmt.Printf("%d replicas killed, the database stopped %d times; %d calls answered, %d asked again of another replica\n", kills, stops, answered.Load(), resent.Load())
}

// settle waits until nothing waits on the disks of the replicas.
func (t *trial) settle() {
	for _, r := range t.many {
		for began := time.Now(); !r.healthy(); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 2*time.Minute {
				t.problem("%s is not healthy two minutes after the last fault", r.name)
				return
			}
		}
	}
}

// healthy reports whether the server says that all is well.
func (r *replica) healthy() bool {
	res, err := client.Get(r.base + "/oriel/healthz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var health struct{ Status string }
	return json.NewDecoder(res.Body).Decode(&health) == nil && health.Status == "ok"
}

// insist sends the calls of a conversation, each until it is answered: again to another
// replica if the connection was lost.
func (t *trial) insist(c *conversation, random *rand.Rand, answered, resent *atomic.Int64) {
	c.session = true
	if c.kind == refused {
		c.kind = plain
	}
	for range t.calls {
		body := c.next()
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
			resent.Add(1)
			time.Sleep(10 * time.Millisecond) // the client's pause
		}
		answered.Add(1)
		c.answered()
	}
}

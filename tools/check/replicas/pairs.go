package replicas

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/oriel-context/oriel/wire"
)

// tally counts pairs of calls that two replicas got in the same moment.
type tally struct {
	pairs, planned, equal int // planned: both needed a new plan
	one                   int // … and use the same one
	unlike                int // only one of them did, because its newest message is longer
}

func (a *tally) String() string {
	return fmt.Sprintf("%d calls that two replicas got in the same moment: %d in the same bytes; %d with a new plan, %d by one plan; of %d others only one needed a plan", a.pairs, a.equal, a.planned, a.one, a.unlike)
}

// comparePairs sends each call of every conversation to two replicas in the same moment.
func (t *trial) comparePairs() {
	t.each(func(c *conversation, random *rand.Rand) {
		c.session = true // the same request without a name begins two conversations, by one server too
		plan := ""
		for range t.calls {
			bodies := [2][]byte{c.next()}
			same := c.turn%2 == 0 || c.turn == 1 // the first message is what tells conversations apart
			if bodies[1] = bodies[0]; !same {
				bodies[1] = c.other()
			}
			first := random.IntN(len(t.many))
			at := [2]*replica{t.many[first], t.many[(first+1+random.IntN(len(t.many)-1))%len(t.many)]}
			var got [2]*outcome
			var errs [2]error
			var group sync.WaitGroup
			for i := range got {
				group.Go(func() { got[i], errs[i] = c.send(at[i].base, fmt.Sprint("pair", i), bodies[i]) })
			}
			group.Wait()
			for i, err := range errs {
				if err == nil && got[i].status != 200 {
					err = fmt.Errorf("status %d: %.200s", got[i].status, got[i].body)
				}
				if err != nil {
					t.problem("conversation %d, call %d at %s: %v", c.number, c.turn, at[i].name, err)
					return
				}
			}
			if fresh := got[0].plan != plan; fresh != (got[1].plan != plan) && !same {
				t.mu.Lock()
				t.paired.unlike++
				t.mu.Unlock()
			} else {
				t.judgePair(c, at, got, fresh, same)
			}
			plan = got[0].plan
			c.answered()
		}
	})
}

// judgePair compares what the model got last by both calls of a pair.
func (t *trial) judgePair(c *conversation, at [2]*replica, got [2]*outcome, planned, same bool) {
	var sent [2][]byte
	for i := range sent {
		bodies := t.model.bodies(fmt.Sprint("pair", i), c.number, c.turn)
		if sent[i] = bodies[len(bodies)-1]; !same {
			sent[i] = beforeNewest(sent[i], c.anthropic)
		}
	}
	equal := bytes.Equal(sent[0], sent[1])
	t.mu.Lock()
	t.paired.pairs++
	if planned {
		t.paired.planned++
		if got[0].plan == got[1].plan {
			t.paired.one++
		}
	}
	if equal {
		t.paired.equal++
	}
	t.mu.Unlock()
	if !equal {
		n := common(sent[0], sent[1])
		t.problem("conversation %d (kind %d), call %d at %s and %s (the same: %v), plans %q and %q: they differ at %d: %.80q and %.80q", c.number, c.kind, c.turn, at[0].name, at[1].name, same, got[0].plan, got[1].plan, n, sent[0][n:], sent[1][n:])
	}
}

// beforeNewest returns what is sent before the newest message.
func beforeNewest(body []byte, anthropic bool) []byte {
	_, start := lastMessage(body, anthropic)
	return body[:start]
}

// lastMessage returns the last message of a body, and where it begins.
func lastMessage(body []byte, anthropic bool) (raw []byte, start int) {
	format := wire.Chat
	if anthropic {
		format = wire.Anthropic
	}
	read, err := wire.Read(body, format, wire.Limits{})
	if err != nil || len(read.Messages) == 0 {
		return nil, 0
	}
	raw = read.Messages[len(read.Messages)-1].Raw
	return raw, bytes.LastIndex(body, raw)
}

// common returns how many bytes two bodies begin with in common.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// resent counts bytes of requests that the next request had at its beginning.
type resent struct{ bytes, kept int }

func (r *resent) String() string {
	return fmt.Sprintf("%.2f %% of %.1f MB", 100*float64(r.kept)/float64(max(r.bytes, 1)), float64(r.bytes)/1e6)
}

// resend counts how much of a call's request was in the one before it.
func (t *trial) resend(c *conversation) {
	if c.turn == 1 {
		return
	}
	for i, system := range []string{"one", "many"} {
		last, now := t.model.bodies(system, c.number, c.turn-1), t.model.bodies(system, c.number, c.turn)
		if len(last) == 0 || len(now) == 0 {
			continue
		}
		was := last[len(last)-1]
		raw, start := lastMessage(was, c.anthropic)
		end := start + len(raw)
		t.mu.Lock()
		t.resent[i].bytes += end
		t.resent[i].kept += min(end, common(was, now[len(now)-1]))
		t.mu.Unlock()
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// cell holds the measurements of one contender with one kind of body.
type cell struct {
	// CPU ms per call, one for each round: of calls back to back, including
	// all work, and of spaced calls the work after the answer's end.
	busy, after []float64
	// ms, one for each call: of calls back to back until the first and the
	// last byte, of spaced calls until the last.
	first, all, apart []float64
	bad               error
}

type key struct {
	kind      string
	stream    bool
	contender string
}

// slow is how long a contender may spend on one kind of body in one round.
const slow = 2 * time.Second

func compare(folder string, rounds, calls int) error {
	all := contenders(folder)
	memory := map[string]*growth{}
	cells, err := measure(folder, all, rounds, true, func(upstream, work string) {
		for _, c := range all {
			if c.process == nil || c.down != "" || c.bypass {
				continue
			}
			fmt.Fprintf(os.Stderr, "%d calls: %s\n", calls, c.name)
			memory[c.name] = grow(c, upstream, work, calls)
		}
	})
	if err != nil {
		return err
	}
	report(os.Stdout, all, cells, memory)
	for k, c := range cells {
		if c.bad != nil && k.contender == "Oriel" {
			return fmt.Errorf("%s fails with %s: %w", k.contender, k.kind, c.bad)
		}
	}
	return nil
}

// against compares Oriel with an earlier version, in processor time per call.
func against(folder string, rounds int) error {
	all := versions(folder)
	cells, err := measure(folder, all, rounds, false, func(string, string) {})
	if err != nil {
		return err
	}
	reportAgainst(os.Stdout, all, cells)
	return nil
}

// measure starts the contenders, lets them take turns, calls then, and ends
// them. With apart it also makes spaced calls.
func measure(folder string, all []*contender, rounds int, apart bool,
	then func(upstream, work string)) (map[key]*cell, error) {
	upstream, stop, err := startUpstream(0, 0)
	if err != nil {
		return nil, err
	}
	defer stop()
	work, err := os.MkdirTemp(folder, "run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	defer func() {
		for _, c := range all {
			if c.process != nil {
				c.end(syscall.SIGKILL)
			}
		}
	}()
	for _, c := range all {
		if err := c.launch(upstream, work); err != nil {
			c.down = err.Error()
			fmt.Fprintf(os.Stderr, "%s is not measured: %v\n", c.name, err)
		}
	}
	cells := map[key]*cell{}
	for round := range rounds {
		for _, k := range kinds {
			for _, stream := range []bool{false, true} {
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, stream %t\n", round+1, rounds, k.name, stream)
				if apart {
					spaced(all, k, stream, round, cells)
				}
				busy(all, k, stream, round, cells)
			}
		}
	}
	then(upstream, work)
	return cells, nil
}

// spaced sends the same conversations through all contenders, call by call in
// turn. Each has finished its work before the next call is made, as with an
// agent.
func spaced(all []*contender, k kind, stream bool, round int, cells map[key]*cell) {
	spent := map[*contender]time.Duration{}
	after := map[*contender][]float64{}
	talks := newTalks(k, fmt.Sprintf("spaced.%d.%t", round, stream))
	for call := 0; call <= k.calls; call++ {
		for i, t := range talks {
			body, want := t.body(call, stream)
			for j := range all {
				c := all[(i+j+call)%len(all)]
				out := at(cells, k, stream, c)
				if c.down != "" || out.bad != nil || spent[c] > slow {
					continue
				}
				began := time.Now()
				took, err := c.send(k, body, want)
				if err != nil {
					out.fail(c, k, stream, err)
					continue
				}
				if c.process != nil {
					ended := c.cpu()
					c.settle()
					if call > 0 {
						after[c] = append(after[c], ms(c.cpu()-ended))
					}
				}
				spent[c] += time.Since(began)
				if call > 0 { // few of an agent's calls are the first of a conversation
					out.apart = append(out.apart, ms(took.all))
				}
			}
		}
	}
	for c, values := range after {
		at(cells, k, stream, c).after = append(at(cells, k, stream, c).after, mean(values))
	}
}

// busy sends conversations through one contender after the other, with calls
// back to back.
func busy(all []*contender, k kind, stream bool, round int, cells map[key]*cell) {
	talks := newTalks(k, fmt.Sprintf("busy.%d.%t", round, stream))
	for i := range all {
		c := all[(i+round)%len(all)]
		out := at(cells, k, stream, c)
		if c.down != "" || out.bad != nil {
			continue
		}
		settled := func() time.Duration {
			if c.process == nil {
				return 0
			}
			c.settle()
			return c.cpu()
		}
		var began time.Time
		var before time.Duration
		calls := 0
		for call := 0; call <= k.calls && (call < 2 || time.Since(began) < slow) && out.bad == nil; call++ {
			if call == 1 {
				before, began = settled(), time.Now()
			}
			for _, t := range talks {
				body, want := t.body(call, stream)
				took, err := c.send(k, body, want)
				if err != nil {
					out.fail(c, k, stream, err)
					break
				}
				if call > 0 {
					calls++
					out.first = append(out.first, ms(took.first))
					out.all = append(out.all, ms(took.all))
				}
			}
		}
		if out.bad == nil {
			out.busy = append(out.busy, ms(settled()-before)/float64(calls))
		}
	}
}

func newTalks(k kind, name string) (talks []*talk) {
	for i := range k.talks {
		talks = append(talks, newTalk(k, fmt.Sprintf("%s.%s.%d", k.words, name, i)))
	}
	return talks
}

func at(cells map[key]*cell, k kind, stream bool, c *contender) *cell {
	at := key{k.name, stream, c.name}
	if cells[at] == nil {
		cells[at] = &cell{}
	}
	return cells[at]
}

func (c *contender) send(k kind, body []byte, want string) (times, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return c.call(ctx, k.anthropic, body, want)
}

func (out *cell) fail(c *contender, k kind, stream bool, err error) {
	out.bad = err
	fmt.Fprintf(os.Stderr, "%s, %s, stream %t: %v\n", c.name, k.name, stream, err)
}

// growth is how the memory of a program grows with its calls.
type growth struct {
	starts    []float64 // seconds to the first answer
	begin     float64   // MB
	samples   []float64 // MB, after each hundredth of the calls
	calls     int
	unwilling error
}

// grow runs a new process of the contender through many calls: conversations
// of 50 calls each whose bodies grow from 20 kB to 120 kB.
func grow(c *contender, upstream, work string, calls int) *growth {
	g := &growth{starts: []float64{c.start.Seconds()}}
	starts := 7
	if c.rival {
		starts = 1
	}
	var fresh *contender
	for range starts {
		if fresh != nil {
			fresh.end(syscall.SIGKILL)
		}
		fresh = &contender{name: c.name, command: c.command, prefix: c.prefix, rival: c.rival}
		if g.unwilling = fresh.launch(upstream, work); g.unwilling != nil {
			return g
		}
		g.starts = append(g.starts, fresh.start.Seconds())
	}
	defer fresh.end(syscall.SIGKILL)
	g.begin = fresh.resident()
	patience := time.Hour
	if c.rival {
		patience = 90 * time.Second
	}
	end := time.Now().Add(patience)
	k := kind{messages: 21, size: 1000, calls: 49}
	var t *talk
	for g.calls < calls && time.Now().Before(end) {
		if g.calls%50 == 0 {
			k.anthropic = !k.anthropic
			t = newTalk(k, fmt.Sprintf("grow%d", g.calls))
		}
		body, want := t.body(g.calls%50, g.calls%2 == 0)
		if _, g.unwilling = fresh.call(context.Background(), k.anthropic, body, want); g.unwilling != nil {
			return g
		}
		if g.calls++; g.calls%max(1, calls/100) == 0 {
			g.samples = append(g.samples, fresh.resident())
		}
	}
	return g
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

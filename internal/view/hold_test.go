package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// What people bring back comes back whole, and only what must leave for it leaves, the
// oldest unpinned first and never down to the low mark; what would leave is known before.
//
// SPEC E5
func TestOnlyWhatMustLeavesForWhatComesBack(t *testing.T) {
	for _, profile := range []string{"full", "thrifty"} {
		t.Run(profile, func(t *testing.T) {
			const budget = 12_000
			s := newStage(t, Options{})
			a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: profile, Budget: budget}}
			list := []string{said("user", "we read files")}
			var c *call
			for i := 0; ; i++ {
				c = s.find(sent(list...), a)
				if err := s.show(c, a); err != nil {
					t.Fatal(err)
				}
				work := worked(fmt.Sprint("file", i), 200+100*(i%5))
				s.end(c, []byte(work[:strings.Index(work, `,{"role":"user"`)]))
				if c.Cut != nil && c.Cut.Dropped.Len() > 0 && c.After > budget*9/10 {
					break
				}
				if i > 100 {
					t.Fatal("nothing is ever cut")
				}
				list = append(list, work)
			}
			cut := c.Cut
			// The newest of what left comes back: messages older than it are in view.
			gone := cut.Hidden()
			pins := gone[len(gone)-4:]
			a.Pins = pins
			before := shownDepths(t, c)
			would, err := s.viewer.Restoring(ctx, &Input{Profile: profile, Budget: budget, Body: c.body,
				Thread: c.thread, Pins: pins, Now: s.now}, cut)
			if err != nil {
				t.Fatal(err)
			}
			again := s.find(c.body.Data(), ask{format: a.format, session: a.session, retry: true})
			if err := s.show(again, a); err != nil {
				t.Fatal(err)
			}
			if problems := judge(wire.Anthropic, again.Body); len(problems) > 0 || again.After > budget ||
				again.Refused != nil {
				t.Fatalf("%d tokens, %v, %v", again.After, problems, again.Refused)
			}
			for _, d := range pins {
				if !bytes.Contains(again.Body, c.body.Messages[d-1].Raw) {
					t.Errorf("message %d is not there as it came", d)
				}
			}
			after := shownDepths(t, again)
			var left []int
			for _, d := range before {
				if !slices.Contains(after, d) {
					left = append(left, d)
				}
			}
			if !slices.Equal(left, again.Left) || !slices.Equal(left, would.Left) ||
				again.After-c.After != would.Back-would.Lost || would.Back <= 0 || would.Lost <= 0 ||
				!slices.Equal(again.Restored, pins) {
				t.Errorf("%v left, %v were told, %v before; %v came back", left, again.Left, would, again.Restored)
			}
			if len(left) == 0 {
				t.Fatal("nothing had to leave: the test shows nothing")
			}
			// Nothing that stays is older, but for the first prompt, what is pinned, and
			// what the order of roles needs; and all of it was needed.
			for _, d := range after {
				if d > 1 && d < left[0] && !slices.Contains(pins, d) && slices.Contains(before, d) {
					t.Errorf("message %d stays, the newer %d leaves", d, left[0])
				}
			}
			counter := token.NewCounter(token.Builtin().Lookup(c.body.Model), token.Options{})
			smallest := 1 << 30
			for _, x := range chat.NewCuts(c.body.Messages, c.body.Rules()).Exchanges {
				if slices.Contains(left, x.Start+1) {
					n := 0
					for i := x.Start; i < x.End; i++ {
						n += counter.Message(&c.body.Messages[i]).Tokens
					}
					smallest = min(smallest, n)
				}
			}
			if again.After+smallest+leastTold <= budget {
				t.Errorf("%d tokens are sent and one more of %d would fit in %d", again.After, smallest, budget)
			}
		})
	}
}

// leastTold is about what the digest takes, and the room that is left for it.
const leastTold = 1024 + 256

// shownDepths are the messages of the request that a view shows.
func shownDepths(t *testing.T, c *call) (out []int) {
	t.Helper()
	for i := range c.body.Messages {
		d := i + 1
		if c.Cut == nil || !c.Cut.Dropped.Has(d) {
			out = append(out, d)
		}
	}
	return out
}

// While something that was brought back is held, a cut takes the oldest of the rest and
// leaves half of the rest's room filled: the newest work does not pay for what is held.
// The call that brings it back recalls nothing beside it.
//
// SPEC E5
func TestTheNewestWorkDoesNotPayForWhatIsHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	const budget = 12_000
	s := newStage(t, Options{})
	s.library()
	defer s.close()
	a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "full", Budget: budget}}
	list := []string{said("user", "we read files about zebras")}
	var c *call
	next := func(i int) *call {
		t.Helper()
		c = s.find(sent(list...), a)
		if err := s.show(c, a); err != nil {
			t.Fatal(err)
		}
		if problems := judge(wire.Anthropic, c.Body); len(problems) > 0 || c.After > budget {
			t.Fatalf("%d tokens, %v", c.After, problems)
		}
		if i%6 == 5 {
			s.end(c, []byte(said("assistant", fmt.Sprint("done with file", i))))
			list = append(list, said("assistant", fmt.Sprint("done with file", i)),
				said("user", fmt.Sprint("what did file", i-40, " say about zebras?")))
			return c
		}
		work := worked(fmt.Sprint("file", i), 200)
		s.end(c, []byte(work[:strings.Index(work, `,{"role":"user"`)]))
		list = append(list, work)
		return c
	}
	i := 0
	for ; ; i++ {
		if next(i); c.Cut != nil && c.Cut.Dropped.Len() > 0 && i > 40 && i%6 == 5 {
			break // the user isPlainPrompt next
		}
		if i > 200 {
			t.Fatal("nothing is ever cut")
		}
	}
	gone := c.Cut.Hidden()
	held := 0
	counter := token.NewCounter(token.Builtin().Lookup(c.body.Model), token.Options{})
	for k := len(gone) - 1; k >= 0 && held < budget/4; k-- {
		a.Pins = append(a.Pins, gone[k])
		held += counter.Message(&c.body.Messages[gone[k]-1]).Tokens
	}
	slices.Sort(a.Pins)
	i++
	if next(i); c.Recalled > 0 || len(c.Restored) == 0 {
		t.Errorf("%v come back, and %d tokens are recalled beside them", c.Restored, c.Recalled)
	}
	cuts := 0
	for end := i + 60; i < end; {
		i++
		if next(i); !c.Folded {
			continue
		}
		cuts++
		for _, d := range a.Pins {
			if !bytes.Contains(c.Body, c.body.Messages[d-1].Raw) {
				t.Fatalf("call %d: message %d is held and not there as it came", i, d)
			}
		}
		// Half of what is free, less the room for recall, which finds nothing here.
		if rest := c.After - held; rest < (budget-held)*3/8 {
			t.Errorf("call %d: a cut leaves %d tokens beside %d that are held, of %d", i, rest, held, budget)
		}
	}
	if cuts == 0 {
		t.Error("nothing was cut: the test shows nothing")
	}
}

// A cut of the whole history brings back what an earlier cut left out. The thinking that came
// since is bound to a view without that, so none of it is left.
//
// SPEC E1
func TestACutOfTheWholeHistoryHasNoBoundThinking(t *testing.T) {
	p := &play{stage: newStage(t, Options{}), ask: ask{format: wire.Anthropic, session: "s",
		Input: Input{Profile: "thrifty"}}, system: "be good"}
	c := p.find(p.body(
		strings.Fields("model=claude-fable-5-1 budget=2400 asked : u1:20 c1*=Read:a.go r1:300 c2*=Read:b.go r2:300 c3*=Read:c.go r3:20")), p.ask)
	if err := p.show(c, p.ask); err != nil {
		t.Fatal(err)
	}
	if !c.Folded {
		t.Fatal("no cut: the test shows nothing")
	}
	in := p.ask.Input
	in.Body, in.Thread, in.Now = c.body, c.thread, p.now
	s, err := p.viewer.newRequest(&in)
	if err != nil {
		t.Fatal(err)
	}
	e := s.cutAnew(ctx, c.Cut, 0)
	if e == nil || e.first == 0 ||
		!slices.ContainsFunc(e.pieces[:e.first],
			func(p wire.Piece) bool { return s.Body.Messages[p.Index].Role == chat.Assistant }) {
		t.Fatal("no reply stands before the first change: the test shows nothing")
	}
	for k := range e.pieces {
		if m := e.message(e.pieces[k]); slices.ContainsFunc(m.Parts,
			func(p chat.Part) bool { return p.Kind == chat.Thinking }) {
			t.Errorf("message %d has thinking", e.pieces[k].Index)
		}
	}
}

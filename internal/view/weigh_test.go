package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// A plan has the sizes of messages as they came, also of those that an earlier plan had
// shortened, and what it says that they lost is what the request lost.
func TestAPlanAddsUp(t *testing.T) {
	const budget = 12_000
	for _, profile := range []string{"full", "thrifty"} {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: profile, Budget: budget}}
		list := []string{said("user", "we read files")}
		cuts, twice := 0, 0
		masked := map[int]bool{}
		for i := 0; i < 100 && twice == 0; i++ {
			c := s.find(sent(list...), a)
			if err := s.show(c, a); err != nil {
				t.Fatal(err)
			}
			work := worked(fmt.Sprint("file", i), 200+100*(i%5))
			s.end(c, []byte(work[:strings.Index(work, `,{"role":"user"`)]))
			list = append(list, work)
			if !c.New {
				continue
			}
			cuts++
			p := &c.Cut.Plan
			counter := token.NewCounter(token.Builtin().Lookup(c.body.Model), token.Options{})
			lost, added := 0, 0
			for _, b := range p.Blocks {
				m := &c.body.Messages[b.Index-1]
				if n := counter.Message(m).Tokens + counter.Overhead(m).Tokens; b.Tokens != n {
					t.Errorf("message %d came with %d tokens, the plan has %d", b.Index, n, b.Tokens)
				}
				switch b.Verdict {
				case window.Fold, window.Evict:
					if masked[b.Index] {
						twice++
					}
					if b.Lost != b.Tokens {
						t.Errorf("message %d left and lost %d of %d tokens", b.Index, b.Lost, b.Tokens)
					}
				case window.Mask:
					masked[b.Index] = true
				}
				lost += b.Lost
			}
			for _, in := range p.Inserted {
				added += in.Tokens
			}
			// A text in a message counts a few tokens more or less than by itself.
			if off := p.TokensBefore - p.TokensAfter - lost + added; max(off, -off) > 8*len(p.Inserted) {
				t.Errorf("%d came, %d were sent; %d were lost, %d added: off by %d", p.TokensBefore, p.TokensAfter,
					lost, added, off)
			}
		}
		if cuts < 2 || twice == 0 {
			t.Errorf("%s: %d cuts, %d messages left after they were shortened: the test shows nothing", profile, cuts,
				twice)
		}
	}
}

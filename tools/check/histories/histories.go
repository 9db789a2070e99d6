// Package histories proves two things on recorded agent sessions: a request
// that is read and written back without a change has the same bytes, and every
// cut that the legal cuts allow makes a request that its provider accepts.
//
// For the request of every assistant turn it checks the bytes, one suffix and
// a few random sets of exchanges; for the last request of every history also
// every suffix, and each exchange left out alone. The judge is package strict,
// which shares no code with what it judges.
//
//	./scripts/check histories [-sets 4] [-seed 1] PATH…
//
// A path is a file or a folder of Claude Code sessions (*.jsonl) or tau-bench
// results (*.json). Chat histories are checked a second time as Responses
// items.
package histories

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/wire"
)

// Check checks the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("histories")
	sets := flags.Int("sets", 4, "random sets of exchanges a request")
	seed := flags.Uint64("seed", 1, "seed of the random sets")
	paths := kit.Parse(flags, args)
	total := tally{}
	err := kit.Translated(paths, func(s *transcript.Session) { total.add(check(s, *sets, *seed)) })
	if err != nil {
		return err
	}
	fmt.Printf("%d requests (%.1f MB), %d not byte-identical, %d came broken, %d cuts, %d of them invalid\n",
		total.requests, float64(total.bytes)/1e6, total.changed, total.broken, total.cuts, total.invalid)
	passed := total.requests + total.cuts - total.changed - total.invalid
	fmt.Printf("%d passed, %d failed\n", passed, total.changed+total.invalid)
	return kit.Failed(total.changed + total.invalid)
}

type tally struct{ requests, bytes, changed, broken, cuts, invalid int }

func (t *tally) add(o tally) {
	t.requests += o.requests
	t.bytes += o.bytes
	t.changed += o.changed
	t.broken += o.broken
	t.cuts += o.cuts
	t.invalid += o.invalid
}

// checker checks the requests of one session.
type checker struct {
	tally
	session *transcript.Session
	random  *rand.Rand
	sets    int
}

func check(s *transcript.Session, sets int, seed uint64) tally {
	c := &checker{session: s, random: rand.New(rand.NewPCG(seed, 0)), sets: sets}
	var last []byte
	history := 0
	for r := range s.Requests() {
		if r.History != history {
			c.thorough(last)
			history = r.History
		}
		c.request(r.Body)
		last = append(last[:0], r.Body...)
	}
	c.thorough(last)
	return c.tally
}

// request checks the bytes and some cuts of one request.
func (c *checker) request(data []byte) {
	c.requests++
	c.bytes += len(data)
	b, cuts := c.read(data)
	if b == nil {
		c.changed++
		return
	}
	out, err := b.Write(b.Whole())
	if err != nil || !bytes.Equal(out, data) {
		c.report("request %d: not the same bytes (%v)", c.requests, err)
		c.changed++
	}
	n := len(cuts.Exchanges)
	suffix := make([]bool, n)
	for i := c.random.IntN(n + 1); i < n; i++ {
		suffix[i] = true
	}
	c.cut(b, cuts, suffix)
	for range c.sets {
		want := make([]bool, n)
		share := c.random.Float64()
		for i := range want {
			want[i] = c.random.Float64() < share
		}
		c.cut(b, cuts, want)
	}
}

// thorough leaves out each exchange alone and tries every suffix.
func (c *checker) thorough(data []byte) {
	if data == nil {
		return
	}
	b, cuts := c.read(data)
	if b == nil {
		return
	}
	n := len(cuts.Exchanges)
	for i := range n {
		want := slices.Repeat([]bool{true}, n)
		want[i] = false
		c.cut(b, cuts, want)
		for j := range i {
			want[j] = false
		}
		c.cut(b, cuts, want)
	}
}

func (c *checker) read(data []byte) (*wire.Body, *chat.Cuts) {
	b, err := wire.Read(data, kit.Formats[c.session.Format], wire.Limits{})
	if err != nil {
		c.report("request %d: %v", c.requests, err)
		return nil, nil
	}
	cuts := chat.NewCuts(b.Messages, b.Rules())
	if len(cuts.Problems) > 0 {
		c.broken++
	}
	return b, cuts
}

// cut writes the legal set nearest to want and judges it.
func (c *checker) cut(b *wire.Body, cuts *chat.Cuts, want []bool) {
	c.cuts++
	keep := cuts.Keep(want)
	out, err := b.Write(b.Select(cuts.Messages(keep)))
	if err != nil || !cuts.Legal(keep) {
		c.invalid++
		c.report("request %d: a cut that is not legal (%v)", c.requests, err)
		return
	}
	for i, k := range cuts.Messages(keep) {
		if k && !bytes.Contains(out, b.Messages[i].Raw) {
			c.invalid++
			c.report("request %d: message %d changed", c.requests, i)
			return
		}
	}
	if problems := kit.Judge(b.Format, out); len(problems) > 0 && len(cuts.Problems) == 0 {
		c.invalid++
		c.report("request %d: %v", c.requests, problems[0])
	}
}

func (c *checker) report(format string, args ...any) {
	if c.changed+c.invalid < 5 {
		fmt.Fprintf(os.Stderr, "%s: %s\n", c.session.Name, fmt.Sprintf(format, args...))
	}
}

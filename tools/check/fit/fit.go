// Package fit fits the requests of recorded agent sessions to several budgets
// with every policy and judges the results: valid by the provider's rules,
// within the budget, every kept message unchanged byte for byte, and not
// changed by a second fit.
//
//	./scripts/check fit [-budgets 2000,8000] [-every 25] PATH…
//
// A path is a file or a folder of Claude Code sessions (*.jsonl) or tau-bench
// results (*.json). The last request of every history is checked, and one in
// -every of the others.
package fit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Check fits the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("fit")
	verbose := flags.Bool("v", false, "say what was refused and why")
	budgets := flags.String("budgets", "2000,8000,32000,64000,100000", "budgets in tokens")
	every := flags.Int("every", 25, "one in so many requests is checked beside the last of each history")
	policies := flags.String("policies", strings.Join(window.Policies(), ","), "policies")
	paths := kit.Parse(flags, args)
	c := checker{cache: token.NewCache(0), policies: strings.Split(*policies, ","), verbose: *verbose}
	for _, b := range strings.Split(*budgets, ",") {
		n, err := strconv.Atoi(b)
		if err != nil {
			return fmt.Errorf("budget %q: want a number of tokens", b)
		}
		c.budgets = append(c.budgets, n)
	}
	if err := kit.Translated(paths, func(s *transcript.Session) { c.session(s, *every) }); err != nil {
		return err
	}
	fmt.Printf("%d requests, %d fits (%d unchanged): %d invalid, %d over budget, %d elided because the newest turn alone is larger, %d refused because nothing fits, %d kept messages changed, %d changed by a second fit\n",
		c.requests, c.fits, c.same, c.invalid, c.over, c.elided, c.refused, c.changed, c.again)
	bad := c.invalid + c.over + c.changed + c.again
	fmt.Printf("%d passed, %d failed\n", c.fits-bad, bad)
	return kit.Failed(bad)
}

type checker struct {
	verbose                                                              bool // say what was refused and why
	cache                                                                *token.Cache
	policies                                                             []string
	budgets                                                              []int
	requests, fits, same, invalid, over, elided, refused, changed, again int
	reports                                                              int
}

func (c *checker) session(s *transcript.Session, every int) {
	var last []byte
	history, n := 0, 0
	for r := range s.Requests() {
		if r.History != history {
			c.request(s, last)
			history = r.History
		}
		if n%every == every-1 {
			c.request(s, r.Body)
		}
		n++
		last = append(last[:0], r.Body...)
	}
	c.request(s, last)
}

func (c *checker) request(s *transcript.Session, data []byte) {
	if data == nil {
		return
	}
	c.requests++
	data = bytes.Clone(data)
	for _, budget := range c.budgets {
		for _, policy := range c.policies {
			c.fit(s, data, window.Options{Format: kit.Formats[s.Format], Cache: c.cache, Budget: budget,
				Policy: policy})
		}
	}
}

func (c *checker) fit(s *transcript.Session, data []byte, o window.Options) {
	c.fits++
	out, plan, err := window.Fit(context.Background(), data, o)
	if errors.Is(err, window.ErrCannotFit) {
		c.refused++
		if c.verbose {
			fmt.Fprintf(os.Stderr, "%s, %s at %d: %v\n", s.Name, o.Policy, o.Budget, err)
		}
		return
	}
	if err != nil {
		c.invalid++
		c.report(s, o, "%v", err)
		return
	}
	if bytes.Equal(out, data) {
		c.same++
	}
	if problems := kit.Judge(o.Format, out); len(problems) > 0 {
		c.invalid++
		c.report(s, o, "%v", problems[0])
		return
	}
	b, err := wire.Read(out, o.Format, wire.Limits{})
	if err != nil {
		c.invalid++
		c.report(s, o, "%v", err)
		return
	}
	n := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{Cache: c.cache}).Request(&b.Request).Total
	if n > o.Budget || n != plan.TokensAfter {
		c.over++
		c.report(s, o, "%d tokens, the plan says %d", n, plan.TokensAfter)
	}
	c.bytes(s, o, data, out, plan)
	o2 := o
	if twice, _, err := window.Fit(context.Background(), out, o2); err != nil || !bytes.Equal(twice, out) {
		c.again++
		c.report(s, o, "a second fit changes it (%v)", err)
	}
}

// bytes checks that what the plan keeps is unchanged.
func (c *checker) bytes(s *transcript.Session, o window.Options, data, out []byte, plan *window.Plan) {
	b, err := wire.Read(data, o.Format, wire.Limits{})
	if err != nil {
		return
	}
	inserted := map[int]bool{}
	for _, in := range plan.Inserted {
		inserted[in.Into] = true
	}
	for _, k := range plan.Blocks {
		switch {
		case k.Verdict == window.Trim:
			c.elided++
		case k.Verdict == window.Keep && !inserted[k.Index] && !bytes.Contains(out, b.Messages[k.Index].Raw):
			c.changed++
			c.report(s, o, "message %d was kept and changed", k.Index)
			return
		}
	}
}

func (c *checker) report(s *transcript.Session, o window.Options, format string, args ...any) {
	if c.reports++; c.reports <= 20 {
		fmt.Fprintf(os.Stderr, "%s, %s at %d: %s\n", s.Name, o.Policy, o.Budget, fmt.Sprintf(format, args...))
	}
}

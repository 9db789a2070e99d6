package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/test/strict"
)

// judge fills in the results and says what is wrong.
func (s *seat) judge(list continued) {
	roots, others := map[string]bool{}, map[string]bool{}
	previous := map[string]*programCall{} // the last one of a session
	for i := range s.calls {
		c := &s.calls[i]
		if c.sent == nil {
			s.problem("call %d did not arrive (status %d, %s)", i+1, c.status, c.path)
			continue
		}
		s.compareReply(i+1, c)
		for _, p := range append(strict.SameThinking(c.came, c.sent), strict.KeptReasoning(c.came, c.sent)...) {
			s.problem("call %d: %s", i+1, p)
		}
		if c.conversation == "" && c.kind != aside {
			s.problem("call %d was not recorded (status %d, %s)", i+1, c.status, c.path)
		}
		switch n := tokens(c.sent); c.kind {
		case summary:
			if !bytes.Equal(c.came, c.sent) {
				s.shortened++
				s.problem("call %d asks for a summary of the conversation: %d tokens of %d were sent", i+1, n,
					tokens(c.came))
			}
			continue
		case asks:
			if bytes.Contains(c.sent, []byte(needle)) {
				s.recalled++
			} else {
				s.problem("call %d asks for the fact, which is not in the %d tokens that were sent", i+1, n)
			}
		}
		s.largest, s.came = max(s.largest, tokens(c.sent)), max(s.came, tokens(c.came))
		if c.kind == turn || c.kind == asks {
			root := list.root(c.conversation)
			if before := previous[root]; before != nil {
				s.compare(before, c)
			}
			previous[root] = c
		}
		switch root := list.root(c.conversation); c.kind {
		case turn, asks:
			roots[root] = true
		case other:
			others[root] = true
			if bytes.Contains(c.sent, []byte(needle)) {
				s.problem("call %d is of another session, and has the fact of this one", i+1)
			}
		}
	}
	for root := range others {
		if roots[root] {
			s.problem("another session was taken for this one, %s", root)
		}
	}
	if len(others) == 0 {
		s.problem("the program began no other session: …%s", s.output[max(0, len(s.output)-400):])
	}
	if s.breaks > s.cuts+s.own {
		s.problem("the beginning of a prompt changed %d times, with %d cuts and %d changes by the program", s.breaks,
			s.cuts, s.own)
	}
	for _, c := range s.calls {
		if c.kind == asks {
			s.asked++
		}
	}
	if s.sessions = len(roots); s.sessions != 1 {
		s.problem("one session is %d, without calls of other kinds", s.sessions)
	}
	if s.largest > s.program.budget*23/20 { // tools and repeated words have more than four bytes a token
		s.problem("a body has %d tokens, with a budget of %d", s.largest, s.program.budget)
	}
	if s.model.step != s.program.parts {
		s.problem("%d of %d parts were read: …%s", s.model.step, s.program.parts, s.output[max(0, len(s.output)-400):])
	}
	if s.asked < s.program.asked { // some ask again
		s.problem("the program asked for the fact %d times, not %d: …%s", s.asked, s.program.asked,
			s.output[max(0, len(s.output)-400):])
	}
	if s.program.sockets && s.sockets == 0 {
		s.problem("the program did not ask for a WebSocket: the run proves nothing about it")
	}
	if s.program.compacts && s.model.summaries == 0 {
		s.problem("the program did not ask for a summary: the run proves nothing about it")
	}
}

// compare counts whether a call changes the beginning of the prompt before it, as it was sent and as
// the program wrote it.
func (s *seat) compare(before, c *programCall) {
	begins := func(a, b []byte) bool {
		was, _ := prompt(a)
		now, _ := prompt(b)
		return float64(shared(was, now)) >= breakAt*float64(len(was))
	}
	if !begins(before.sent, c.sent) {
		s.breaks++
	}
	if !begins(before.came, c.came) {
		s.own++
	}
}

// compareReply compares a reply with what the model said; a program may leave before its end.
func (s *seat) compareReply(n int, c *programCall) {
	if c.said == nil || c.kind == aside {
		return
	}
	s.replies++
	said, heard := c.said.text(), c.heard.text()
	if heard != "" && strings.HasPrefix(said, heard) {
		s.same++
		return
	}
	s.problem("call %d: the reply of %d bytes came as %d others", n, len(said), len(heard))
}

// judgeUsage compares the sums of oriel usage with what the model reported.
func (s *seat) judgeUsage() error {
	out, err := exec.CommandContext(ctx, s.oriel, "usage", "--json", "--data", s.data()).Output()
	if err != nil {
		return fmt.Errorf("oriel usage: %w", err)
	}
	var sum usageSums
	for line := range bytes.Lines(out) {
		var u usageSums
		if err := json.Unmarshal(line, &u); err != nil {
			return fmt.Errorf("oriel usage: %w", err)
		}
		sum.Input, sum.CacheRead, sum.Output = sum.Input+u.Input, sum.CacheRead+u.CacheRead, sum.Output+u.Output
		sum.Unreported, sum.Calls = sum.Unreported+u.Unreported, sum.Calls+u.Calls
	}
	m := s.model
	switch {
	case sum.Unreported > 0:
		s.usage = fmt.Sprintf("%d of %d unreported", sum.Unreported, sum.Calls)
	case sum.Input == m.input && sum.CacheRead == m.read && sum.Output == m.output:
		s.usage = "yes"
	default:
		s.usage = "no"
		s.problem("oriel usage has %d tokens, %d from the cache, %d of output; the model reported %d, %d, %d", sum.Input,
			sum.CacheRead, sum.Output, m.input, m.read, m.output)
	}
	return nil
}

// explained reports whether there are problems, and all of them are known ones of the program.
func (s *seat) explained() bool {
	known := strings.Split(s.program.known, "|")
	for _, problem := range s.problems {
		if s.program.known == "" ||
			!slices.ContainsFunc(known, func(words string) bool { return strings.Contains(problem, words) }) {
			return false
		}
	}
	return len(s.problems) > 0
}

// continued maps the conversations to those that they continue, or to "".
type continued map[string]string

// root returns the first conversation of a chain.
func (c continued) root(name string) string {
	for range len(c) {
		if c[name] == "" {
			break
		}
		name = c[name]
	}
	return name
}

// conversations asks the program for its conversations, after it verified the history.
func (s *seat) conversations() (continued, error) {
	if out, err := exec.CommandContext(ctx, s.oriel, "verify", "--data", s.data()).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("oriel verify: %w: %s", err, out)
	}
	out, err := exec.CommandContext(ctx, s.oriel, "conversations", "--json", "--data", s.data()).Output()
	if err != nil {
		return nil, fmt.Errorf("oriel conversations: %w", err)
	}
	var list struct {
		Conversations []struct{ ID, Continues string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("oriel conversations: %w", err)
	}
	chains := continued{}
	for _, one := range list.Conversations {
		chains[one.ID] = one.Continues
	}
	return chains, nil
}

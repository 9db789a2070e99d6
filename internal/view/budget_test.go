package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// exchanges are n turns of so many words each, in the role of examples or of a session.
func exchanges(n, words int) string {
	var list []string
	for i := range n {
		list = append(list,
			fmt.Sprintf(`{"role":"user","content":"example %d %s"},{"role":"assistant","content":"so be it %d"}`, i,
				strings.Repeat("word ", words), i))
	}
	return strings.Join(list, ",")
}

// worked is a turn of an agent that reads a large file.
func worked(name string, words int) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Read","input":{"file_path":%q}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`,
		name, name, name, strings.Repeat(name+" ", words))
}

func sent(messages ...string) []byte {
	return []byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[` + strings.Join(messages, ",") + `]}`)
}

func said(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

// A profile cuts conversations that go on. What continues nothing goes whole, byte for
// byte, if the model takes it: a first call, a prompt of many examples, also the next one
// that begins with the same examples, and what is sent again. From its continuation on it
// is history.
//
// SPEC E2
func TestWhatContinuesNothingGoesWhole(t *testing.T) {
	for _, session := range []string{"", "s"} {
		for _, profile := range []string{"thrifty", "balanced", "chat"} {
			s := newStage(t, Options{})
			a := ask{format: wire.Anthropic, session: session, Input: Input{Profile: profile}}
			if profile == "chat" {
				a.Size = 8000
			}
			examples := exchanges(200, 500)
			var first *call
			for _, question := range []string{"what is the first?", "what is the second?", "what is the third?"} {
				c := s.find(sent(examples, said("user", question)), a)
				if err := s.show(c, a); err != nil || !bytes.Equal(c.Body, c.body.Data()) {
					t.Fatalf("%s, session %q, %q: %d of %d tokens, %v", profile, session, question, c.After, c.Before,
						err)
				}
				if c.Grown == nil || c.Grown.For != window.ForFirst || c.Budget < c.Before {
					t.Errorf("%s: the budget is %d and grew for %v", profile, c.Budget, c.Grown)
				}
				if first == nil {
					first = c
					retry := a
					retry.retry = true
					again := s.find(c.body.Data(), retry)
					if err := s.show(again, retry); err != nil || again.Changed {
						t.Errorf("%s: sent again it is %s, %v", profile, again.Action, err)
					}
					s.book.Done(again.thread, nil, "")
				}
				s.end(c, []byte(said("assistant", "that is "+question)))
			}
			c := s.find(sent(examples, said("user", "what is the first?"),
				said("assistant", "that is what is the first?"), said("user", "and now?")), a)
			if err := s.show(c, a); err != nil {
				t.Fatal(err)
			}
			if c.Action == "none" && profile != "balanced" {
				t.Errorf("%s: the continuation is not history: %d of %d tokens, %s", profile, c.After, c.Before,
					c.thread.Kind)
			}
			if c.After > c.Budget || profile != "balanced" && c.Grown != nil {
				t.Errorf("%s: %d tokens of %d, %v", profile, c.After, c.Budget, c.Grown)
			}
		}
	}
	// What the model does not take is cut all the same.
	s := newStage(t, Options{})
	a := ask{format: wire.Anthropic, Input: Input{Profile: "thrifty"}}
	c := s.find(sent(exchanges(200, 1000), said("user", "so?")), a)
	if err := s.show(c, a); err != nil || c.After > 64_000 {
		t.Errorf("%d tokens, %v", c.After, err)
	}
}

// The newest turn is whole whatever the profile wishes, also in mid-conversation; and what
// people wrote stays under full and balanced, call after call, with the beginning of the
// view the same. A budget that a call asks for is hard.
//
// SPEC E2, E3
func TestABudgetGrowsForWhatPeopleSay(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	contract := strings.Repeat("clause ", 70_000)
	for _, c := range []struct {
		profile string
		budget  int
		whole   bool // the contract is there when it is pasted
		stays   bool // and later on
	}{
		{"thrifty", 0, true, false},
		{"balanced", 0, true, true},
		{"full", 0, true, true},
		{"balanced", 50_000, false, false},
	} {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: c.profile, Budget: c.budget}}
		list := []string{said("user", "we read files")}
		var last []string
		var grown *window.Growth
		shows := func(body []byte) bool { return bytes.Contains(body, []byte(contract)) }
		turn := func(name string, words int) *call {
			r := s.find(sent(list...), a)
			if err := s.show(r, a); err != nil {
				t.Fatal(err)
			}
			if problems := judge(wire.Anthropic, r.Body); len(problems) > 0 || r.After > r.Budget {
				t.Fatalf("%s: %d tokens of %d, %v", c.profile, r.After, r.Budget, problems)
			}
			now := messagesOf(t, wire.Anthropic, r.Body)
			if last != nil && !r.Folded && !equalPrefix(last, now) {
				t.Fatalf("%s: the view does not begin with the last one", c.profile)
			}
			last = now
			if r.Grown != nil {
				grown = r.Grown
			}
			work := worked(name, words)
			call := work[:strings.Index(work, `,{"role":"user"`)]
			s.end(r, []byte(call))
			list = append(list, work)
			return r
		}
		for i := range 6 {
			turn(fmt.Sprint("early", i), 5000)
		}
		list = append(list, said("assistant", "done"), said("user", "here is the contract: "+contract))
		if r := turn("one", 1000); shows(r.Body) != c.whole {
			t.Errorf("%s, %d: pasted, the contract is there: %v; %d of %d tokens", c.profile, c.budget, shows(r.Body),
				r.After, r.Budget)
		}
		list = append(list, said("assistant", "read"), said("user", "and now work"))
		cuts := 0
		for i := range 20 {
			r := turn(fmt.Sprint("later", i), 4000)
			if r.Folded {
				cuts++
			}
			if i > 14 && shows(r.Body) != c.stays {
				t.Errorf("%s, %d: later on the contract is there: %v", c.profile, c.budget, shows(r.Body))
			}
		}
		if cuts == 0 || cuts > 10 {
			t.Errorf("%s, %d: %d cuts in 20 calls", c.profile, c.budget, cuts)
		}
		if (grown != nil) != (c.budget == 0 && c.profile != "full") {
			t.Errorf("%s, %d: the budget grew for %v", c.profile, c.budget, grown)
		}
	}
}

func equalPrefix(a, b []string) bool {
	if len(a) > len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Budgets that waver by some per cent do not make a view and the whole take turns.
//
// SPEC E3
func TestAWaveringBudgetDoesNotFlap(t *testing.T) {
	s := newStage(t, Options{})
	a := ask{format: wire.Anthropic, session: "s"}
	list := []string{said("user", "we read files")}
	changes, last := 0, ""
	for i := range 12 {
		a.Budget = []int{30_000, 32_000, 35_000}[i%3]
		c := s.find(sent(list...), a)
		if err := s.show(c, a); err != nil {
			t.Fatal(err)
		}
		id := ""
		if c.Cut != nil {
			id = c.Cut.ID
		}
		if i > 0 && id != last {
			changes++
		}
		last = id
		work := worked(fmt.Sprint("f", i), 2000)
		s.end(c, []byte(work[:strings.Index(work, `,{"role":"user"`)]))
		list = append(list, work)
	}
	if changes == 0 || changes > 3 {
		t.Errorf("the plan changed %d times in 12 calls", changes)
	}
	// With twice the budget everything is there again.
	a.Budget = 90_000
	c := s.find(sent(list...), a)
	if err := s.show(c, a); err != nil || c.Changed || c.Cut != nil {
		t.Errorf("%s: %d of %d tokens, %v", c.Action, c.After, c.Before, err)
	}
}

// A talk fills its budget, one that the call names or what a small model takes. That
// cannot grow, so a cut lets the oldest words go deep enough for the next ones to have
// room: cuts are rare, also where passages are brought back, and between them each view
// begins with the bytes of the last one.
//
// SPEC E3
func TestATalkIsCutRarely(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, c := range []struct {
		model         string
		budget        int
		asked, answer int // words of a question and of a reply
		recall        bool
		most          int // cuts in 60 calls
	}{
		{"claude-sonnet-4-5", 3000, 90, 2, false, 10},
		{"claude-sonnet-4-5", 3000, 60, 10, true, 10},
		{"gpt-4o", 8000, 30, 180, true, 10},
		{"gpt-4", 0, 120, 20, true, 6},
		{"gpt-4", 0, 120, 400, true, 18},
		{"gpt-4", 0, 120, 400, false, 12},
	} {
		for _, profile := range []string{"thrifty", "full", "balanced"} {
			t.Run(fmt.Sprint(c, " ", profile), func(t *testing.T) {
				s := newStage(t, Options{})
				if c.recall {
					s.library()
					defer s.close()
				}
				a := ask{format: wire.Chat, session: "s", Input: Input{Profile: profile, Budget: c.budget}}
				var messages []string
				var last []byte
				cuts, moved, recalled := 0, 0, 0
				for i := range 60 {
					messages = append(messages, said("user", chatter("wish", i, c.asked)+"?"))
					data := fmt.Appendf(nil, `{"model":%q,"max_tokens":500,"messages":[%s]}`, c.model,
						strings.Join(messages, ","))
					r := s.find(data, a)
					if err := s.show(r, a); err != nil {
						t.Fatal(err)
					}
					if r.After > r.Budget {
						t.Fatalf("call %d: %d tokens of %d", i, r.After, r.Budget)
					}
					if r.Folded {
						cuts++
					}
					recalled += r.Recalled
					// What was recalled for the turn before may leave when it takes more than a
					// tenth of the budget. Everything before it stays.
					end := len(last) - len("]}")
					if at := bytes.Index(last, []byte(recallOpens)); at >= 0 && !r.Folded {
						end = at
					}
					if end > 0 && !bytes.HasPrefix(r.Body, last[:end]) {
						moved++
					}
					if last = r.Body; oldTokens(t, last, c.model) > r.Budget/10 {
						t.Errorf("call %d: more than a tenth of the window is recalled text of earlier turns", i)
					}
					messages = append(messages, said("assistant", chatter("reply", i, c.answer)))
					s.end(r, []byte(messages[len(messages)-1]))
				}
				t.Logf("%d cuts, %d changed beginnings, %d tokens brought back", cuts, moved, recalled)
				if cuts == 0 || cuts > c.most || moved > cuts {
					t.Errorf("%d cuts and %d changed beginnings in 60 calls", cuts, moved)
				}
				if c.recall && recalled == 0 {
					t.Error("nothing was brought back: the test shows nothing")
				}
			})
		}
	}
}

// oldTokens counts the recalled texts in all messages of a body but the last.
func oldTokens(t *testing.T, body []byte, model string) (n int) {
	t.Helper()
	b, err := wire.Read(body, wire.Chat, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	counter := token.NewCounter(token.Builtin().Lookup(model), token.Options{})
	for i := range b.Messages[:len(b.Messages)-1] {
		for j := range b.Messages[i].Parts {
			if text := b.Messages[i].Parts[j].Text.String(); strings.HasPrefix(text, recallOpens) {
				n += counter.Text(text).Tokens
			}
		}
	}
	return n
}

// In a talk of short questions and long replies a budget does not grow for the replies:
// they are elided, oldest first, and all that people said is there.
//
// SPEC E2, E3
func TestLongRepliesLeaveBeforeWhatPeopleSay(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, format := range []wire.Format{wire.Anthropic, wire.Chat} {
		s := newStage(t, Options{})
		a := ask{format: format, session: "s", Input: Input{Profile: "balanced"}}
		var messages, wishes []string
		var last []string
		cuts := 0
		for i := range 110 {
			wish := chatter("wish", i, 40)
			wishes = append(wishes, wish)
			messages = append(messages, said("user", wish))
			c := s.find(fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[%s]}`,
				strings.Join(messages, ",")), a)
			if err := s.show(c, a); err != nil {
				t.Fatal(err)
			}
			if c.After > 100_000 || c.Grown != nil && c.Grown.For != window.ForFirst {
				t.Fatalf("%s, call %d: %d of %d tokens, the budget %v", format, i, c.After, c.Before, c.Grown)
			}
			if problems := judge(format, c.Body); len(problems) > 0 {
				t.Fatalf("%s, call %d: %v", format, i, problems)
			}
			for _, wish := range wishes {
				if !bytes.Contains(c.Body, []byte(wish)) {
					t.Fatalf("%s, call %d: %.10s is not there", format, i, wish)
				}
			}
			now := messagesOf(t, format, c.Body)
			if c.Folded {
				cuts++
			} else if last != nil && !equalPrefix(last, now) {
				t.Fatalf("%s, call %d: the view does not begin with the last one", format, i)
			}
			last = now
			messages = append(messages, said("assistant", chatter("reply", i, 1500)))
			if i > 0 && cuts == 0 && c.Changed {
				t.Fatalf("%s, call %d: changed without a cut", format, i)
			}
			s.end(c, []byte(messages[len(messages)-1]))
		}
		if cuts == 0 || cuts > 6 {
			t.Errorf("%s: %d cuts in 110 calls", format, cuts)
		}
	}
}

// chatter is a message of some words of few kinds, so that messages bear on each other.
func chatter(about string, i, words int) string {
	kinds := strings.Fields("zebra harbour copper lantern meadow violin granite orchard beacon saddle timber falcon cinder marble anchor thistle")
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d:", about, i)
	for w := range words {
		b.WriteString(" " + kinds[(i*7+w*w*5+w*i*3)%len(kinds)])
	}
	return b.String()
}

// A system prompt that is larger than what the profile allows is no reason to send the
// whole history, wherever it stands.
func TestLongSystemPrompts(t *testing.T) {
	long := func(n int, word string) string { return strings.Repeat(word+" ", n) }
	for _, c := range []struct {
		profile string
		system  int // words
		size    int
	}{{"thrifty", 70_000, 0}, {"chat", 12_000, 8000}} {
		for format, body := range map[wire.Format]string{
			wire.Chat:      `{"model":"gpt-4.1","messages":[{"role":"system","content":%q},%s]}`,
			wire.Responses: `{"model":"gpt-4.1","instructions":%q,"input":[%s]}`,
			wire.Anthropic: `{"model":"claude-sonnet-4-5","max_tokens":1000,"system":%q,"messages":[%s]}`,
		} {
			var list []string
			for i := range 30 {
				list = append(list, fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"yes"}`,
					fmt.Sprint(i)+long(1500, " harbour")))
			}
			list = append(list, `{"role":"user","content":"and now?"}`)
			s := newStage(t, Options{})
			a := ask{format: format, session: "s", Input: Input{Profile: c.profile, Size: c.size}}
			whole := fmt.Appendf(nil, body, long(c.system, "be"), strings.Join(list, ","))
			s.began(whole, a)
			r := s.find(whole, a)
			if err := s.show(r, a); err != nil || r.After > r.Budget || !r.New || r.Before < r.After+20_000 ||
				r.After < c.system {
				t.Errorf("%s, %v: %d of %d tokens, budget %d, %v", c.profile, format, r.After, r.Before, r.Budget, err)
			}
		}
	}
}

// Beside a system prompt that takes most of the budget a cut, free or not, leaves some of
// the history.
func TestALongSystemPromptLeavesRoomForTheHistory(t *testing.T) {
	s := newStage(t, Options{})
	long := bytes.Replace(talk(60, "go on"), []byte(`"messages"`),
		[]byte(`"system":"`+strings.Repeat("rule ", 35_000)+`","messages"`), 1)
	for _, cold := range []bool{false, true} {
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Cold: cold}}
		s.began(long, a)
		c := s.find(long, a)
		if err := s.show(c, a); err != nil {
			t.Fatal(err)
		}
		if n := len(messagesOf(t, wire.Anthropic, c.Body)); n < 10 {
			t.Errorf("cold %v: %d messages of %d tokens are left", cold, n, c.After)
		}
	}
}

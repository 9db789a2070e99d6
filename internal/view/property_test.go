package view

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// replied reports whether a message is a model's.
func replied(m *chat.Message) bool {
	switch m.Role {
	case chat.Assistant:
		return true
	case "":
		return len(m.Parts) > 0 && (m.Parts[0].Kind == chat.Call || m.Parts[0].Kind == chat.Thinking ||
			m.Parts[0].Kind == chat.Result && m.Parts[0].Hosted)
	}
	return false
}

// requests are those by which an agent would have come to a history, the whole last,
// and what the model answered to each.
func requests(t tester, f wire.Format, whole []byte) (bodies [][]byte, replies [][][]byte) {
	return requestsThat(t, f, whole, func(body []byte) bool { return len(judge(f, body)) == 0 })
}

// requestsThat returns the calls of a history whose bodies are as ok says.
func requestsThat(t tester, f wire.Format, whole []byte, ok func([]byte) bool) (bodies [][]byte,
	replies [][][]byte) {
	b, err := wire.Read(whole, f, wire.Limits{})
	if err != nil { // a list that is given twice, which every provider reads in its own way
		return nil, nil
	}
	for n := 1; n <= len(b.Messages); n++ {
		if n < len(b.Messages) && (replied(&b.Messages[n-1]) || !replied(&b.Messages[n])) {
			continue
		}
		data, err := b.Write(b.Whole()[:n])
		if err != nil {
			t.Fatal(err)
		}
		if !ok(data) {
			continue
		}
		var reply [][]byte
		for k := n; k < len(b.Messages) && replied(&b.Messages[k]); k++ {
			reply = append(reply, b.Messages[k].Raw)
		}
		bodies, replies = append(bodies, data), append(replies, reply)
	}
	return bodies, replies
}

// byPolicy returns a profile for each policy, under its name with "by-" before it.
func byPolicy(t tester) *window.ProfileTable {
	var all []window.Profile
	for _, name := range window.Policies() {
		all = append(all, window.Profile{Name: "by-" + name, Policy: name})
	}
	table, err := window.NewProfiles(all...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestViewsOfAnyHistory sends histories call by call, at any budget, by any policy.
//
// SPEC B4; E1, E2, E3, E5, E6; D3
func TestViewsOfAnyHistory(t *testing.T) {
	for _, f := range protocols.All() {
		t.Run(f.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				whole := f.Draw(t, histories.Options{Valid: true, Turns: rapid.IntRange(1, 10).Draw(t, "turns"),
					Plain: rapid.Bool().Draw(t, "plain")})
				bodies, replies := requests(t, f.Format, whole)
				if len(bodies) == 0 {
					return
				}
				counter := token.NewCounter(token.Builtin().Lookup("claude-x"), token.Options{})
				size := func(data []byte) int {
					b, err := wire.Read(data, f.Format, wire.Limits{})
					if err != nil {
						t.Fatalf("%v\n%s", err, data)
					}
					counter = token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{})
					return counter.Request(&b.Request).Total
				}
				budget := max(1, size(bodies[len(bodies)-1])*rapid.IntRange(20, 110).Draw(t, "budget")/100)
				one, other := newStage(t, Options{Profiles: byPolicy(t)}), newStage(t, Options{Profiles: byPolicy(t)})
				a := ask{format: f.Format, session: "s", Input: Input{Budget: budget, Asked: true}}
				if rapid.Bool().Draw(t, "by a policy") {
					a.Profile = "by-" + rapid.SampledFrom(window.Policies()).Draw(t, "policy")
				}
				var last []string
				for n, data := range bodies {
					a.Cold = rapid.IntRange(0, 3).Draw(t, "cold") == 3
					first, second := one.find(data, a), other.find(data, a)
					err1, err2 := one.show(first, a), other.show(second, a)
					if (err1 == nil) != (err2 == nil) {
						t.Fatalf("call %d: %v and %v", n, err1, err2)
					}
					if err1 != nil {
						if !errors.Is(err1, window.ErrCannotFit) {
							t.Fatal(err1)
						}
						one.end(first, replies[n]...)
						other.end(second, replies[n]...)
						last = nil
						continue
					}
					if !bytes.Equal(first.Body, second.Body) {
						t.Fatalf("call %d: a restart changes the view\n%s\n%s", n, first.Body, second.Body)
					}
					if problems := judge(f.Format, first.Body); len(problems) > 0 {
						t.Fatalf("call %d: %v\n%s\nof\n%s", n, problems, first.Body, data)
					}
					if problems := strict.SameThinking(data, first.Body); len(problems) > 0 {
						t.Fatalf("call %d: %v\n%s\nof\n%s", n, problems, first.Body, data)
					}
					if f.Format == wire.Responses {
						if problems := strict.KeptReasoning(data, first.Body); len(problems) > 0 {
							t.Fatalf("call %d: %v\n%s\nof\n%s", n, problems, first.Body, data)
						}
					}
					if got := size(first.Body); got > budget || first.After != got {
						t.Fatalf("call %d: %d tokens, %d told, budget %d\n%s", n, got, first.After, budget, first.Body)
					}
					if first.Cut == nil && !bytes.Equal(first.Body, data) {
						t.Fatalf("call %d: changed without a cut", n)
					}
					now := messagesOf(t, f.Format, first.Body)
					if last != nil && !first.Folded && (len(now) < len(last) || !slices.Equal(now[:len(last)], last)) {
						t.Fatalf("call %d: the view does not begin with the last one:\n%s", n, cmp.Diff(last, now))
					}
					last = now
					a.Cold = false
					again := one.find(data, ask{format: a.format, session: a.session, retry: true})
					if err := one.show(again, a); err != nil || !bytes.Equal(again.Body, first.Body) ||
						len(again.made) > 0 {
						t.Fatalf("call %d: sent again it is %v %v\n%s\n%s", n, err, again.made, again.Body, first.Body)
					}
					in := a.Input
					in.Body, in.Thread = again.body, again.thread
					if r, err := one.viewer.Apply(&in); err != nil || !bytes.Equal(r.Body, first.Body) {
						t.Fatalf("call %d: counted it is %v\n%s\n%s", n, err, r.Body, first.Body)
					}
					one.book.Done(again.thread, nil, "")
					reply := replies[n]
					if rapid.IntRange(0, 4).Draw(t, "no reply") == 4 {
						reply = nil
					}
					one.end(first, reply...)
					other.end(second, reply...)
					if rapid.Bool().Draw(t, "restart") {
						one.restart()
					}
				}
			})
		})
	}
}

// TestViewsOfBrokenHistories: whatever comes, there is a view or an error.
func TestViewsOfBrokenHistories(t *testing.T) {
	for _, f := range protocols.All() {
		t.Run(f.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				data := f.Draw(t, histories.Options{Turns: rapid.IntRange(1, 6).Draw(t, "turns")})
				b, err := wire.Read(data, f.Format, wire.Limits{})
				if err != nil || len(b.Messages) == 0 {
					return
				}
				s := newStage(t, Options{})
				a := ask{format: f.Format, Input: Input{Budget: rapid.IntRange(1, 3000).Draw(t, "budget"), Asked: true}}
				c := s.find(data, a)
				if err := s.show(c, a); err != nil {
					return
				}
				if _, err := wire.Read(c.Body, f.Format, wire.Limits{}); err != nil || c.After > c.Budget {
					t.Fatalf("%v, %d of %d\n%s", err, c.After, c.Budget, c.Body)
				}
			})
		})
	}
}

// talk is a long history of plain words; newest is what it ends with.
func talk(turns int, newest string) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[`)
	for i := range turns {
		b.WriteString(`{"role":"user","content":"` + strings.Repeat("ask of folder "+string(rune('a'+i%26))+" ", 40) +
			`"},`)
		b.WriteString(`{"role":"assistant","content":"` + strings.Repeat("told of folder "+string(rune('a'+i%26))+" ",
			40) + `"},`)
	}
	b.WriteString(`{"role":"user","content":"` + newest + `"}]}`)
	return []byte(b.String())
}

// SPEC E3; calls in parallel on one history make one cut.
func TestParallelCallsMakeOneCut(t *testing.T) {
	for _, same := range []bool{true, false} {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Budget: 1500, Asked: true}}
		var calls []*call
		for i := range 20 {
			newest := "and now?"
			if !same {
				newest += string(rune('a' + i))
			}
			calls = append(calls, s.find(talk(20, newest), a))
		}
		var wg sync.WaitGroup
		errs := make([]error, len(calls))
		for i, c := range calls {
			wg.Go(func() {
				in := a.Input
				in.ID, in.Body, in.Thread, in.Now = "c"+string(rune('a'+i)), c.body, c.thread, s.now
				c.Result, errs[i] = s.viewer.Show(ctx, &in)
			})
		}
		wg.Wait()
		cuts := map[string]bool{}
		made := 0
		for i, c := range calls {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			cuts[c.Cut.ID] = true
			made += len(c.Made)
			if got := judge(wire.Anthropic, c.Body); len(got) > 0 || c.After > 1500 {
				t.Fatalf("%v, %d tokens", got, c.After)
			}
		}
		if len(cuts) != 1 || made != 1 {
			t.Errorf("the same newest message: %v; %d cuts made, %d in use", same, made, len(cuts))
		}
	}
}

// A model that binds its thinking gets none of which the beginning changed: what it was
// sent last, with what has come since, is what stands before every block.
//
// SPEC E1
func TestBoundThinkingStaysBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := histories.Anthropic(t, histories.Options{Valid: true, Turns: rapid.IntRange(2, 8).Draw(t, "turns"),
			Plain: true})
		whole = bytes.Replace(whole, []byte(`"claude-x"`), []byte(`"claude-fable-5-1"`), 1)
		whole = bytes.Replace(whole, []byte(`"thinking":{"type":"enabled","budget_tokens":1024}`),
			[]byte(`"thinking":{"type":"adaptive"}`), 1)
		bodies, replies := requests(t, wire.Anthropic, whole)
		if len(bodies) == 0 {
			return
		}
		full, err := wire.Read(bodies[len(bodies)-1], wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		counter := token.NewCounter(token.Builtin().Lookup(full.Model), token.Options{Cache: counts})
		budget := max(1, counter.Request(&full.Request).Total*rapid.IntRange(25, 100).Draw(t, "budget")/100)
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Budget: budget, Asked: true}}
		var last []byte
		known := 0
		for n, data := range bodies {
			c := s.find(data, a)
			if err := s.show(c, a); err != nil {
				return // it goes as it came, which is another matter
			}
			if problems := judge(wire.Anthropic, c.Body); len(problems) > 0 {
				t.Fatalf("call %d: %v\n%s", n, problems, c.Body)
			}
			if last != nil {
				// The last view, and what has come since.
				view, err := wire.Read(last, wire.Anthropic, wire.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				pieces := view.Whole()
				for i := known; i < len(c.body.Messages); i++ {
					pieces = append(pieces, wire.Piece{Raw: c.body.Messages[i].Raw})
				}
				before, err := view.Write(pieces)
				if err != nil {
					t.Fatal(err)
				}
				problems := slices.DeleteFunc(strict.BoundThinking(before, c.Body),
					func(p strict.Problem) bool { return onlyThinks(t, c.Body, p.Index) })
				if len(problems) > 0 {
					t.Fatalf("call %d: %v\n%s\nwas\n%s", n, problems, c.Body, before)
				}
			}
			last, known = c.Body, len(c.body.Messages)
			s.end(c, replies[n]...)
		}
	})
}

// onlyThinks reports whether a message is nothing but thinking: it cannot be emptied.
func onlyThinks(t tester, body []byte, i int) bool {
	b, err := wire.Read(body, wire.Anthropic, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(b.Messages[i].Parts, func(p chat.Part) bool { return p.Kind != chat.Thinking })
}

// learnTwice has two conversations learn the same limit.
func learnTwice(l *token.Limits, a token.Asked, tokens int, now time.Time) {
	for _, a.Conversation = range []string{"one", "two"} {
		l.Learn(a, tokens, false, now)
	}
}

// SPEC B1; whole limits: the window as betas widen it, the largest input, the reply and
// its thinking, what was learnt.
func TestBudgets(t *testing.T) {
	limits := new(token.Limits)
	learnTwice(limits, token.Asked{Tenant: timeline.Local, Conversation: "", Model: "claude-haiku-4-5",
		Window: 200_000}, 50_000, time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC))
	learnTwice(limits, token.Asked{Tenant: timeline.Local, Conversation: "", Model: "claude-sonnet-4", Window: 200_000},
		50_000, time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC))
	learnTwice(limits, token.Asked{Tenant: timeline.Local, Conversation: "", Model: "gpt-4o", Window: 128_000}, 50_000,
		time.Date(2025, 12, 26, 10, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		name, model, rest string
		in                Input
		want              int
	}{
		{"the window less its margin and the reply", "claude-sonnet-4-5", `,"max_tokens":1000`, Input{}, 179_000},
		{"without a limit of the reply", "claude-sonnet-4-5", ``, Input{}, 180_000 - 8192},
		{"a beta widens it", "claude-sonnet-4-5", `,"max_tokens":1000`, Input{Betas: []string{"context-1m-2025-08-07"}},
			899_000},
		{"thinking is more than the reply", "claude-sonnet-4-5",
			`,"max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":30000}`, Input{}, 150_000},
		{"the largest input is less than the window", "gpt-5", `,"max_tokens":1000`, Input{}, 272_000},
		{"a reply that is longer than there can be", "claude-sonnet-4-5", `,"max_tokens":200000`, Input{}, 130_000},
		{"a profile", "claude-sonnet-4-5", `,"max_tokens":1000`, Input{Profile: "thrifty"}, 64_000},
		{"a budget that was asked for", "claude-sonnet-4-5", `,"max_tokens":1000`,
			Input{Profile: "thrifty", Budget: 9000}, 9000},
		{"a budget that is more than the model takes", "claude-sonnet-4-5", `,"max_tokens":1000`,
			Input{Budget: 500_000}, 179_000},
		{"a budget for a model that nobody knows", "my-own", `,"max_tokens":1000`, Input{Budget: 500_000}, 500_000},
		{"learnt of the smaller window", "claude-sonnet-4", `,"max_tokens":1000`,
			Input{Betas: []string{"context-1m-2025-08-07"}}, 899_000},
		{"learnt more than a week ago", "gpt-4o", `,"max_tokens":1000`, Input{}, 128_000*9/10 - 1000},
		{"what was learnt", "claude-haiku-4-5", `,"max_tokens":1000`, Input{Budget: 90_000}, 50_000},
	} {
		s := newStage(t, Options{Limits: limits})
		a := ask{format: wire.Anthropic, Input: c.in}
		r := s.find([]byte(`{"model":"`+c.model+`"`+c.rest+`,"messages":[{"role":"user","content":"hi"}]}`), a)
		if err := s.show(r, a); err != nil || r.Budget != c.want {
			t.Errorf("%s: %d, want %d; %v", c.name, r.Budget, c.want, err)
		}
	}
}

// What is brought back keeps the rules: within the budget, valid, once, and it stays.
//
// SPEC D3, E3
func TestWhatIsRecalledStays(t *testing.T) {
	for _, f := range protocols.All() {
		t.Run(f.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				whole := f.Draw(t, histories.Options{Valid: true, Turns: rapid.IntRange(4, 10).Draw(t, "turns"),
					Plain: true})
				bodies, replies := requests(t, f.Format, whole)
				s := newStage(t, Options{})
				s.library()
				defer s.close()
				a := ask{format: f.Format, session: "s",
					Input: Input{Budget: rapid.IntRange(1000, 6000).Draw(t, "budget"), Asked: true}}
				var last []string
				for n, data := range bodies {
					c := s.find(data, a)
					if err := s.show(c, a); err != nil {
						s.end(c, replies[n]...)
						last = nil
						continue
					}
					if problems := judge(f.Format, c.Body); len(problems) > 0 || c.After > a.Budget {
						t.Fatalf("call %d: %d tokens of %d, %v\n%s", n, c.After, a.Budget, problems, c.Body)
					}
					now := messagesOf(t, f.Format, c.Body)
					if c.Cleared && !c.Folded { // of earlier turns nothing else changes
						last, now = withoutRecalled(t, f.Format, last), withoutRecalled(t, f.Format, now)
					}
					if last != nil && !c.Folded && (len(now) < len(last) || !slices.Equal(now[:len(last)], last)) {
						t.Fatalf("call %d: the view does not begin with the last one:\n%s", n, cmp.Diff(last, now))
					}
					again := s.find(data, ask{format: a.format, session: a.session, retry: true})
					if err := s.show(again, a); err != nil || !bytes.Equal(again.Body, c.Body) {
						t.Fatalf("call %d: sent again it is %v\n%s\n%s", n, err, again.Body, c.Body)
					}
					s.book.Done(again.thread, nil, "")
					last = messagesOf(t, f.Format, c.Body)
					s.end(c, replies[n]...)
				}
			})
		})
	}
}

// withoutRecalled returns messages without what was recalled.
func withoutRecalled(t *rapid.T, f wire.Format, messages []string) []string {
	out := slices.Clone(messages)
	for i := range out {
		raw, err := wire.RemoveTexts(f, []byte(out[i]),
			func(text string) bool { return strings.HasPrefix(text, recallOpens) })
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(raw)
	}
	return out
}

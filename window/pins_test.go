package window

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// drawTalk draws a history of an agent: prompts, replies, tool exchanges, of any sizes.
func drawTalk(t *rapid.T) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[`)
	words := func(name string) string {
		return strings.TrimSpace(strings.Repeat(fmt.Sprintf("%s%d ", name, rapid.IntRange(0, 9).Draw(t, "word")),
			rapid.IntRange(1, 60).Draw(t, "size")))
	}
	n := 0
	add := func(format string, args ...any) {
		if n++; n > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, args...)
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "turns") {
		for range rapid.IntRange(1, 2).Draw(t, "questions") {
			add(`{"role":"user","content":%q}`, words("ask"))
		}
		for j := range rapid.IntRange(0, 2).Draw(t, "tools") {
			add(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d_%d","type":"function","function":{"name":"ls","arguments":"{}"}}]}`, i, j)
			add(`{"role":"tool","tool_call_id":"c%d_%d","content":%q}`, i, j, words("result"))
		}
		if rapid.Bool().Draw(t, "reply") {
			add(`{"role":"assistant","content":%q}`, words("reply"))
		}
	}
	add(`{"role":"user","content":%q}`, words("now"))
	b.WriteString(`]}`)
	return []byte(b.String())
}

func readTalk(t *rapid.T, data []byte) (*wire.Body, *History) {
	b, err := wire.Read(data, wire.Chat, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{})
	return b, HistoryOf(&b.Request, b.Rules(), c, c.Sizes(&b.Request))
}

// smallest is the size of the smallest legal set with all pins and what must stay, with
// its marker; found by trying all sets.
func smallest(h *History) int {
	x := h.Cuts.Exchanges
	best := 1 << 30
	for set := range 1 << len(x) {
		keep := make([]bool, len(x))
		fine := true
		for e := range x {
			keep[e] = set>>e&1 == 1
			fine = fine && (keep[e] || x[e].Fixed == "" && !h.pinnedExchange(e))
		}
		if !fine || !h.Cuts.Legal(keep) {
			continue
		}
		d := newDraft(h)
		d.keep = keep
		for e := range x {
			if !keep[e] {
				d.gone += h.exchangeTokens(e)
			}
		}
		d.mark(d.tokens()) // in few words
		best = min(best, d.tokens())
	}
	return best
}

// Whenever a legal set with all pins fits the budget, no policy lets a pin go. SPEC A4, E5
func TestPinsThatFitStayUnderEveryPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawTalk(t)
		b, h := readTalk(t, data)
		if len(h.Cuts.Exchanges) > 12 {
			t.Skip("too many sets to try")
		}
		var pins []int
		for i := range b.Messages {
			if rapid.IntRange(0, 4).Draw(t, "pin") == 0 {
				pins = append(pins, i)
				h.Pinned[i] = true
			}
		}
		need := smallest(h)
		if need >= h.Total() || len(pins) == 0 {
			t.Skip("nothing has to leave")
		}
		budget := rapid.IntRange(need, h.Total()-1).Draw(t, "budget")
		if rapid.Bool().Draw(t, "exact") {
			budget = need
		}
		for _, policy := range Policies() {
			for _, low := range []int{budget, budget / 2} {
				for _, mode := range []Mode{Hard, Soft} {
					o := Options{Policy: policy, Budget: budget, Low: max(1, low), Mode: mode}
					d, err := decideCounted(context.Background(), h, o, Trigger{Over: true})
					if err != nil {
						t.Fatalf("%s, %d of %d (smallest %d): %v\n%s", policy, budget, h.Total(), need, err, data)
					}
					for _, i := range pins {
						if !d.shown[i] {
							t.Fatalf("%s %s, budget %d, low %d, smallest set %d: pin %d of %v left: %+v\n%s", policy,
								mode, budget, low, need, i, pins, d.plan.Blocks, data)
						}
					}
					if mode == Hard && d.plan.TokensAfter > budget {
						t.Fatalf("%s: %d over %d", policy, d.plan.TokensAfter, budget)
					}
				}
			}
			// Through to the bytes, where what is written counts a little otherwise.
			_, plan, err := Fit(context.Background(), data,
				Options{Format: wire.Chat, Policy: policy, Budget: budget + budget/64 + 4, Pins: pins})
			if err != nil {
				t.Fatalf("%s: %v", policy, err)
			}
			for _, i := range pins {
				if v := plan.Blocks[i].Verdict; v == Evict || v == Fold {
					t.Fatalf("%s, budget %d, smallest set %d: pin %d of %v left: %+v\n%s", policy, budget+budget/64+4,
						need, i, pins, plan.Blocks, data)
				}
			}
		}
	})
}

// The newest words of the user are whole wherever they fit beside what must stay, however
// little is left of the rest. SPEC E2
func TestTheNewestWordsAreWholeWhileTheyFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string, n int) string { return strings.TrimSpace(strings.Repeat(name+" ", n)) }
		words := rapid.IntRange(1, 120).Draw(t, "words")
		result := rapid.IntRange(1, 700).Draw(t, "result")
		tools := rapid.IntRange(0, 2).Draw(t, "tools")
		list := []string{fmt.Sprintf(`{"role":"user","content":%q}`, text("ask", words))}
		if rapid.Bool().Draw(t, "history") {
			list = append([]string{`{"role":"user","content":"before"}`,
				fmt.Sprintf(`{"role":"assistant","content":%q}`, text("long", 200))}, list...)
		}
		asked := len(list) - 1
		for i := range tools {
			list = append(list,
				fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"ls","arguments":"{}"}}]}`, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, text("data", result)))
		}
		data := []byte(`{"model":"gpt-4o","messages":[` + strings.Join(list, ",") + `]}`)
		b, h := readTalk(t, data)
		// What must stay, with results of no more than their floor, and a marker for
		// what was before.
		need := h.Base
		for i := asked; i < len(b.Messages); i++ {
			if most := h.over[i] + clipFloor + 4; i > asked && b.Messages[i].Role == chat.Tool {
				need += min(h.Tokens[i], most)
			} else {
				need += h.Tokens[i]
			}
		}
		if asked > 0 {
			need += h.Count(fmt.Sprintf(prompt.MissingShort, 100, 1000)) + insertOverhead
		}
		need += need/31 + 2 // what is written counts a little otherwise
		budget := need + rapid.IntRange(0, 100).Draw(t, "more")
		for _, policy := range Policies() {
			out, _, err := Fit(context.Background(), data, Options{Format: wire.Chat, Policy: policy, Budget: budget})
			if errors.Is(err, ErrCannotFit) {
				t.Fatalf("%s, budget %d: %v", policy, budget, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			fitted, err := wire.Read(out, wire.Chat, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(fitted.Messages, func(m chat.Message) bool {
				return m.Role == chat.User &&
					slices.ContainsFunc(m.Parts,
						func(p chat.Part) bool { return p.Text.String() == text("ask", words) })
			}) {
				t.Fatalf("%s, budget %d, of %d: %s", policy, budget, h.Total(), out)
			}
		}
	})
}

// Where one policy keeps all pins whole, by masking or clipping what stands beside them,
// every other policy does. SPEC A4, E5
func TestPinsThatFitBesideElidedMessagesStayUnderEveryPolicy(t *testing.T) {
	hard := 0
	for seed := range uint64(70) {
		random := rand.New(rand.NewPCG(seed, 7))
		words := func(name string, least, most int) string {
			return strings.TrimSpace(strings.Repeat(name+" ", least+random.IntN(most-least)))
		}
		var list []string
		add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
		turns := 4 + random.IntN(6)
		for i := range turns {
			add(`{"role":"user","content":%q}`, words("ask", 3, 60))
			for j := range random.IntN(3) {
				add(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d_%d","type":"function","function":{"name":"read","arguments":"{}"}}]}`, i, j)
				add(`{"role":"tool","tool_call_id":"c%d_%d","content":%q}`, i, j, words("result", 5, 160))
			}
			if i < turns-1 {
				add(`{"role":"assistant","content":%q}`, words("reply", 3, 110))
			}
		}
		data := []byte(`{"model":"gpt-4o","messages":[` + strings.Join(list, ",") + `]}`)
		pins := random.Perm(len(list))[:1+random.IntN(3)]
		budget := 150 + random.IntN(600)
		var kept, lost []string
		for _, policy := range Policies() {
			_, plan, err := Fit(context.Background(), data, Options{Format: wire.Chat, Policy: policy, Budget: budget,
				Pins: pins})
			if errors.Is(err, ErrCannotFit) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if plan.TokensAfter > budget {
				t.Errorf("seed %d, %s: %d tokens in %d", seed, policy, plan.TokensAfter, budget)
			}
			if slices.ContainsFunc(pins, func(i int) bool { return plan.Blocks[i].Verdict != Keep }) {
				lost = append(lost, policy)
			} else {
				kept = append(kept, policy)
			}
		}
		if len(kept) > 0 && len(lost) > 0 {
			t.Errorf("seed %d, budget %d, pins %v: kept by %v, lost by %v", seed, budget, pins, kept, lost)
		}
		if len(lost) > 0 {
			hard++
		}
	}
	if hard == 0 {
		t.Error("all pins always fit: the test shows nothing")
	}
}

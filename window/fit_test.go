package window

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// SPEC B1
func TestBudgetIsWindowLessMarginLessReserve(t *testing.T) {
	for _, c := range []struct{ window, output, input, want int }{
		{100_000, 30_000, 0, 60_000}, {100_000, 0, 0, 81_808}, {200_000, 64_000, 0, 116_000},
		{400_000, 10_000, 272_000, 272_000}, {128_000, 4_096, 0, 111_104},
	} {
		b, err := newBudget(c.window, c.output, c.input, 0)
		if err != nil || b.Allowed != c.want {
			t.Errorf("%+v: %d, %v", c, b.Allowed, err)
		}
	}
	if _, err := newBudget(8000, 8000, 0, 0); err == nil || !strings.Contains(err.Error(), "leaves nothing") {
		t.Errorf("%v", err)
	}
}

// SPEC B1: system prompt and tools count.
func TestSystemPromptAndToolsCount(t *testing.T) {
	small := []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`)
	big := []byte(`{"model":"gpt-4o","tools":[{"type":"function","function":{"name":"f","description":"` +
		strings.Repeat("word ", 300) + `"}}],"messages":[{"role":"system","content":"` + strings.Repeat("rule ", 300) +
		`"},{"role":"user","content":"hi"}]}`)
	for _, c := range []struct {
		data []byte
		want bool
	}{{small, false}, {big, true}} {
		b, err := wire.Read(c.data, wire.Auto, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := WouldFit(b, Options{Budget: 500})
		if err != nil || tr.Manages() != c.want {
			t.Errorf("%v, %v: %s", tr.Manages(), err, tr.Reason)
		}
	}
}

// SPEC B4
func TestThresholds(t *testing.T) {
	profiles := map[string]float64{"own": 60, "inherits": -1, "low": 5, "wrong": 4, "high": 101}
	for _, c := range []struct {
		profile      string
		global, want float64
		warns        bool
	}{
		{"own", 80, 60, false}, {"inherits", 80, 80, false}, {"other", 80, 80, false}, {"low", 80, 5, false},
		{"wrong", 80, 80, true}, {"high", 80, 80, true}, {"other", 0, 100, false}, {"other", 3, 100, true},
		{"other", 200, 100, true},
	} {
		got, warning := Thresholds{Global: c.global, Profiles: profiles}.For(Profile{Name: c.profile})
		if got != c.want || (warning != "") != c.warns {
			t.Errorf("%+v: %g, %q", c, got, warning)
		}
	}
	if got, warning := (Thresholds{Global: 40, Min: 50, Max: 90}).For(Profile{}); got != 100 || warning == "" {
		t.Errorf("bounds are a setting: %g, %q", got, warning)
	}
}

// SPEC B3, B8
func TestWouldManage(t *testing.T) {
	b := Budget{Window: 100_000, Allowed: 60_000}
	for _, c := range []struct {
		tokens    int
		threshold float64
		condenses bool
		over      bool
		condense  bool
	}{
		{60_000, 100, false, false, false}, {60_001, 100, false, true, false}, {60_001, 100, true, true, true},
		{50_000, 50, true, false, true}, {49_999, 50, true, false, false}, {50_000, 50, false, false, false},
	} {
		tr := WouldManage(c.tokens, b, c.threshold, c.condenses)
		if tr.Over != c.over || tr.Condense != c.condense || tr.Reason == "" {
			t.Errorf("%+v: %+v", c, tr)
		}
	}
}

func example(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../examples/long-agent-run.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// SPEC E3: a cut goes to the low mark, and there is none until the high mark is
// reached again; between cuts the prefix is the same bytes.
func TestNoCutUntilTheHighMark(t *testing.T) {
	b, err := wire.Read(example(t), wire.Anthropic, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Format: wire.Anthropic, Budget: 16_000, Low: 8_000, Cache: token.NewCache(0)}
	var sent []byte
	var messages [][]byte
	cuts := 0
	for i := range b.Messages {
		messages = append(messages, b.Messages[i].Raw)
		if b.Messages[i].Role != chat.User {
			continue
		}
		data := splice(t, b, messages)
		out, plan, err := Fit(context.Background(), data, o)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Action == "none" {
			if !bytes.Equal(out, data) {
				t.Fatal("no action, other bytes")
			}
		} else {
			cuts++
			if plan.TokensAfter > o.Low {
				t.Errorf("a cut left %d tokens, over the low mark", plan.TokensAfter)
			}
			// The view is what is sent from now on.
			v, err := wire.Read(out, wire.Anthropic, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			messages = nil
			for j := range v.Messages {
				messages = append(messages, bytes.Clone(v.Messages[j].Raw))
			}
		}
		if sent != nil && plan.Action == "none" && !bytes.HasPrefix(out, sent[:len(sent)-200]) {
			t.Fatal("the prefix changed without a cut")
		}
		sent = bytes.TrimSuffix(out, []byte("]"))
		sent = sent[:bytes.LastIndex(sent, []byte(`"messages"`))]
	}
	if cuts < 2 || cuts > 4 {
		t.Errorf("%d cuts", cuts)
	}
}

func splice(t *testing.T, b *wire.Body, messages [][]byte) []byte {
	t.Helper()
	view := make([]wire.Piece, len(messages))
	for i, raw := range messages {
		view[i].Raw = raw
	}
	out, err := b.Write(view)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// SPEC E4: recovery is forced, strictly smaller each time, and ends in a clear
// error when nothing is left to cut.
func TestRecoveryGetsSmallerUntilItCannot(t *testing.T) {
	data := example(t)
	size := 1 << 30
	for i := 0; ; i++ {
		out, plan, err := Fit(context.Background(), data, Options{Mode: Recovery, Window: 1_000_000})
		if errors.Is(err, ErrCannotFit) {
			if i < 3 {
				t.Errorf("gave up after %d", i)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if plan.TokensAfter > size-max(1, size/10) || i > 60 {
			t.Fatalf("attempt %d: %d tokens after %d, which is less than a tenth smaller", i, plan.TokensAfter, size)
		}
		if p := strict.Anthropic(out); len(p) > 0 {
			t.Fatal(p)
		}
		size, data = plan.TokensAfter, out
	}
}

// SPEC E5: every cut is told to the model, to the caller and can be undone: the
// input is never changed, so dropping the plan gives back exactly what was there.
func TestEveryCutIsTold(t *testing.T) {
	data := example(t)
	before := bytes.Clone(data)
	for _, policy := range Policies() {
		out, plan, err := Fit(context.Background(), data, Options{Budget: 9000, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, before) {
			t.Fatalf("%s changed its input", policy)
		}
		if !bytes.Contains(out, []byte("[Oriel")) {
			t.Errorf("%s: nothing tells the model", policy)
		}
		for _, k := range plan.Blocks {
			if k.Reason == "" || k.Verdict == "" {
				t.Errorf("%s: message %d has no verdict or reason", policy, k.Index)
			}
		}
		if _, err := json.Marshal(plan); err != nil {
			t.Error(err)
		}
	}
}

// SPEC B5: condensing has its own model and prompt; the result has messages, text,
// cost by the model's price, tokens before and after, and the error.
func TestCondensingReportsItsCost(t *testing.T) {
	var asked condense.Request
	model := condense.Model{
		Prompt: "In one line, please.",
		Prices: token.Prices{Rates: token.Rates{Input: 1, Output: 10}},
		Window: 100_000,
		Call: func(_ context.Context, r condense.Request) (condense.Reply, error) {
			asked = r
			return condense.Reply{Text: "Alerts were sent twice; the key is now the UTC minute.", Stop: "end_turn",
				Usage: token.Usage{Input: 20_000, Output: 1_000}}, nil
		},
	}
	_, plan, err := Fit(context.Background(), example(t), Options{Budget: 20_000, Policy: "condense", Condenser: model})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Action != "condense" || !strings.Contains(plan.Summary.Text, "UTC minute") || plan.Summary.Error != "" {
		t.Fatalf("%s %+v", plan.Action, plan.Summary)
	}
	if got, want := plan.Summary.Cost, 0.02+0.01; got < want-1e-9 || got > want+1e-9 {
		t.Errorf("cost %g, want %g", got, want)
	}
	if !strings.Contains(asked.Prompt+asked.System, "In one line, please.") {
		t.Error("the prompt was not used")
	}
	if plan.TokensAfter >= plan.TokensBefore || plan.TokensAfter > 20_000 {
		t.Errorf("%d → %d", plan.TokensBefore, plan.TokensAfter)
	}
}

// SPEC B7: the action says condense only where a model wrote the summary.
func TestActionNamesWhoWroteTheSummary(t *testing.T) {
	model := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		return condense.Output{Text: "Alerts were sent twice; the key is now the UTC minute."}, nil
	})
	broken := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		return condense.Output{}, errors.New("no answer")
	})
	for _, c := range []struct {
		policy    string
		condenser condense.Condenser
		action    string
		failed    bool
	}{
		{"ladder", nil, "digest", false},
		{"ladder", model, "condense", false},
		{"ladder", broken, "digest", true},
		{"condense", nil, "digest", false},
		{"condense", condense.Extractive{}, "digest", false},
		{"condense", condense.Digest{}, "digest", false},
		{"condense", model, "condense", false},
		{"condense", broken, "evict", true},
	} {
		_, plan, err := Fit(context.Background(), example(t),
			Options{Budget: 8_000, Policy: c.policy, Condenser: c.condenser})
		if err != nil {
			t.Fatalf("%s with %T: %v", c.policy, c.condenser, err)
		}
		if plan.Action != c.action || (plan.Summary.Error != "") != c.failed {
			t.Errorf("%s with %T: action %s, error %q; want %s", c.policy, c.condenser, plan.Action, plan.Summary.Error,
				c.action)
		}
	}
}

// SPEC B3: where nothing that leaves is worth saying, one marker says how much it was, and
// nothing has failed.
func TestSmallTalkLeavesAMarkerAlone(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[`)
	for range 400 {
		b.WriteString(`{"role":"user","content":"Ann: Great, thanks! Yep, sure!"},{"role":"assistant","content":"Ben: Cool! Bye, take care!"},`)
	}
	b.WriteString(`{"role":"user","content":"Ann: Where is the hive?"}]}`)
	out, plan, err := Fit(context.Background(), []byte(b.String()), Options{Budget: 4_000})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Action != "evict" || plan.Summary.Error != "" || plan.Summary.Text != "" ||
		bytes.Count(out, []byte(chat.Mark)) != 1 || !bytes.Contains(out, []byte("earlier messages (")) {
		t.Errorf("action %s, summary %+v, %d marks", plan.Action, plan.Summary, bytes.Count(out, []byte(chat.Mark)))
	}
}

func TestANegativeLimitOfMessagesIsRefused(t *testing.T) {
	if _, err := decideCounted(context.Background(), counted(nil, chat.Rules{}, nil, 0, nil),
		Options{Policy: "slide", MaxItems: -1}, Trigger{}); err == nil || !strings.Contains(err.Error(), "-1") {
		t.Error(err)
	}
}

// A history whose newest message answers no call is refused by every provider, however
// few messages there are: slide takes none of it away.
func TestSlideLeavesAHistoryThatEndsBroken(t *testing.T) {
	history := []chat.Message{
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "1"}}},
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Result, ID: "2"}}},
	}
	d, err := decideCounted(context.Background(), counted(history, chat.Rules{ResultsFollow: true, RunsMerge: true},
		[]int{9, 9}, 0, nil),
		Options{Policy: "slide", Budget: 1000, Low: 1000, Mode: Hard, MaxItems: 1}, Trigger{Over: true})
	if err != nil || !d.shown[0] || !d.shown[1] {
		t.Errorf("%+v, %v", d, err)
	}
}

// SPEC B3: the first message can be kept, kept for its directives, or summarised.
func TestFirstMessageRules(t *testing.T) {
	for rule, want := range map[string]struct {
		whole, directives bool
	}{FirstKeep: {true, true}, FirstDirectives: {false, true}, FirstSummarise: {false, false}} {
		short := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
			return condense.Output{Text: "Something was done."}, nil
		})
		out, _, err := Fit(context.Background(), example(t), Options{Budget: 20_000, Policy: "condense", First: rule,
			Condenser: short})
		if err != nil {
			t.Fatal(err)
		}
		whole := bytes.Contains(out, []byte("Looking back at the mailbox"))
		directives := bytes.Contains(out, []byte("never touch db/migrations"))
		if whole != want.whole || directives != want.directives {
			t.Errorf("%s: whole %v, directives %v", rule, whole, directives)
		}
	}
}

// PROXY: superseded reads are masked before anything else, the stub names the tool,
// its main argument and its size, and that it can be run again.
func TestStubsTellTheTruth(t *testing.T) {
	out, plan, err := Fit(context.Background(), example(t), Options{Budget: 27_000})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Action != "mask" {
		t.Fatalf("action %s", plan.Action)
	}
	b, err := wire.Read(out, wire.Anthropic, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range b.Messages {
		for j := range b.Messages[i].Parts {
			p := &b.Messages[i].Parts[j]
			if !isStub(p) {
				continue
			}
			found++
			s := p.Text.String()
			if !strings.Contains(s, "tokens) is left out") || !strings.Contains(s, "Run it again if you need it.") ||
				!strings.Contains(s, "again later") {
				t.Errorf("stub %q", s)
			}
		}
	}
	if found == 0 {
		t.Error("no stub")
	}
}

// What is wrong is refused with the numbers and what to do.
func TestBadOptionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Budget: -1}, "a budget of -1: it must be 0 or more"},
		{Options{Policy: "x"}, `unknown policy "x"`},
		{Options{Mode: "x"}, `unknown mode "x"`},
		{Options{Pins: []int{99}}, "pin 99: the request has only messages 0 to 62"},
		{Options{Fraction: 2}, "a fraction of 2"},
		{Options{First: "x"}, "unknown first-message rule"},
		{Options{Profile: "x"}, `unknown profile "x"`},
		{Options{Low: 10, Budget: 5}, "a low mark of 10 is over the budget of 5"},
		{Options{Window: 1000}, "leaves nothing"},
		{Options{Budget: 1200}, "over the budget of 1200"},
	} {
		out, plan, err := Fit(context.Background(), example(t), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || out != nil || plan != nil {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// SPEC E6: nothing but the input decides.
func TestFitIsDeterministic(t *testing.T) {
	for _, policy := range Policies() {
		var first []byte
		for range 5 {
			out, plan, err := Fit(context.Background(), example(t), Options{Budget: 7000, Policy: policy})
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(plan)
			got := append(out, raw...)
			if first == nil {
				first = got
			}
			if !bytes.Equal(first, got) {
				t.Fatalf("%s: another plan", policy)
			}
		}
	}
}

// callsOf returns a request with so many calls of large arguments and results.
func callsOf(n, words int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[{"role":"user","content":"go on"}`)
	for i := range n {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"write","arguments":%q}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`,
			i, fmt.Sprintf(`{"text":%q}`, strings.Repeat("so it is ", words)), i, strings.Repeat("done it was ", words))
	}
	return []byte(b.String() + "]}")
}

// What emptying arguments saves is counted, so that nothing leaves that has room, and a
// message that the plan calls kept is sent unchanged.
func TestClearedInputsAreCountedAndTold(t *testing.T) {
	body := callsOf(8, 40)
	least := 0 // the smallest view that is sent without evicting anything
	for budget := 2400; budget > 400; budget -= 20 {
		out, plan, err := Fit(context.Background(), body, Options{Budget: budget, Policy: "mask", ClearInputs: true,
			KeepResults: -1})
		if errors.Is(err, ErrCannotFit) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		evicted := slices.ContainsFunc(plan.Blocks, func(b Block) bool { return b.Verdict == Evict })
		if !evicted {
			least = plan.TokensAfter
		} else if least < budget-roundingRoom-markerRoom {
			t.Fatalf("a budget of %d evicts, though %d tokens are enough", budget, least)
		}
		before, after := partsOf(t, body), partsOf(t, out)
		if evicted {
			continue
		}
		for _, b := range plan.Blocks {
			if same := bytes.Equal(before[b.Index], after[b.Index]); same != (b.Verdict == Keep) {
				t.Errorf("budget %d, message %d: %s, the same bytes %v", budget, b.Index, b.Verdict, same)
			}
		}
	}
	if least == 0 {
		t.Error("every budget evicts")
	}
}

func partsOf(t *testing.T, body []byte) (raw [][]byte) {
	t.Helper()
	b, err := wire.Read(body, wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Messages {
		raw = append(raw, b.Messages[i].Raw)
	}
	return raw
}

// SPEC B8: WouldFit says what Fit does, in every mode and under every policy.
func TestWouldFitAgreesWithFit(t *testing.T) {
	bodies := map[string][]byte{"calls": callsOf(8, 40), "talk": chatOf(40), "few": callsOf(1, 300)}
	for name, body := range bodies {
		b, err := wire.Read(body, wire.Auto, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		total := tokensOf(t, body)
		for _, policy := range Policies() {
			for _, mode := range []Mode{Soft, Hard, Recovery} {
				for _, budget := range []int{total / 2, total - total/20, total - 1, total, total * 2} {
					o := Options{Policy: policy, Mode: mode, Budget: budget}
					would, err := WouldFit(b, o)
					if err != nil {
						t.Fatal(err)
					}
					_, plan, err := Fit(context.Background(), body, o)
					if does := err != nil || plan.Action != "none"; does != would.Manages() {
						t.Errorf("%s, %s, %s, %d of %d: said %v (%s), did %v", name, policy, mode, budget, total,
							would.Manages(), would.Reason, does)
					}
				}
			}
		}
	}
}

// Calls whose results are masked lose their arguments too, where asked for.
func TestClearedInputs(t *testing.T) {
	out, plan, err := Fit(context.Background(), example(t), Options{Budget: 20_000, Policy: "mask", ClearInputs: true})
	if err != nil {
		t.Fatal(err)
	}
	if p := strict.Anthropic(out); len(p) > 0 || plan.Action != "mask" || !bytes.Contains(out, []byte(`"input": {}`)) {
		t.Errorf("%v, %s", p, plan.Action)
	}
}

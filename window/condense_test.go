package window

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// chatOf returns a request of 13 messages with the given words in each.
func chatOf(words int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[`)
	for i := range 13 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"role":%q,"content":%q}`, []string{"user", "assistant"}[i%2],
			fmt.Sprintf("message %d", i)+strings.Repeat(" word", words))
	}
	return []byte(b.String() + "]}")
}

func replies(text string, err error) condense.Condenser {
	return condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		return condense.Output{Text: text, Cost: 0.25}, err
	})
}

// SPEC B3: below what is allowed, condensing that fails costs nothing.
func TestCondensingThatFailsBelowTheLimitCostsNothing(t *testing.T) {
	body := chatOf(400)
	total := tokensOf(t, body)
	for name, c := range map[string]condense.Condenser{
		"an error":      replies("", errors.New("no answer")),
		"empty":         replies("  ", nil),
		"not smaller":   replies(strings.Repeat("word ", 6000), nil),
		"over the size": replies(strings.Repeat("word ", 60_000), nil),
	} {
		for _, allowed := range []int{total, total + 1, total + roundingRoom, total * 3 / 2} {
			for _, o := range []Options{
				{Thresholds: Thresholds{Global: 50}},
				{Profile: "small", Profiles: smallProfile(t)},
			} {
				o.Policy, o.Condenser, o.Window, o.Reserve, o.Margin = "condense", c, allowed+100, 100, NoMargin
				out, plan, err := Fit(context.Background(), body, o)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(out, body) || plan.Action != "none" || plan.Summary.Error == "" ||
					plan.Summary.Cost != 0.25 && name != "not smaller" {
					t.Errorf("%s, %d of %d allowed: %s, %d tokens sent, %+v", name, total, allowed, plan.Action,
						plan.TokensAfter, plan.Summary)
				}
			}
		}
	}
}

// smallProfile returns a profile whose budget is below the requests of this file.
func smallProfile(t *testing.T) *ProfileTable {
	t.Helper()
	table, err := NewProfiles(Profile{Name: "small", Policy: "condense", Budget: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func tokensOf(t *testing.T, body []byte) int {
	t.Helper()
	b, err := wire.Read(body, wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return token.NewCounter(token.Builtin().Lookup(b.Model), token.Options{}).Request(&b.Request).Total
}

// SPEC B3: a summary that fits what is allowed is used, even if it ends over the threshold.
func TestASummaryThatFitsIsUsed(t *testing.T) {
	body := chatOf(400)
	total := tokensOf(t, body)
	summary := strings.TrimSpace(strings.Repeat("fact ", 900))
	for _, allowed := range []int{total - 1, total, total + roundingRoom, total * 3 / 2} {
		o := Options{
			Policy: "condense", Condenser: replies(summary, nil), SummaryMax: 2000,
			Thresholds: Thresholds{Global: 20}, Window: allowed + 100, Reserve: 100, Margin: NoMargin,
		}
		_, plan, err := Fit(context.Background(), body, o)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Action != "condense" || plan.Summary.Text == "" || plan.Summary.Error != "" ||
			plan.TokensAfter > allowed {
			t.Errorf("%d allowed: %s, %d tokens, error %q", allowed, plan.Action, plan.TokensAfter, plan.Summary.Error)
		}
	}
}

// SPEC B3: over what is allowed, condensing that fails halves the history.
func TestCondensingThatFailsOverTheLimitHalves(t *testing.T) {
	body := chatOf(400)
	o := Options{Policy: "condense", Condenser: replies("", errors.New("no answer")), Window: tokensOf(t, body) + 99,
		Reserve: 100, Margin: NoMargin}
	_, plan, err := Fit(context.Background(), body, o)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Action != "evict" || plan.Summary.Error == "" || len(plan.Blocks) != 13 || plan.Blocks[0].Verdict != Keep ||
		plan.Blocks[6].Verdict != Evict || plan.Blocks[7].Verdict != Keep {
		t.Errorf("%s: %+v", plan.Action, plan.Blocks)
	}
}

// SPEC B5: a plan reports what a model was asked for in vain, also where pins or the newest
// words of the user have another draft take its place.
func TestAFailureIsReportedBesidePinsAndWords(t *testing.T) {
	long := strings.Repeat("alpha beta gamma ", 700)
	question := fmt.Appendf(nil,
		`{"model":"gpt-4o","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":%q},{"role":"user","content":"and?"},{"role":"assistant","content":%q},{"role":"user","content":%q}]}`, long, long, long)
	for name, c := range map[string]struct {
		body   []byte
		pins   []int
		budget int
	}{
		"pins":  {chatOf(400), []int{1, 2, 3, 4, 5, 6}, 3300},
		"words": {question, nil, tokensOf(t, question) / 2},
	} {
		for budget := c.budget - 200; budget < c.budget+200; budget += 7 {
			o := Options{Policy: "condense", Condenser: replies("", errors.New("no answer")), Budget: budget,
				Pins: c.pins}
			_, plan, err := Fit(context.Background(), c.body, o)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Summary.Cost != 0.25 || !strings.Contains(plan.Summary.Error, "no answer") {
				t.Errorf("%s, %d tokens: %+v", name, budget, plan.Summary)
			}
		}
	}
}

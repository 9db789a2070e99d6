package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

func TestTheOverviewIsTheSumOfTheDay(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 14, nil)
	w.talk(timeline.Local, "other", 2, nil)
	w.talk("ann", "secret", 3, nil)
	raw := []byte(`{"role":"user","content":"It came by no call."}`)
	if _, err := w.store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "imported", Now: time.Now(),
		Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatOpenAI,
			Role: "user", Time: noon}}}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w.hub.Publish(oriel.Event{Kind: oriel.EventOpen, Reason: "find",
			Error: errors.New("read page " + fmt.Sprint(100*i) + ` of "x": too slow`).Error()})
	}
	var o struct {
		Today struct {
			Calls, Cuts, Recalls, Passages int
			Tokens                         struct {
				Sent, Without, Output int
				LeftOut               int `json:"left_out"`
			}
			Money struct{ Cost, Without, Saved float64 }
		}
		Conversations struct{ Count, Active int }
		FailOpen      struct {
			Total   int
			Reasons []struct {
				Reason string
				Count  int
			}
		} `json:"fail_open"`
		Calibration struct {
			Calls  int
			Error  float64
			Models []struct{ Model string }
		}
		Store struct{ Messages int }
		Live  []struct {
			Conversation, Title string
			Call                int
		}
	}
	w.get("overview", &o)
	var total struct{ Total usage.Row }
	w.get("usage?since=today", &total)
	r := total.Total
	if o.Today.Calls != 16 || o.Today.Calls != r.Calls || o.Today.Tokens.Sent != r.Input ||
		o.Today.Tokens.Output != 16*20 || o.Today.Money.Cost != r.Cost || r.Cost == 0 ||
		o.Today.Tokens.Without != r.Input+r.LeftOut || o.Today.Tokens.LeftOut == 0 {
		t.Errorf("today %+v, usage %+v", o.Today, r)
	}
	_, plans, _ := w.pages("conversations/settle/plans", 500)
	if o.Today.Cuts == 0 || o.Today.Cuts+o.Today.Recalls < plans {
		t.Errorf("%d cuts, %d recalls, %d plans", o.Today.Cuts, o.Today.Recalls, plans)
	}
	if o.Conversations.Count != 3 || o.Conversations.Active != 2 || o.Store.Messages != 33 {
		t.Errorf("conversations %+v, %d messages", o.Conversations, o.Store.Messages)
	}
	if f := o.FailOpen; f.Total != 3 || len(f.Reasons) != 1 || f.Reasons[0].Count != 3 ||
		f.Reasons[0].Reason != `find: read page N of "…": too slow` {
		t.Errorf("fail-open %+v", f)
	}
	if c := o.Calibration; c.Calls != 16 || c.Error <= 0 || len(c.Models) != 1 {
		t.Errorf("calibration %+v", c)
	}
	if len(o.Live) != 16 || o.Live[0].Conversation != "other" || o.Live[0].Call != 2 ||
		!strings.HasPrefix(o.Live[0].Title, "Question 0 of other") {
		t.Errorf("live %+v", o.Live)
	}
}

// An imported session has the model, tokens and cost that its file says, as in the terminal, and
// a model without a price is named.
func TestImportedSessionsHaveTheirOwnFigures(t *testing.T) {
	w := newWorld(t, nil)
	for i, model := range []string{"claude-opus-4-5", "house-model"} {
		raw := fmt.Appendf(nil,
			`{"type":"assistant","message":{"role":"assistant","id":"m1","model":%q,"content":[{"type":"text","text":"It is done."}],"usage":{"input_tokens":1000,"cache_read_input_tokens":20000,"output_tokens":400}}}`, model)
		if _, err := w.store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: fmt.Sprint("imported", i),
			Now: noon, Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw,
				Format: timeline.FormatClaudeCode, Role: "assistant", Time: noon}}}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := report.Conversations(t.Context(), w.store, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatal(list)
	}
	for i := range list {
		a, err := report.ReadAbout(t.Context(), w.store, timeline.Local, &list[i], token.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Calls, Imported int
			Tokens          int `json:"tokens_before"`
			Model           string
			Cost, Without   float64
			Unknown         []string `json:"unknown_models"`
		}
		w.get("conversations/"+list[i].Name, &c)
		if c.Calls != 0 || c.Imported != 1 || c.Tokens != a.Tokens || c.Tokens == 0 || c.Model != a.Model ||
			c.Cost != a.Cost || c.Without != a.Cost || strings.Join(c.Unknown, " ") != strings.Join(a.Unpriced, " ") {
			t.Errorf("%+v, want %+v", c, a)
		}
		if known := a.Model == "claude-opus-4-5"; known != (c.Cost > 0) || known != (len(c.Unknown) == 0) {
			t.Errorf("%s costs %v, unknown %q", a.Model, c.Cost, c.Unknown)
		}
	}
}

// The figures of a server that has run all along are those of one that has just started.
func TestFiguresDoNotDependOnWhatIsRemembered(t *testing.T) {
	w := newWorld(t, nil)
	var messages []string
	for range 6 {
		messages = w.talk(timeline.Local, "settle", 5, messages)
		w.talk(timeline.Local, "other", 1, nil)
		fresh := newWorld(t, w.store)
		for _, path := range []string{"usage?by=hour", "usage?by=conversation", "usage?by=model", "conversations",
			"composition", "conversations/settle/strip", "conversations/settle/calls"} {
			old, now := w.do("GET", path, ""), fresh.do("GET", path, "")
			if diff := cmp.Diff(string(now.body), string(old.body)); diff != "" || now.status != 200 {
				t.Fatalf("%s, %d (-new +old):\n%s", path, now.status, diff)
			}
		}
	}
}

func TestTheCompositionOfADayAddsUp(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 14, nil)
	w.talk(timeline.Local, "other", 2, nil)
	var day composition.Total
	w.get("composition", &day)
	tokens, cost, share := 0, 0.0, 0.0
	kinds := map[composition.Kind]int{}
	for _, k := range day.Kinds {
		tokens, cost, share = tokens+k.Tokens, cost+k.Cost, share+k.Share
		kinds[k.Kind] += k.Tokens
	}
	if day.Calls != 16 || day.Read != 16 || tokens != day.Tokens || max(cost-day.Cost, day.Cost-cost) > 1e-4 ||
		share < .999 || share > 1.001 || day.Cost == 0 {
		t.Errorf("%d of %d calls; %d of %d tokens, %v of %v dollars, share %v", day.Read, day.Calls, tokens, day.Tokens,
			cost, day.Cost, share)
	}
	for _, k := range []composition.Kind{composition.System, composition.Tools, composition.People, composition.Model,
		composition.Results} {
		if kinds[k] == 0 {
			t.Errorf("no tokens of %s in %+v", k, day.Kinds)
		}
	}
	if len(day.Unused) != 1 || day.Unused[0].Name != "mcp__github__search" || day.Unused[0].Server != "github" ||
		day.Unused[0].Calls != 16 || day.Unused[0].Total != 16*day.Unused[0].Tokens || day.Unused[0].Cost <= 0 {
		t.Errorf("unused %+v", day.Unused)
	}
	if len(day.Largest) != 10 || day.Largest[0].Total < day.Largest[9].Total {
		t.Errorf("largest %+v", day.Largest)
	}
	// The sum is that of usage, with the parts of the call.
	w2 := newWorld(t, nil)
	w2.talk(timeline.Local, "one", 1, nil)
	var call composition.Window
	w2.get("composition", &day)
	w2.get("conversations/one/calls/1/composition", &call)
	var total struct{ Total usage.Row }
	w2.get("usage?since=today", &total)
	if day.Tokens != total.Total.Input || len(day.Largest) == 0 || day.Largest[0].Tokens != call.Largest[0].Tokens {
		t.Errorf("the day has %d tokens, usage %d; largest %+v and %+v", day.Tokens, total.Total.Input, day.Largest,
			call.Largest)
	}
}

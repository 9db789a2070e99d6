package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// decision is one that a digest keeps.
const decision = "We decided to store dates in UTC, because the clients are in four time zones."

// noteOf returns the digest or summary that a view begins with, as its plan has it.
func noteOf(t fatal, v View) (text, kind string) {
	t.Helper()
	for _, in := range v.Plan.Inserted {
		if in.Kind != condense.KindDigest && in.Kind != condense.KindSummary {
			continue
		}
		if text != "" {
			t.Fatalf("two of them: %+v", v.Plan.Inserted)
		}
		text, kind = in.Text, in.Kind
		if !strings.HasPrefix(v.Text, "# Recent Context\n"+text) || v.Messages[0].Parts[0].Text.String() != text {
			t.Fatalf("the view does not begin with %q:\n%s\n%q", text, v.Text, told(v))
		}
		if v.Plan.Summary.Text != text {
			t.Fatalf("the plan's summary is %q", v.Plan.Summary.Text)
		}
	}
	return text, kind
}

// SPEC D7: what has left a window of items is in the view as a digest, in messages and text,
// within the budget, and stays as it is until more has left.
func TestWhatLeftTheWindowIsDigested(t *testing.T) {
	c := open(t, Config{MaxItems: 6, Policy: "fifo"})
	add(t, c, Item{Source: "user", Content: decision})
	chatter(t, c, 20)
	plain := ContextOptions{NoRecall: true}
	first, kind := noteOf(t, contextOf(t, c, "q", plain))
	if !strings.HasPrefix(first, condense.Header(condense.KindDigest, 15)) || kind != condense.KindDigest ||
		!strings.Contains(first, "store dates in UTC") {
		t.Errorf("%q", first)
	}
	for range 3 {
		if again, _ := noteOf(t, contextOf(t, c, "something else", plain)); again != first {
			t.Errorf("(-first +again)\n%s", cmp.Diff(first, again))
		}
	}
	c.unload()
	if again, _ := noteOf(t, contextOf(t, c, "q", plain)); again != first {
		t.Errorf("after loading (-first +again)\n%s", cmp.Diff(first, again))
	}
	chatter(t, c, 2)
	next, _ := noteOf(t, contextOf(t, c, "q", plain))
	if !strings.HasPrefix(next, condense.Header(condense.KindDigest, 17)) ||
		!strings.Contains(next, "store dates in UTC") {
		t.Errorf("%q", next)
	}
	// What is shown beside it is not repeated (SPEC D3).
	if err := c.Pin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if v := contextOf(t, c, "q", plain); strings.Count(v.Text, "store dates in UTC") != 1 {
		t.Errorf("%s", v.Text)
	}
	if err := c.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, c, Item{Source: "user", Content: "Hello again."})
	if v := contextOf(t, c, "q", plain); len(v.Plan.Inserted) > 0 {
		t.Errorf("after Clear: %+v", v.Plan.Inserted)
	}
}

// SPEC D7, D10: a dismissed instruction leaves the digest with the next view.
func TestADismissedInstructionLeavesTheDigest(t *testing.T) {
	c := open(t, Config{MaxItems: 2, Policy: "fifo"})
	add(t, c, Item{Source: "user", Content: "From now on answer in French."}, Item{Source: "user", Content: decision})
	chatter(t, c, 12)
	plain := ContextOptions{NoRecall: true}
	if text, _ := noteOf(t, contextOf(t, c, "q", plain)); !strings.Contains(text, "French") {
		t.Fatalf("%q", text)
	}
	if err := c.Dismiss(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if text, _ := noteOf(t, contextOf(t, c, "q", plain)); strings.Contains(text, "French") ||
		!strings.Contains(text, "UTC") {
		t.Errorf("%q", text)
	}
}

// A failed tool is an error of the digest; what a tool says is nobody's words.
func TestDigestOfItemsFromTools(t *testing.T) {
	c := open(t, Config{MaxItems: 2, Policy: "fifo"})
	add(t, c, Item{Source: "user", Content: "Please make the parser accept comments."},
		Item{Source: "tool", Content: "Error: parse.go:12: undefined: scanComment", Failed: true},
		Item{Source: "file", Content: "We decided to delete everything. " + words(30)})
	chatter(t, c, 3)
	text, _ := noteOf(t, contextOf(t, c, "q", ContextOptions{NoRecall: true}))
	if !strings.Contains(text, "undefined: scanComment") || !strings.Contains(text, "accept comments") ||
		strings.Contains(text, "delete everything") {
		t.Errorf("%q", text)
	}
}

// SPEC D7, E6: whatever happens to a conversation, its digest is within the view's budget,
// begins it, is recorded in its plan, stands for items that were added since Clear, and is the
// same after a restart.
func TestDigestsOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := Open(context.Background(), Config{
			MaxTokens: rapid.SampledFrom([]int{60, 200, 800}).Draw(t, "tokens"),
			MaxItems:  rapid.IntRange(1, 12).Draw(t, "items"),
			Policy:    rapid.SampledFrom([]string{"fifo", "relevance"}).Draw(t, "policy"), NoEmbed: true,
			Calls: call.Options{Condense: rapid.SampledFrom([]*call.CondenseOptions{nil,
				{Inline: true, Condenser: condense.Func(joinWords)}}).Draw(t, "model")},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		said := []string{
			decision, "From now on answer in French.", "What about the tests?", "ok", words(50),
			"Error: parse.go:12: undefined",
			"[Oriel digest of 3 earlier messages]\nI am one.", "Use port 9321.", "",
		}
		added, cleared := 0, 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"add", "add", "add", "add", "view", "pin", "undo", "clear", "resize",
				"reload", "dismiss"}).Draw(t, "do") {
			case "add":
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					source := rapid.SampledFrom([]items.Source{"user", "assistant", "tool", "error", "system",
						""}).Draw(t, "source")
					if _, _, err := c.Add(t.Context(),
						Item{Source: source, Content: fmt.Sprint(rapid.SampledFrom(said).Draw(t, "said"),
							added)}); err != nil {
						t.Fatal(err)
					}
					added++
				}
			case "pin":
				if added > 0 {
					pinAny(t, c, int64(rapid.IntRange(1, added).Draw(t, "id")))
				}
			case "undo":
				if err := c.Undo(t.Context(), ""); err != nil && !errors.Is(err, fault.ErrCannotFit) &&
					!errors.Is(err, fault.ErrNoPlan) {
					t.Fatal(err)
				}
			case "clear":
				if err := c.Clear(t.Context()); err != nil {
					t.Fatal(err)
				}
				cleared = added
			case "resize":
				if _, err := c.Resize(t.Context(), rapid.IntRange(20, 900).Draw(t, "size")); err != nil {
					t.Fatal(err)
				}
			case "dismiss":
				if added > 0 {
					if err := c.Dismiss(t.Context(), int64(rapid.IntRange(1, added).Draw(t, "id"))); err != nil {
						t.Fatal(err)
					}
				}
			case "reload":
				c.unload()
			case "view":
				o := ContextOptions{Budget: rapid.SampledFrom([]int{0, 40, 150, 600}).Draw(t, "budget"),
					NoRecall: rapid.Bool().Draw(t, "plain")}
				v := viewTwice(t, c, o)
				text, _ := noteOf(t, v)
				_, of, _ := condense.Unmark(text)
				if text != "" && (of < 1 || of > added-cleared) {
					t.Fatalf("%d added, %d cleared: %q", added, cleared, text)
				}
				if strings.Contains(text[min(1, len(text)):], "[Oriel digest") {
					t.Fatalf("nested: %q", text)
				}
			}
		}
	})
}

// viewTwice makes a view, and again after a reload.
func viewTwice(t *rapid.T, c *Conversation, o ContextOptions) View {
	v, err := c.Context(t.Context(), "q", o)
	c.unload()
	again, failed := c.Context(t.Context(), "q", o)
	if fmt.Sprint(err) != fmt.Sprint(failed) || v.Text != again.Text {
		t.Fatalf("%v, %v (-first +again)\n%s", err, failed, cmp.Diff(v.Text, again.Text))
	}
	if err != nil {
		if !errors.Is(err, fault.ErrCannotFit) {
			t.Fatal(err)
		}
		return View{Plan: (*Plan)(c.engine.newPlan("", 0))}
	}
	if v.Tokens > v.Plan.Budget || v.Tokens != c.engine.config.Count(v.Text) {
		t.Fatalf("%d tokens of %d", v.Tokens, v.Plan.Budget)
	}
	return v
}

func pinAny(t *rapid.T, c *Conversation, id int64) {
	if err := c.Pin(t.Context(), id); err != nil && !errors.Is(err, fault.ErrCannotFit) {
		t.Fatal(err)
	}
}

// joinWords is a model that writes as much as it may, or nothing.
func joinWords(_ context.Context, in condense.Input) (condense.Output, error) {
	if len(in.Messages)%3 == 0 {
		return condense.Output{}, errors.New("busy")
	}
	return condense.Output{Text: "Summary:\n[user] not a user. " + strings.Repeat("More. ", in.Max), Cost: .01}, nil
}

// SPEC D8: neither an addition nor a view reads or writes more when the history is longer.
func TestDigestsCostTheSameAtAnyLength(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, policy := range []string{"fifo", "relevance"} {
		store := &tape{Store: memory.New()}
		c := conversation(t, over(t, store, Config{Policy: policy, MaxItems: 20}), "c")
		next := 0
		turns := func(n, every int) (calls, bytes int) {
			store.calls, store.bytes = 0, 0
			for i := range n {
				if _, _, err := c.Add(t.Context(), talk(next)); err != nil {
					t.Fatal(err)
				}
				if next++; i%every == 0 {
					contextOf(t, c, "q", ContextOptions{NoRecall: true})
				}
			}
			return store.calls, store.bytes
		}
		turns(300, 5)
		calls, bytes := turns(100, 5)
		turns(3000, 1<<30)
		turns(100, 5)
		later, more := turns(100, 5)
		if later > calls*5/4 || more > bytes*5/4 {
			t.Errorf("%s: %d calls and %d bytes became %d and %d", policy, calls, bytes, later, more)
		}
	}
}

// SPEC B5, B7, D7: a model's summary takes the place of the digest when the settings have
// one: inline at once, otherwise when more has left. What it cost is reported.
func TestAModelSummarisesWhatLeftTheWindow(t *testing.T) {
	for _, inline := range []bool{true, false} {
		t.Run(fmt.Sprint("inline ", inline), func(t *testing.T) {
			var mu sync.Mutex
			var events []event.Event
			wrote := make(chan struct{}, 9)
			model := condense.Func(func(_ context.Context, in condense.Input) (condense.Output, error) {
				text := "They store dates in UTC."
				if in.Previous != "" {
					text += " The novel goes on."
				}
				return condense.Output{Text: text, Cost: .25, TokensIn: 90, TokensOut: 9}, nil
			})
			c := open(t, Config{MaxItems: 6, Policy: "fifo",
				Calls: call.Options{Condense: &call.CondenseOptions{Condenser: model, Inline: inline}},
				Events: func(e event.Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.Kind == event.Condensation {
						events = append(events, e)
						wrote <- struct{}{}
					}
				}})
			add(t, c, Item{Source: "user", Content: decision})
			chatter(t, c, 20)
			plain := ContextOptions{NoRecall: true}
			v := contextOf(t, c, "q", plain)
			text, kind := noteOf(t, v)
			<-wrote
			want := condense.Header(condense.KindSummary, 15) + "\nThey store dates in UTC."
			if inline && (text != want || v.Plan.Summary.Cost != .25 || v.Plan.Action != "condense") {
				t.Errorf("%q, %+v", text, v.Plan)
			}
			if !inline && kind != condense.KindDigest {
				t.Errorf("%s %q", kind, text)
			}
			if again, _ := noteOf(t, contextOf(t, c, "q", plain)); again != text {
				t.Errorf("nothing left, and the view begins with %q", again)
			}
			add(t, c, Item{Source: "user", Content: "We agreed to call the harbour heron."})
			chatter(t, c, 8)
			c.unload()
			text, kind = noteOf(t, contextOf(t, c, "q", plain))
			<-wrote
			if kind != condense.KindSummary || !strings.Contains(text, "They store dates in UTC.") {
				t.Errorf("%s %q", kind, text)
			}
			if !inline && !strings.Contains(text, "Since then:") {
				t.Errorf("%q", text)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, e := range events {
				if e.Cost != .25 || e.TokensBefore <= e.TokensAfter || e.TokensAfter == 0 || e.Conversation != "c" ||
					e.Time.IsZero() || e.Items == 0 || e.Error != "" {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// SPEC B3: a model that fails costs the view nothing but its summary, and what was charged
// is told.
func TestAModelThatFailsLeavesTheDigest(t *testing.T) {
	var events []event.Event
	broken := condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
		return condense.Output{Cost: .5}, errors.New("no such model")
	})
	c := open(t, Config{
		MaxItems: 6, Policy: "fifo",
		Calls:  call.Options{Condense: &call.CondenseOptions{Condenser: broken, Inline: true}},
		Events: func(e event.Event) { events = append(events, e) },
	})
	add(t, c, Item{Source: "user", Content: decision})
	chatter(t, c, 20)
	v := contextOf(t, c, "q", ContextOptions{NoRecall: true})
	if text, kind := noteOf(t, v); kind != condense.KindDigest || !strings.Contains(text, "UTC") ||
		len(v.Plan.Warnings) != 1 {
		t.Errorf("%s %q, %q", kind, text, v.Plan.Warnings)
	}
	at := slices.IndexFunc(events, func(e event.Event) bool { return e.Kind == event.Condensation })
	if at < 0 || events[at].Cost != .5 || !strings.Contains(events[at].Error, "no such model") {
		t.Errorf("%+v", events)
	}
}

// SPEC E2: a digest costs the query no word.
func TestADigestTakesNothingFromTheQuery(t *testing.T) {
	c := open(t, Config{MaxTokens: 200, MaxItems: 6, Policy: "fifo"})
	add(t, c, Item{Source: "user", Content: decision})
	chatter(t, c, 20)
	for n := range 200 {
		query := words(n)
		v, err := c.Context(t.Context(), query, ContextOptions{NoRecall: true})
		if err != nil || n+7 <= 200 && !strings.HasSuffix(v.Text, "\n"+query) && n < 180 {
			t.Fatalf("%d words: %v\n%s", n, err, v.Text)
		}
	}
}

// SPEC D3: a line that quotes what is shown beside the digest leaves it, with its title if no
// other line is left.
func TestADigestDoesNotRepeatWhatIsShown(t *testing.T) {
	const text = "[Oriel digest of 9 earlier messages]\nThey store dates.\n\nSince then:\nTask:\n" +
		"- Paint the  boats blue. … By Friday, please.\nAgreed:\n- user: " + decision +
		"\n- user: Never on Sundays.\nOpen:\n- user: ok"
	for _, c := range []struct{ shown, want string }{
		{"", text},
		{"Paint the boats blue. Or not. By Friday, please.",
			strings.Replace(text, "Task:\n- Paint the  boats blue. … By Friday, please.\n", "", 1)},
		{"So: " + decision, strings.Replace(text, "- user: "+decision+"\n", "", 1)},
		{decision + " Never on Sundays.", strings.Replace(strings.Replace(text, "- user: "+decision+"\n", "", 1),
			"Agreed:\n- user: Never on Sundays.\n", "", 1)},
		{"ok", text}, // too short to tell
	} {
		if got := unrepeated(text, []items.Item{{Content: c.shown}}); got != c.want {
			t.Errorf("beside %q (-want +got)\n%s", c.shown, cmp.Diff(c.want, got))
		}
	}
	// A title of a model's stays, also one without a list.
	summary := "[Oriel summary of 9 earlier messages]\nThey discuss:\n1. boats\n- user: " + decision +
		"\nTo do:\nPaint them, and ask:\n\nwhen?"
	if got := unrepeated(summary, []items.Item{{Content: "boats"}}); got != summary {
		t.Errorf("(-want +got)\n%s", cmp.Diff(summary, got))
	}
	if got, want := unrepeated(summary, []items.Item{{Content: decision}}),
		strings.Replace(summary, "- user: "+decision+"\n", "", 1); got != want {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
	if got := unrepeated("[Oriel digest of 2 earlier messages]\nAgreed:\n- user: "+decision,
		[]items.Item{{Content: decision}}); got != "" {
		t.Errorf("nothing is left, but %q", got)
	}
}

// SPEC D7: a history that came another way has a digest of what is just before its window.
func TestAnImportedHistoryHasADigest(t *testing.T) {
	store := &tape{Store: memory.New()}
	c := timeline.Change{Conversation: "c", Now: noon}
	for i := range 3000 {
		raw := fmt.Appendf(nil,
			`{"role":"user","text":"We decided to paint boat %d blue, because its owner likes the colour of the sea."}`,
			i)
		c.Messages = append(c.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
			Format: timeline.FormatGeneric, Role: "user", Time: noon})
	}
	if _, err := store.Apply(t.Context(), timeline.Local, c); err != nil {
		t.Fatal(err)
	}
	store.calls = 0
	v := contextOf(t, conversation(t, over(t, store, Config{MaxItems: 5, MaxTokens: 800}), "c"), "q",
		ContextOptions{NoRecall: true})
	text, _ := noteOf(t, v)
	if _, of, ok := condense.Unmark(text); !ok || of != maxWaiting || store.calls > 40 {
		t.Errorf("%d of them, %d calls:\n%s", of, store.calls, v.Text)
	}
}

// SPEC D7: a conversation of an earlier version, which kept no digest, gets one of what is not
// in its window, whatever was pinned there.
func TestConversationsWithoutADigestGetOne(t *testing.T) {
	store := memory.New()
	c := conversation(t, over(t, store, Config{MaxItems: 6, Policy: "fifo"}), "c")
	add(t, c, Item{Source: "user", Content: "The first words of all.", Flags: []items.Flag{items.FlagStarred}},
		Item{Source: "user", Content: decision})
	chatter(t, c, 18)
	plain := ContextOptions{NoRecall: true}
	want, _ := noteOf(t, contextOf(t, c, "q", plain))
	records, err := store.Records(t.Context(), timeline.Local, "c", kindState, stateKey)
	if err != nil || len(records) != 1 {
		t.Fatal(len(records), err)
	}
	var state map[string]any
	if err := json.Unmarshal(records[0].Data, &state); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"digest", "waits", "waiting", "due"} {
		delete(state, name)
	}
	if records[0].Data, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	now, err := store.Conversation(t.Context(), timeline.Local, "c")
	if err != nil {
		t.Fatal(err)
	}
	change := timeline.Change{
		Conversation: "c", Expect: &now.Revision, ExpectCreated: now.Created, Stay: true, Now: noon, Put: records,
		Drop: []timeline.Key{{Kind: kindDigest, Key: stateKey}},
	}
	if _, err := store.Apply(t.Context(), timeline.Local, change); err != nil {
		t.Fatal(err)
	}
	c.unload()
	if got, _ := noteOf(t, contextOf(t, c, "q", plain)); got != want ||
		!strings.HasPrefix(got, condense.Header(condense.KindDigest, 14)) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
}

// SPEC D7: the digest of a branch that was left says nothing on the branch where the
// conversation goes on.
func TestADigestStaysOnItsBranch(t *testing.T) {
	b := newBranching(t, Config{MaxItems: 3, Policy: "fifo"})
	said := func(words string) []string {
		texts := []string{words}
		for i := range 12 {
			texts = append(texts, fmt.Sprintf("%s Part %d of %q goes on and on, as novels do.", words, i, words[:12]))
		}
		return texts
	}
	trunk := b.say(timeline.Place{}, append([]string{"Hello."}, said(decision)...)...)
	plain := ContextOptions{NoRecall: true}
	if text, _ := noteOf(t, contextOf(t, b.c, "q", plain)); !strings.Contains(text, "UTC") {
		t.Fatalf("%q", text)
	}
	b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 1}, said("We decided to keep the harbour closed at night.")...)
	if err := b.c.Pin(t.Context(), 1); err != nil { // it stores the state
		t.Fatal(err)
	}
	b.c.unload()
	if text, _ := noteOf(t, contextOf(t, b.c, "q", plain)); strings.Contains(text, "UTC") ||
		!strings.Contains(text, "harbour closed") {
		t.Errorf("%q", text)
	}
}

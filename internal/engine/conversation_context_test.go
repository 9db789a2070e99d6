package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

func contextOf(t testing.TB, c *Conversation, query string, o ContextOptions) View {
	t.Helper()
	v, err := c.Context(t.Context(), query, o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, c)
	accepted(t, v, query)
	return v
}

// accepted lets the judge of each protocol look at the messages.
func accepted(t fatal, v View, query string) {
	t.Helper()
	if len(v.Messages) == 0 {
		return
	}
	for i, m := range v.Messages {
		if want := []chat.Role{chat.User, chat.Assistant}[i%2]; m.Role != want {
			t.Fatalf("message %d is the %s's", i, m.Role)
		}
	}
	last := v.Messages[len(v.Messages)-1]
	if strings.TrimSpace(query) == "" {
		if last.Role == chat.Assistant {
			return // an answer to be continued: not every protocol has that
		}
	} else if end := last.Parts[len(last.Parts)-1].Text.String(); end != query && !clip.WithoutMiddle(end) &&
		!strings.HasPrefix(query, end) {
		t.Fatalf("the messages end with %q", end)
	}
	for _, p := range protocols.All() {
		body, err := wire.Encode(p.Format, &chat.Request{Model: "m", Messages: v.Messages})
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if problems := p.Judge(body); len(problems) > 0 {
			t.Fatalf("%s: %v\n%s", p, problems, body)
		}
	}
}

// told writes messages down, one line each.
func told(v View) (lines []string) {
	for _, m := range v.Messages {
		var parts []string
		for _, p := range m.Parts {
			parts = append(parts, p.Text.String())
		}
		lines = append(lines, string(m.Role)+": "+strings.Join(parts, " | "))
	}
	return lines
}

// verdicts writes a plan down, one line for each item.
func verdicts(p *Plan) (lines []string) {
	for _, b := range p.Blocks {
		lines = append(lines, fmt.Sprintf("%d %s: %s", b.Index, b.Verdict, b.Reason))
	}
	return lines
}

// SPEC D4: recent window, relevant history and query, as one text and as messages
// that take turns; the plan has a verdict for every item.
func TestViewHasThreeParts(t *testing.T) {
	c := open(t, Config{})
	add(t, c,
		Item{Source: "assistant", Content: "Welcome."},
		Item{Source: "user", Content: "Look at this."},
		Item{Source: "file", Content: "a.txt"},
		Item{Source: "user", Content: " "},
		Item{Source: "assistant", Content: "I see."},
		Item{Source: "system", Content: "Be brief.", Flags: []items.Flag{"starred"}})
	v := contextOf(t, c, "And?", ContextOptions{Relevant: []Item{
		{Content: "B was red.", Time: noon.Add(-time.Hour)}, {Content: "A was blue.", Time: noon.Add(-2 * time.Hour)},
		{ID: 6, Content: "Be brief."}, {ID: 2, Content: "Look at this."},
	}})
	want := `# Recent Context
[assistant] Welcome.

[user] Look at this.

[file] a.txt

[user]  

[assistant] I see.

[system] Be brief.

# Relevant Historical Context
[2025-07-10 10:00] A was blue.

[2025-07-10 11:00] B was red.

# Current Query
And?`
	if diff := cmp.Diff(want, v.Text); diff != "" {
		t.Errorf("text (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"user: [Oriel: the conversation begins with the assistant]",
		"assistant: Welcome.",
		"user: Look at this. | [file] a.txt",
		"assistant: I see.",
		"user: [system] Be brief. | # Relevant Historical Context\n[2025-07-10 10:00] A was blue.\n\n[2025-07-10 11:00] B was red. | And?",
	}, told(v)); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"1 keep: recent", "2 keep: recent", "3 keep: recent", "4 keep: recent", "5 keep: recent", "6 keep: pinned",
	}, verdicts(v.Plan)); diff != "" {
		t.Errorf("plan (-want +got)\n%s", diff)
	}
	p := v.Plan
	if p.Action != "recall" || p.Undo != "p1" || len(p.Inserted) != 3 || p.Inserted[0].Into != 4 ||
		p.TokensBefore != p.TokensAfter || v.Tokens != p.TokensAfter {
		t.Errorf("plan %+v", p)
	}
	if err := c.Undo(t.Context(), "p1"); err != nil { // nothing was left out
		t.Error(err)
	}
}

// SPEC D3: what the window shows is not repeated, nor is the query.
func TestQueryIsNotRepeated(t *testing.T) {
	c := open(t, Config{})
	add(t, c, Item{Source: "user", Content: "Hello"}, Item{Source: "assistant", Content: "Hi"},
		Item{Source: "user", Content: "Why?"})
	v := contextOf(t, c, "Why?", ContextOptions{Relevant: []Item{{ID: 3, Content: "Why?"}, {ID: 1, Content: "Hello"}}})
	if diff := cmp.Diff([]string{"user: Hello", "assistant: Hi", "user: Why?"}, told(v)); diff != "" {
		t.Errorf("messages (-want +got)\n%s", diff)
	}
	if got := verdicts(v.Plan)[2]; got != "3 keep: the query itself" {
		t.Error(got)
	}
	if strings.Count(v.Text, "Why?") != 1 {
		t.Errorf("text:\n%s", v.Text)
	}
	if got := told(contextOf(t, c, "", ContextOptions{})); len(got) != 3 || got[2] != "user: Why?" {
		t.Errorf("a blank query: %q", got)
	}
}

// SPEC D4: without a query the newest item ends the messages, and what is relevant stands
// before it.
func TestWithoutAQueryTheNewestItemIsLast(t *testing.T) {
	c := open(t, Config{})
	about := ContextOptions{NoRecall: true, Relevant: []Item{{Content: "B was red.", Time: noon}}}
	const relevant = "# Relevant Historical Context\n[2025-07-10 12:00] B was red."
	if got := told(contextOf(t, c, "", about)); len(got) != 1 || got[0] != "user: "+relevant {
		t.Errorf("of nothing: %q", got)
	}
	add(t, c, Item{Source: "user", Content: "Hello"}, Item{Source: "assistant", Content: "Hi"},
		Item{Source: "user", Content: "Why?"}, Item{Source: "user", Content: " "})
	v := contextOf(t, c, "", about)
	if diff := cmp.Diff([]string{"user: Hello", "assistant: Hi", "user: " + relevant + " | Why?"},
		told(v)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if in := v.Plan.Inserted; len(in) != 1 || in[0].Into != 2 {
		t.Errorf("%+v", in)
	}
	add(t, c, Item{Source: "assistant", Content: "Because"})
	v = contextOf(t, c, " ", about)
	if diff := cmp.Diff([]string{"user: Hello", "assistant: Hi", "user: Why? | " + relevant, "assistant: Because"},
		told(v)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if in := v.Plan.Inserted; len(in) != 1 || in[0].Into != 2 {
		t.Errorf("%+v", in)
	}
}

// SPEC D4, E5: what has no room is left out oldest first, but what is pinned has
// precedence; the model and the caller are told; undoing the plan gives precedence
// to what it left out.
func TestViewWithinABudgetCanBeUndone(t *testing.T) {
	c := open(t, Config{})
	for i := range 6 {
		source := items.SourceUser
		if i%2 == 1 {
			source = items.SourceAssistant
		}
		add(t, c, Item{Source: source, Content: fmt.Sprint(i+1, " ", words(9))})
	}
	if err := c.Pin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	o := ContextOptions{Budget: 60}
	v := contextOf(t, c, "q", o)
	if diff := cmp.Diff([]string{
		"1 keep: pinned",
		"2 evict: older than what fits in 60 tokens",
		"3 evict: older than what fits in 60 tokens",
		"4 evict: older than what fits in 60 tokens",
		"5 keep: recent",
		"6 keep: the newest item",
	}, verdicts(v.Plan)); diff != "" {
		t.Errorf("plan (-want +got)\n%s", diff)
	}
	if first := told(v)[0]; !strings.HasPrefix(first, "user: "+hiddenMark+" | 1 word") {
		t.Errorf("the messages begin with %q", first)
	}
	if v.Plan.Action != "evict" || v.Plan.TokensBefore <= v.Plan.TokensAfter || v.Plan.Inserted[0].Text != hiddenMark {
		t.Errorf("plan %+v", v.Plan)
	}
	if diff := cmp.Diff([]int64{1, 5, 6}, ids(v.Recent)); diff != "" {
		t.Errorf("recent (-want +got)\n%s", diff)
	}
	if len(inView(t, c)) != 6 {
		t.Error("making a view took items out of the window")
	}
	if err := c.Undo(t.Context(), v.Plan.Undo); err != nil {
		t.Fatal(err)
	}
	got := verdicts(contextOf(t, c, "q", o).Plan)
	if got[3] != "4 keep: held since an undo" || got[4] != "5 evict: older than what fits in 60 tokens" ||
		!strings.HasPrefix(got[1], "2 evict: pinned or held, but 60") {
		t.Errorf("plan %q", got)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verdicts(v.Plan), verdicts(contextOf(t, c, "q", o).Plan)); diff != "" {
		t.Errorf("released (-want +got)\n%s", diff)
	}
}

// SPEC E2: the query reaches the model, however large it is.
func TestLargeQueryLosesItsMiddle(t *testing.T) {
	c := open(t, Config{MaxTokens: 100})
	add(t, c, Item{Source: "user", Content: "Hello"})
	v := contextOf(t, c, "first "+words(500)+" last", ContextOptions{})
	end := told(v)[len(v.Messages)-1]
	if v.Tokens > 100 || !strings.Contains(end, "first") || !strings.HasSuffix(end, "last") ||
		len(v.Plan.Warnings) != 1 || v.Plan.Action == "none" {
		t.Errorf("%d tokens, %+v\n%s", v.Tokens, v.Plan, end)
	}
}

// SPEC A2: messages are within the budget as a provider counts them, too.
func TestMessagesAreWithinTheBudgetAsProvidersCount(t *testing.T) {
	m := token.Builtin().Lookup("gpt-4o")
	counter := token.NewCounter(m, token.Options{})
	c := open(t, Config{Count: func(s string) int { return counter.Text(s).Tokens }})
	for i := range 120 {
		add(t, c, Item{Source: []items.Source{"file", "assistant"}[i%2],
			Content: fmt.Sprintf("line %d of something", i)})
		if i%10 != 9 {
			continue
		}
		for _, budget := range []int{100, 500, 0} {
			v := contextOf(t, c, "What does it say?", ContextOptions{Budget: budget})
			n := counter.Request(&chat.Request{Messages: v.Messages}).Total
			if n > v.Plan.Budget+3 || v.Tokens > v.Plan.Budget { // 3 begin the reply
				t.Fatalf("%d items: text %d, messages %d of %d", i+1, v.Tokens, n, v.Plan.Budget)
			}
		}
	}
}

package call_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// SPEC D10: at a cut, what a person has dismissed is not offered, and what was edited is
// offered as edited. The message stays as it was said.
func TestACutOffersInstructionsAsPeopleEditedThem(t *testing.T) {
	dir := t.TempDir()
	b := start(t, openStore(t, dir), replying, thrifty, func(o *call.TestOptions) { o.RecallWait = time.Minute })
	k := newTalker(b, "X-Oriel-Budget", "4000")
	rules := []string{"Always use tabs in Go files.", "From now on never push to main.", "Always sign commits, please."}
	k.say()
	for _, rule := range rules {
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, rule)))
		k.again()
	}
	if err := k.person(dir, func(c *oriel.Conversation) error {
		if err := c.EditDirective(ctx, 2, "x"); !errors.Is(err, oriel.ErrNoDirective) {
			t.Errorf("the words of the model were edited: %v", err)
		}
		if err := c.Dismiss(ctx, 3); err != nil {
			return err
		}
		return c.EditDirective(ctx, 5, "Push to main only\nafter a review.")
	}); err != nil {
		t.Fatal(err)
	}
	k.untilCut()
	title := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(prompt.StandingTitle)
	_, offered, _ := strings.Cut(strings.ReplaceAll(string(k.last), `\u003e`, ">"), title)
	offered, _, _ = strings.Cut(offered, prompt.Note)
	if want := `user, edited> Push to main only after a review.\nuser> Always sign commits, please.\n`; offered != want {
		t.Errorf("offered %q, want %q:\n%s", offered, want, k.last)
	}
	if sent := string(k.last); !strings.Contains(sent, prompt.Condensed+"digest") ||
		strings.Contains(sent, "Always use tabs") || strings.Contains(sent, "From now on never push") ||
		!strings.Contains(sent, "- user: Always sign commits") {
		t.Errorf("the digest quotes what was dismissed or edited, or not what holds:\n%s", sent)
	}
	if err := k.person(dir, func(c *oriel.Conversation) error {
		all, err := c.Directives(ctx)
		if len(all) != 2 || all[0].ID != 5 || all[0].Original != rules[1] ||
			all[0].Text != "Push to main only after a review." || all[1].Text != rules[2] || all[1].Original != "" {
			t.Errorf("%+v", all)
		}
		it, err2 := c.Item(ctx, 5)
		if it.Content != rules[1] {
			t.Errorf("the message was changed: %+v", it)
		}
		return errors.Join(err, err2)
	}); err != nil {
		t.Fatal(err)
	}
}

// SPEC D10: the first call of a conversation is offered what people made of the instructions
// of its project.
func TestAFirstCallOffersEditedInstructions(t *testing.T) {
	store := memory.New()
	raw := []byte(`{"role":"user","content":"Always run make lint before you commit. I prefer short messages."}`)
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	if _, err := store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "rules", Project: "/src/shop",
		Now: now, Messages: []timeline.Message{
			{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatAnthropic, Role: "user", Time: now},
		}}); err != nil {
		t.Fatal(err)
	}
	client, url, e, got, _ := through(t,
		oriel.Config{Store: store, Calls: call.Options{RecallReach: recall.ReachProject, RecallWait: time.Minute}},
		reply)
	c, err := e.Conversation(t.Context(), "rules")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EditDirective(t.Context(), 1, "Always run make check before you push."); err != nil {
		t.Fatal(err)
	}
	say := func(words string) string {
		t.Helper()
		post(t, client, url+"/v1/messages", claudeCall("/src/shop", words))
		all := got()
		return all[len(all)-1].body
	}
	if first := say("Translate this poem about the sea into Portuguese."); !strings.Contains(first,
		"run make check before you push") || !strings.Contains(first, "user, edited") ||
		strings.Contains(first, "make lint") {
		t.Errorf("not as edited: %s", first)
	}
	for _, w := range []recall.Where{{Project: "/src/shop", Reach: recall.ReachProject},
		{Conversation: "rules", Reach: recall.ReachUser}} {
		all, err := e.Directives(t.Context(), w)
		if err != nil || len(all) != 1 || all[0].Conversation != "rules" || all[0].ID != 1 ||
			all[0].Kind != recall.Instruction || !strings.Contains(all[0].Original, "I prefer short") {
			t.Errorf("%+v: %+v, %v", w, all, err)
		}
	}
	long := strings.Repeat("Run make check before you push, wherever that is. ", 100)[:oriel.MaxDirective-1] + "."
	if err := c.EditDirective(t.Context(), 1, long); err != nil {
		t.Fatal(err)
	}
	if first := say("Which birds sing at night?"); !strings.Contains(first, "Run make check") {
		t.Errorf("the longest text is left out: %s", first)
	}
	if err := c.Dismiss(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if first := say("How tall is the tower in Paris?"); strings.Contains(first, "make check") ||
		strings.Contains(first, "make lint") {
		t.Errorf("it was dismissed: %s", first)
	}
}

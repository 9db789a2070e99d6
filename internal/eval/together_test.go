package eval

import (
	"errors"
	"testing"

	"github.com/oriel-context/oriel/recall"
)

func TestConversationsTogetherAreOneHaystack(t *testing.T) {
	conversation := func(name, text string) Conversation {
		return Conversation{
			Name: name,
			Messages: []recall.Message{{Conversation: name, Block: "1", Ref: "u1", Session: "s", Role: "user",
				Text: text}},
			Questions: []Question{{ID: "q1", Kind: "k", Text: "What is the parrot of " + name + " called?",
				Evidence: []string{"u1"}}},
		}
	}
	set := &Set{Format: "generic",
		Conversations: []Conversation{conversation("ann", "My parrot is called Captain Flint."),
			conversation("ben", "I call my parrot Silver, after the cook.")}}
	all, err := set.Together()
	if err != nil || len(all.Conversations) != 1 {
		t.Fatal(all, err)
	}
	c := &all.Conversations[0]
	if unknown := c.known(); len(unknown) > 0 || len(c.Messages) != 2 || len(c.Questions) != 2 {
		t.Fatalf("%d messages, %d questions, unknown %v", len(c.Messages), len(c.Questions), unknown)
	}
	if c.Questions[1].Evidence[0] != "ben/u1" || c.Messages[1].Ref != "ben/u1" ||
		c.Messages[1].Session == c.Messages[0].Session {
		t.Errorf("%+v", c)
	}
	if set.Conversations[1].Questions[0].Evidence[0] != "u1" {
		t.Error("the set itself was changed")
	}
	report, err := Run(t.Context(), all, Options{Budgets: []int{512}, Policies: []string{"keyword"}})
	if err != nil || report.Rows[0].Recall != 100 {
		t.Errorf("%+v %v", report, err)
	}
	set.Conversations[0].Questions[0].Said = 1
	if _, err := set.Together(); !errors.Is(err, ErrOption) {
		t.Error(err)
	}
}

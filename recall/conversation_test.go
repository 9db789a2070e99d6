package recall

import (
	"fmt"
	"strings"
	"testing"
)

// Of passages that are equally near, those of a conversation with more that is near come
// first, in a scope of several conversations. Sessions of one message have no neighbours.
func TestConversationsThatAreNearComeFirst(t *testing.T) {
	about := func(conversation, subject, day string) (out []Message) {
		for i := range 6 {
			text := fmt.Sprintf("Remark %d about the %s and what it needs.", i, subject)
			if i == 3 {
				text = "The deadline of my project is on " + day + "."
			}
			out = append(out, Message{Conversation: conversation, Session: fmt.Sprint(i),
				Block: conversation + fmt.Sprint(i), Role: "user", Time: monday, Text: text})
		}
		return out
	}
	messages := append(about("garden", "garden", "Friday"), about("boat", "wooden boat", "Monday")...)
	messages = append(messages, about("choir", "choir", "Sunday")...)
	const query = "When is the deadline of my wooden boat project?"
	first := func(w *Weights) string {
		t.Helper()
		r := find(t, scopeOf(t, Options{Weights: w}, messages), query, RecallOptions{Directives: -1})
		top, block := -1.0, ""
		for _, p := range r.Passages {
			if strings.Contains(p.Text, "deadline") && p.Score > top {
				top, block = p.Score, p.Block
			}
		}
		return block
	}
	if got := first(nil); got != "boat3" {
		t.Errorf("%s comes first", got)
	}
	without := DefaultWeights()
	if !without.Without("conversation") {
		t.Fatal("no such stage")
	}
	if got := first(&without); got == "boat3" {
		t.Errorf("the test shows nothing: %s comes first without the stage", got)
	}
	// What must not be shown says nothing about its conversation.
	r := find(t, scopeOf(t, Options{}, messages), query,
		RecallOptions{Directives: -1, Exclude: func(block string) bool {
			return strings.HasPrefix(block, "boat") &&
				block != "boat3"
		}})
	scores := map[string]float64{}
	for _, p := range r.Passages {
		scores[p.Block] = p.Score
	}
	if scores["boat3"] > scores["garden3"] {
		t.Errorf("%v", scores)
	}
}

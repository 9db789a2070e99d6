package token

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
)

// A request with some of its messages left out or replaced counts the same by the sizes
// of what it was made of as read anew, with and without calibration.
func TestSizesSumUpToTheCountOfARequest(t *testing.T) {
	text := func(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: chat.Quote(s)} }
	message := func(role chat.Role, s string) chat.Message {
		return chat.Message{Role: role, Parts: []chat.Part{text(s)}}
	}
	r := &chat.Request{
		System: []chat.Part{text("You are a careful agent.")},
		Tools:  []chat.ToolDef{{Name: "read", Raw: []byte(`{"name":"read","description":"reads a file"}`)}},
		Messages: []chat.Message{
			message(chat.User, "Read the file."), message(chat.Assistant, "I shall read the file now."),
			message(chat.User, "What does it say?"), message(chat.Assistant, "It says that all is well."),
		},
	}
	instead := message(chat.User, "[3 messages left]")
	sent := *r
	sent.Messages = []chat.Message{r.Messages[0], instead, r.Messages[3]}
	for _, model := range []string{"gpt-4o", "claude-sonnet-4-5", "unknown"} {
		for _, scale := range []Scale{{}, {Slope: 1.2, Offset: 40, N: 100}} {
			c := NewCounter(Builtin().Lookup(model), Options{Scale: scale})
			z := c.Sizes(r)
			if got, want := c.Sum(z).Total, c.Request(r).Total; got != want {
				t.Errorf("%s: %d tokens by sizes, %d by the request", model, got, want)
			}
			z.Messages = []Size{z.Messages[0], c.Size(&instead), z.Messages[3]}
			got, want := c.Sum(z), c.Request(&sent)
			if got.Total != want.Total || got.Local != want.Local || !slices.Equal(got.Messages, want.Messages) {
				t.Errorf("%s: %+v by sizes, %+v by the request", model, got, want)
			}
		}
	}
}

// What a message adds to a request is what the request loses with its content, also with an
// offset below 0, which all parts bear.
func TestAddedIsWhatLeavesWithAMessage(t *testing.T) {
	r := &chat.Request{Messages: transcript(8, 2000)}
	for _, scale := range []Scale{{}, {Slope: 1.2, Offset: 400, N: 9}, {Slope: 1.2, Offset: -3000, N: 9}} {
		c := NewCounter(Builtin().Lookup("claude-sonnet-4-5"), Options{Scale: scale})
		z := c.Sizes(r)
		b := c.Sum(z)
		added := c.Added(z, b)
		empty := z
		empty.Messages = slices.Clone(z.Messages)
		empty.Messages[3].content = raw{}
		if got, want := added[3], b.Total-c.Sum(empty).Total; got < want-1 || got > want+1 {
			t.Errorf("%+v: message 3 adds %d, but %d leave with it", scale, got, want)
		}
		if same := slices.Equal(added, b.Messages); same != (scale.Offset >= 0) {
			t.Errorf("%+v: %v are added, %v in the request", scale, added, b.Messages)
		}
	}
}

// With what is not saved, removing messages from a request leads to the total that is asked
// for, also where the correction is not a line.
func TestUnsavedLeadsToTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(drawFitted, drawScale).Draw(t, "scale")
		local := rapid.IntRange(1, 60_000).Draw(t, "local")
		b := Breakdown{Local: local, Total: s.Apply(local), Accuracy: Calibrated}
		if !s.Calibrated() || b.Total == s.Apply(0) {
			t.Skip("nothing to remove")
		}
		total := rapid.IntRange(s.Apply(0), b.Total-1).Draw(t, "total")
		left := s.most(total, local)
		got := float64(b.Total) - s.Slope*float64(local-left) + float64((&Counter{scale: s}).Unsaved(b, total))
		if math.Abs(got-float64(total)) > s.Slope+2 {
			t.Fatalf("%+v: from %d to %d leads to %.1f", s, b.Total, total, got)
		}
		if s.Offset >= 0 && (&Counter{scale: s}).Unsaved(b, total) != 0 {
			t.Fatalf("%+v: not a line", s)
		}
	})
}

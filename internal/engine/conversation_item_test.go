package engine

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// SPEC A1, A7: whatever an item is made of comes back, bytes that are no text too,
// and the same item is always written in the same way.
func TestStoredItemsComeBack(t *testing.T) {
	e := open(t, Config{}).engine
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()),
		func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		it := e.normal(items.Item{
			ID: 3, Content: text.Draw(t, "content"), Full: text.Draw(t, "full"),
			Source: items.Source(text.Draw(t, "source")),
			Tokens: rapid.IntRange(1, 1<<40).Draw(t, "tokens"), Failed: rapid.Bool().Draw(t, "failed"),
			Time: time.Unix(rapid.Int64Range(-1<<36, 1<<36).Draw(t, "seconds"),
				rapid.Int64Range(0, 999999999).Draw(t, "nanos")),
			Flags: rapid.SliceOf(rapid.Map(text, func(s string) items.Flag { return items.Flag(s) })).Draw(t,
				"flags"),
			Meta:      rapid.MapOf(text, text).Draw(t, "meta"),
			Embedding: rapid.SliceOf(rapid.Float32()).Draw(t, "embedding"),
		})
		m, err := message(&it)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := message(&it); !cmp.Equal(m, again) {
			t.Fatalf("written twice: %s and %s", m.Raw, again.Raw)
		}
		c := timeline.Change{Conversation: "c", Messages: []timeline.Message{m}, Now: noon}
		if err := c.Check(timeline.Local); err != nil {
			t.Fatal(err)
		}
		got, shown := e.itemOf(&timeline.Entry{Place: timeline.Place{Trunk: 1, Depth: 3}, Message: m})
		it.Flags = starred(it.Flags, false)
		if diff := cmp.Diff(it, got, cmpopts.EquateNaNs()); diff != "" || !shown {
			t.Fatalf("%s: shown %v (-want +got)\n%s", m.Raw, shown, diff)
		}
	})
	if got := bytesVector(vectorBytes([]float32{float32(math.NaN()), float32(math.Inf(1))})); len(got) != 2 ||
		got[0] == got[0] || got[1] != float32(math.Inf(1)) {
		t.Errorf("%v", got)
	}
}

// Messages that came another way are items as well.
func TestMessagesOfOtherFormatsAreItems(t *testing.T) {
	e := open(t, Config{}).engine
	for _, tt := range []struct {
		format, role, raw string
		want              items.Item
		hidden            bool
	}{
		{"anthropic", "user", `{"role":"user","content":[{"type":"text","text":"Why?"}]}`,
			items.Item{Content: "Why?", Source: "user", Tokens: 1, Flags: []items.Flag{"question"}}, false},
		{"anthropic", "user",
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"no"}]}`,
			items.Item{Content: "← (error) no", Source: "tool", Failed: true, Tokens: 3, Flags: []items.Flag{"error"}},
			false},
		{"openai", "assistant", `{"role":"assistant","content":"Well."}`,
			items.Item{Content: "Well.", Source: "assistant", Tokens: 1}, false},
		{"generic", "user", `{"role":"user","name":"Ann","text":"one two"}`,
			items.Item{Content: "one two", Source: "user", Tokens: 2}, false},
		{"item", "user", `just text`, items.Item{Content: "just text", Source: "user", Tokens: 2}, false},
		{"claude-code", "meta", `{"type":"summary","summary":"It went well"}`,
			items.Item{Content: "(summary) It went well", Source: "meta", Tokens: 4}, true},
		{"runes", "user", `{`, items.Item{Content: "{", Source: "user", Tokens: 1}, false},
	} {
		got, shown := e.itemOf(&timeline.Entry{
			Place: timeline.Place{Trunk: 1, Depth: 7}, Message: timeline.Message{Format: tt.format, Role: tt.role,
				Raw: []byte(tt.raw), Time: noon},
		})
		tt.want.ID, tt.want.Time = 7, noon
		if diff := cmp.Diff(tt.want, got); diff != "" || shown == tt.hidden {
			t.Errorf("%s: shown %v (-want +got)\n%s", tt.raw, shown, diff)
		}
	}
}

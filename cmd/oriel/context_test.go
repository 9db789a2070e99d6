//go:build unix

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/term"
)

// The picture of a window fits the terminal, but for the command that shows what was left
// out.
func TestContextFits(t *testing.T) {
	var kinds []composition.Kind
	for k := range kindLook {
		kinds = append(kinds, k)
	}
	rapid.Check(t, func(t *rapid.T) {
		width, some, name := rapid.IntRange(40, 200).Draw(t, "width"), rapid.IntRange(0, 2_000_000),
			rapid.StringN(0, 60, 120)
		w := &composition.Window{
			Conversation: name.Draw(t, "conversation"), Call: 12, Model: name.Draw(t, "model"), Profile: "balanced",
			Window: rapid.SampledFrom([]int{0, 8_000, 1_000_000}).Draw(t, "window"),
			Limit:  150_000, Budget: 100_000, Tokens: some.Draw(t, "tokens"), Reported: some.Draw(t, "reported"),
			LeftOut: some.Draw(t, "left out"), UnusedCalls: 3,
		}
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			w.Kinds = append(w.Kinds, composition.Share{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				Name: name.Draw(t, "name"), Count: 3, Tokens: some.Draw(t, "kind's tokens"),
				Share: rapid.Float64Range(0, 1).Draw(t, "share")})
			w.Largest = append(w.Largest, composition.Thing{Kind: rapid.SampledFrom(kinds).Draw(t, "thing"),
				Name: name.Draw(t, "name"), ID: 1234, Tokens: some.Draw(t, "thing's tokens"), Share: 1,
				Text: name.Draw(t, "text")})
			w.Unused = append(w.Unused, composition.Tool{Name: name.Draw(t, "tool"),
				Server: rapid.SampledFrom([]string{"", "github", "a server"}).Draw(t, "server"),
				Tokens: some.Draw(t, "tool's tokens")})
		}
		text := string(drawContext(w, w.Conversation, term.Style{}, width))
		if err := actsOnNothing(text); err != nil || !utf8.ValidString(text) {
			t.Fatalf("%v in %q", err, text)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := term.Cells(line); n > width && !strings.Contains(line, "left out: oriel show") {
				t.Fatalf("%d columns, want at most %d: %q", n, width, line)
			}
		}
	})
}

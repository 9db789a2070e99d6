package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// BenchmarkOutline reads the outline of a stored conversation of 30,000 messages, as the
// first strip of the console does.
func BenchmarkOutline(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "data"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	change := timeline.Change{Conversation: "long", Now: time.Now()}
	for i := range 30_000 {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		raw := fmt.Appendf(nil, `{"role":%q,"content":"Message %d of the pier. %s"}`, role, i,
			strings.Repeat("and so on ", i%97))
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
			Format: timeline.FormatOpenAI, Role: role, Time: change.Now})
	}
	applied, err := s.Apply(b.Context(), "local", change)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := ReadOutline(b.Context(), s, "local", applied.Head, nil)
		if err != nil || len(o.Kinds) != 30_000 {
			b.Fatal(len(o.Kinds), err)
		}
	}
}

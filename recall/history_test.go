package recall

import (
	"testing"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func item(text string) timeline.Message {
	return timeline.Message{Says: timeline.SaysItem("user", text), Raw: []byte(text), Format: timeline.FormatItem, Role: "user", Time: monday}
}

// What two conversations share is found once, under the id that people see.
func TestLoadAddsWhatIsSharedOnce(t *testing.T) {
	store := memory.New()
	defer store.Close()
	apply := func(name string, at timeline.Place, texts ...string) timeline.Place {
		c := timeline.Change{Conversation: name, At: at, Now: monday}
		for _, text := range texts {
			c.Messages = append(c.Messages, item(text))
		}
		done, err := store.Apply(t.Context(), timeline.Local, c)
		if err != nil {
			t.Fatal(err)
		}
		return done.Head
	}
	head := apply("a", timeline.Place{}, "The harbour of Trieste is deep.", "The ferry leaves at noon.")
	apply("b", head, "The lighthouse was painted in spring.")
	s := NewScope(Options{})
	for _, name := range []string{"a", "b", "a"} {
		c, err := store.Conversation(t.Context(), timeline.Local, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Load(t.Context(), store, timeline.Local, &c, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := blocks(find(t, s, "harbour, ferry, lighthouse?", RecallOptions{})); got != "1 2 b#3" {
		t.Errorf("found %q", got)
	}
}

package recall

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUserMessagesStayWholeAndAssistantsAreSplit(t *testing.T) {
	long := strings.Repeat("A sentence of some length that says little. ", 60)
	for _, c := range []struct {
		name string
		m    Message
		want int
	}{
		{"user", Message{Role: "user", Text: long}, 1},
		{"named", Message{Role: "assistant", Name: "Ann", Text: long}, 1},
		{"assistant", Message{Role: "assistant", Text: long}, 5},
		{"very long user", Message{Role: "user", Text: long + long}, 5},
		{"short assistant", Message{Role: "assistant", Text: "Yes, that is right."}, 1},
	} {
		if got := len(c.m.passages(nil)); got != c.want {
			t.Errorf("%s: %d passages, want %d", c.name, got, c.want)
		}
	}
}

func TestSplitCutsAtLinesThenSentencesThenWords(t *testing.T) {
	line := strings.Repeat("x", 300) + "\n"
	if got := split(line+line+line, 512); len(got) != 3 || got[0] != line {
		t.Errorf("lines: %q", got)
	}
	for _, p := range split(strings.Repeat("Word after word goes on here. ", 100), 512) {
		if !strings.HasSuffix(p, ". ") {
			t.Errorf("not at the end of a sentence: %q", p)
		}
	}
	for _, p := range split(strings.Repeat("word ", 500), 512) {
		if !strings.HasSuffix(p, " ") {
			t.Errorf("not between words: %q", p)
		}
	}
}

func TestSplitLosesNothingAndKeepsToItsSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"word", " ", ". ", "\n", "é漢", "x",
			strings.Repeat("y", 700), "? ", "\t", "; "})).Draw(t, "text"), "")
		target := rapid.SampledFrom([]int{64, 512, 1024}).Draw(t, "target")
		pieces := split(text, target)
		if strings.Join(pieces, "") != text {
			t.Fatal("the pieces are not the text")
		}
		for _, p := range pieces {
			if p == "" || len(p) > target*3/2+target/4 {
				t.Fatalf("a piece of %d bytes for a target of %d", len(p), target)
			}
			if !strings.Contains(text, p) || strings.ToValidUTF8(p, "") != p {
				t.Fatal("a character was cut")
			}
		}
	})
}

// SPEC D2: a text of 10 characters is not indexed, one of 11 is, in every mode.
func TestShortTextsAreNotFound(t *testing.T) {
	for text, want := range map[string]string{"pineapple!": "", "a pineapple": "1"} {
		s := scopeOf(t, Options{Model: &bags{}}, talk("user: "+text))
		for _, mode := range []Mode{Hybrid, Keyword, Dense} {
			if got := blocks(find(t, s, "pineapple", RecallOptions{Mode: mode})); got != want {
				t.Errorf("%s of %q found %q, want %q", mode, text, got, want)
			}
		}
	}
	s := scopeOf(t, Options{Model: &bags{}},
		talk("user: pineapple\nuser: okay then\nuser: pineapples are my favourite fruit"))
	if got := blocks(find(t, s, "pineapple", RecallOptions{Floor: -1, Budget: 20})); got != "3" {
		t.Errorf("found %q", got)
	}
}

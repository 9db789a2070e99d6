package term

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarkdownIsDrawnWithinTheWidth(t *testing.T) {
	text := "# A **heading**\n\nWords that go on `code here` and **on and on**.\n\n- an item that is longer than a line\n```go\nfunc main() {}\n```\n| a | table |\n\tx\x1b[31mred"
	want := []string{
		"A heading", "",
		"Words that go on `code",
		"here` and **on and on**.", "",
		"- an item that is longer",
		"  than a line",
		"  func main() {}",
		"| a | table |",
		"    x [31mred",
	}
	if diff := cmp.Diff(want, Markdown(text, Screen{Width: 24})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	coloured := strings.Join(Markdown("say **this `one` and that** `twice`", Screen{Style: Style{On: true}, Width: 80}),
		"\n")
	if want := "say \x1b[1mthis \x1b[36mone\x1b[39m and that\x1b[22m \x1b[36mtwice\x1b[39m"; coloured != want {
		t.Errorf("%q, want %q", coloured, want)
	}
	if got := Markdown("as **it** stands\nhere", Screen{}); got[0] != "as **it** stands" {
		t.Errorf("without a terminal: %q", got)
	}
}

// Blocks of code are drawn without their fences, and end only at a fence of their own kind.
func TestFencesOfCodeAreNotDrawn(t *testing.T) {
	for text, want := range map[string][]string{
		"```go\nx := 1\n```\nend":                     {"  x := 1", "end"},
		"````md\n```sh\nls\n```\n````\nend":           {"  ```sh", "  ls", "  ```", "end"},
		"~~~\n```\n~~~\nend":                          {"  ```", "end"},
		"```ls``` lists\nend":                         {"```ls``` lists", "end"},
		"1. Run:\n   ```bash\n   ls\n   ```\n2. Look": {"1. Run:", "     ls", "2. Look"},
	} {
		if diff := cmp.Diff(want, Markdown(text, Screen{Width: 40})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// The cells of a table are wrapped in their columns. What is no table stays as it is.
func TestTablesOfMarkdownFitTheWidth(t *testing.T) {
	for _, k := range []struct {
		what, text string
		want       []string
	}{
		{"narrow", "| a | **table** |\n|---|:-:|\n| `x \\| y` | 1 |\n| z |\nend", []string{
			"a       │ table",
			"────────┼──────",
			"`x | y` │ 1",
			"z       │",
			"end",
		}},
		{"wide", "| State | How |\n|-------|-----|\n| IDLE | the next commit of the user condenses |\n| ENDED | nothing |", []string{
			"State │ How",
			"──────┼─────────────────",
			"IDLE  │ the next commit",
			"      │ of the user",
			"      │ condenses",
			"ENDED │ nothing",
		}},
		{"too many columns", "| one two | three four | five six |\n|-|-|-|", []string{
			"| one two | three four |",
			"    five six |",
			"|-|-|-|",
		}},
		{"no table", "| a pipe\nwords\n---", []string{"| a pipe", "words", "---"}},
	} {
		if diff := cmp.Diff(k.want, Markdown(k.text, Screen{Width: 24})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.what, diff)
		}
	}
}

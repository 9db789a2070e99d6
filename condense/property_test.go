package condense_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
)

// phrases are what generated people and tools say: words that the methods look
// for, other scripts, broken bytes, markers.
var phrases = []string{
	"Never touch the table.", "Let's go with option 2.", "Which one?", "ok", "The tide is at 02:12.",
	"I decided to use UTC instead.",
	"```go\nfunc x() {}\n```", "- one\n- two", "決定しました。次へ。", "\xff\xfe", "[Oriel summary of 3 earlier messages]",
	"[Oriel\ndigest of 2 earlier messages]",
	"FAIL\nerror: no", "ok  \tp", "<system-reminder>x</system-reminder>", "Task:", "Files changed (in /x/):",
	"- a.go: changed 3×", "`make` (2 runs): ok", "Exit code 1",
	"The user doesn't want to proceed. the user said:\nno", "é́́", "🤦🏻‍♂️ well", "I can't help with that.", "…",
	"User: hello", "a b c d e f g h i j k l m n o p",
	"Ann: I'll send you the map of Port Ellen tomorrow.",
	"[3 May, 2025] Ben: We decided to meet on May 12, or by Friday.", "About:", "- Ann and Ben on bees, Hive",
	"Agreed:", "Names and dates:", "- Port Ellen, Omar", " on ", "Ann: ",
	"[Oriel: the result of x [y] is left out]", `[\\Oriel: 3 tokens of the middle are left out here`,
	"Always answer in French.",
}

var calls = []string{
	`{"file_path":"/r/p/a.go"}`, `{"file_path":"/r/p/a.go","old_string":"","new_string":"x"}`,
	`{"command":"make test"}`, `{"pattern":"x"}`, `{"todos":[{"content":"x","status":"pending"}]}`,
	`"{\"cmd\":\"ls\"}"`, `{`, ``, `{"id":"7"}`,
}

var marked = regexp.MustCompile(`\[Oriel (summary|digest) of \d+ earlier messages?\]`)

func spans(max int) *rapid.Generator[[]chat.Message] {
	return rapid.Custom(func(t *rapid.T) []chat.Message {
		words := func() string {
			s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 0, 8).Draw(t, "words"),
				rapid.SampledFrom([]string{" ", "\n", "\n\n"}).Draw(t, "between"))
			return strings.Repeat(s+" ", rapid.IntRange(1, 6).Draw(t, "times"))
		}
		var msgs []chat.Message
		for range rapid.IntRange(0, max).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				msgs = append(msgs, user(words()))
			case 1:
				msgs = append(msgs, assistant(words()))
			case 2:
				msgs = append(msgs, did(rapid.SampledFrom([]string{"Bash", "Edit", "x", ""}).Draw(t, "tool"),
					rapid.SampledFrom(calls).Draw(t, "args"),
					rapid.SampledFrom([]string{"", "!"}).Draw(t, "failed")+words())...)
			default:
				// Raw bytes that nobody checked.
				msgs = append(msgs,
					chat.Message{Role: chat.User,
						Parts: []chat.Part{{Kind: chat.Text, Text: chat.String("\"\xff" + words() + "\"")}}})
			}
		}
		return msgs
	})
}

// SPEC B3, D7, E6: whatever comes in, what comes out is within the limit, smaller
// than its input, the same every time, not nested, and valid text.
func TestEveryTextThatRunReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := condense.Input{
			Messages: spans(30).Draw(t, "span"),
			Previous: strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 0, 12).Draw(t, "previous"), "\n"),
			Max:      rapid.IntRange(1, 400).Draw(t, "max"),
			Count:    count,
		}
		c := rapid.SampledFrom([]condense.Condenser{condense.Digest{}, condense.Extractive{}}).Draw(t, "method")
		out, err := condense.Run(context.Background(), c, in)
		again, errAgain := condense.Run(context.Background(), c, in)
		if out != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("not deterministic:\n%s\n---\n%s", out.Text, again.Text)
		}
		if err != nil {
			for _, known := range []error{condense.ErrEmpty, condense.ErrLarger, condense.ErrTooLong,
				condense.ErrNothing, condense.ErrRefused} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatal(err)
		}
		if n := count(out.Text); n > in.Max {
			t.Fatalf("%d tokens, limit %d", n, in.Max)
		}
		before := count(in.Previous)
		for _, m := range in.Messages {
			for _, p := range m.Parts {
				before += count(p.Text.String()) + count(p.Name) + count(p.Arguments())
			}
		}
		if n := count(out.Text); n >= before {
			t.Fatalf("%d tokens of %d", n, before)
		}
		if !condense.IsSummary(out.Text) {
			t.Fatalf("no marker: %q", out.Text)
		}
		body, _, _ := condense.Unmark(out.Text)
		if marked.MatchString(body) {
			t.Fatalf("nested:\n%s", out.Text)
		}
		if !utf8.ValidString(out.Text) {
			t.Fatalf("invalid UTF-8: %q", out.Text)
		}
	})
}

// SPEC B3: condensing again and again, each time with the last result as base,
// neither grows nor nests.
func TestCondensingOnAndOnDoesNotGrow(t *testing.T) {
	for _, c := range []condense.Condenser{condense.Digest{}, condense.Extractive{}} {
		previous, covered := "", 0
		msgs := example(t)
		for range 50 {
			out, err := condense.Run(context.Background(), c,
				condense.Input{Messages: msgs, Previous: previous, Max: 500, Count: count})
			if err != nil {
				t.Fatal(err)
			}
			body, n, ok := condense.Unmark(out.Text)
			if covered += len(msgs); !ok || n != covered || count(out.Text) > 500 || strings.Contains(body, "[Oriel") {
				t.Fatalf("%T: %d messages, %d tokens:\n%s", c, n, count(out.Text), out.Text)
			}
			previous = out.Text
		}
		wants(t, previous, "high-water text", "never touch db/migrations", "UTC minute")
	}
}

package window

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/test/script"
)

// TestFitScripts runs testdata/fit/*.txt: a conversation, what is asked of a
// policy, and the view with its verdicts. A message is a line:
//
//	user 40            words of a user, 40 tokens
//	assistant 20       words of an assistant
//	call a Read x.go   an assistant calls a tool
//	result a 300       what it gave back
//	system 10
//
// "#pin" behind a message pins it. The last line asks: the policy, and settings such
// as budget=500 low=300 mode=soft items=4 fraction=0.5 recent=3 summary=TEXT
// words=N fail=TEXT query=WORD. A token is a word here. SPEC A, B, E.
func TestFitScripts(t *testing.T) {
	script.Run(t, "testdata/fit/*.txt", func(t *testing.T, in string) string {
		c := fitCase{t: t, options: Options{Mode: Hard}}
		for _, line := range strings.Split(in, "\n") {
			if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
				c.line(w)
			}
		}
		return c.run()
	})
}

type fitCase struct {
	t       *testing.T
	msgs    []chat.Message
	tokens  []int
	pinned  []int
	options Options
}

func wordCount(s string) int { return len(strings.Fields(s)) }

func (c *fitCase) line(w []string) {
	if last := w[len(w)-1]; last == "#pin" {
		c.pinned = append(c.pinned, len(c.msgs))
		w = w[:len(w)-1]
	}
	number := func(i int) int {
		n, err := strconv.Atoi(w[i])
		if err != nil {
			c.t.Fatal(err)
		}
		return n
	}
	text := func(n int) chat.String { return chat.Quote(strings.TrimSpace(strings.Repeat("word ", n))) }
	add := func(m chat.Message, n int) { c.msgs, c.tokens = append(c.msgs, m), append(c.tokens, n) }
	switch w[0] {
	case "user", "assistant", "system":
		add(chat.Message{Role: chat.Role(w[0]), Parts: []chat.Part{{Kind: chat.Text, Text: text(number(1))}}},
			number(1))
	case "call":
		args := fmt.Sprintf(`{"file_path":%q}`, w[3])
		if w[2] == "Bash" {
			args = fmt.Sprintf(`{"command":%q}`, strings.Join(w[3:], " "))
		}
		add(chat.Message{Role: chat.Assistant,
			Parts: []chat.Part{{Kind: chat.Call, ID: w[1], Name: w[2], Args: []byte(args)}}}, 5)
	case "result":
		add(chat.Message{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: w[1], Text: text(number(2))}}},
			number(2))
	default:
		c.ask(w)
	}
}

func (c *fitCase) ask(w []string) {
	s := &c.options
	s.Policy = w[0]
	for _, set := range w[1:] {
		name, value, _ := strings.Cut(set, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "budget":
			s.Budget = n
		case "low":
			s.Low = n
		case "mode":
			s.Mode = Mode(value)
		case "items":
			s.MaxItems = n
		case "fraction":
			s.Fraction, _ = strconv.ParseFloat(value, 64)
		case "recent":
			s.KeepRecent = n
		case "first":
			s.First = value
		case "keep":
			s.KeepResults = n
		case "room":
			s.SummaryMax = n
		case "query":
			s.Query = value
		case "words":
			s.Condenser = condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
				return condense.Output{Text: strings.TrimSpace(strings.Repeat("summary ", n)), Cost: 0.02}, nil
			})
		case "summary", "fail":
			s.Condenser = condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
				if name == "fail" {
					return condense.Output{Cost: 0.01}, fmt.Errorf("%s", value)
				}
				return condense.Output{Text: value, Cost: 0.02}, nil
			})
		default:
			c.t.Fatalf("unknown setting %q", set)
		}
	}
}

func (c *fitCase) run() string {
	h := counted(c.msgs, chat.Rules{ResultsFollow: true}, c.tokens, 0, wordCount)
	for _, i := range c.pinned {
		h.Pinned[i] = true
	}
	s := c.options
	if s.Low == 0 {
		s.Low = s.Budget
	}
	due := WouldManage(h.Total(), Budget{Window: s.Budget, Allowed: s.Budget}, 100, s.Policy == "condense")
	if s.MaxItems > 0 && h.items() > s.MaxItems {
		due.Over = true
	}
	d, err := decideCounted(context.Background(), h, s, due)
	if err != nil {
		return "error: " + err.Error()
	}
	p := d.plan
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d → %d\n", p.Action, p.TokensBefore, p.TokensAfter)
	for _, k := range p.Blocks {
		pin := ""
		if k.Pinned {
			pin = " pinned"
		}
		fmt.Fprintf(&b, "%2d %-9s %5d %s: %s%s\n", k.Index, k.Role, k.Tokens, k.Verdict, k.Reason, pin)
	}
	for _, in := range p.Inserted {
		fmt.Fprintf(&b, "+ %s in %d: %s\n", in.Kind, in.Into, strings.ReplaceAll(in.Text, "\n", " / "))
	}
	if p.Summary.Error != "" || p.Summary.Cost > 0 {
		fmt.Fprintf(&b, "condensing: cost %g, error %q\n", p.Summary.Cost, p.Summary.Error)
	}
	return b.String()
}

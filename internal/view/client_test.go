package view

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// TestViewsOfAnyClient: clients go on, go back, send again, trim their head, put a note
// of their own in the place of what they leave out, change their model, budget, profile
// and pins, and the process ends now and then.
//
// SPEC E1, E2, E3
func TestViewsOfAnyClient(t *testing.T) {
	for _, f := range protocols.All() {
		t.Run(f.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				bodies, replies := requests(t, f.Format,
					f.Draw(t, histories.Options{Valid: true, Turns: rapid.IntRange(4, 10).Draw(t, "turns"),
						Plain: rapid.Bool().Draw(t, "plain")}))
				if len(bodies) == 0 {
					return
				}
				s := newStage(t, Options{})
				if rapid.Bool().Draw(t, "recall") {
					s.library()
				}
				defer s.close()
				c := client{T: t, stage: s, format: f.Format, bodies: bodies, replies: replies,
					budget: rapid.IntRange(600, 5000).Draw(t, "budget")}
				for range 14 {
					c.step()
				}
			})
		})
	}
}

type client struct {
	*rapid.T
	*stage
	format  wire.Format
	bodies  [][]byte
	replies [][][]byte
	budget  int

	at   int // the last request
	pins []int
}

// seldom happens once in n times.
func (c *client) seldom(n int, what string) bool {
	return rapid.IntRange(1, n).Draw(c.T, what) == 1
}

func (c *client) step() {
	switch t := c.T; rapid.IntRange(0, 6).Draw(t, "move") {
	case 0:
		c.at = rapid.IntRange(0, c.at).Draw(t, "back to")
	case 1: // the same again
	default:
		c.at = min(c.at+1, len(c.bodies)-1)
	}
	data, a := c.request()
	call := c.find(data, a)
	if err := c.show(call, a); err != nil {
		if !errors.Is(err, window.ErrCannotFit) {
			c.T.Fatalf("%v\n%s", err, data)
		}
		c.end(call, c.replies[c.at]...)
		return
	}
	c.judge(call, a, data)
	again := c.find(data, ask{format: a.format, session: a.session, retry: true})
	a.Cold = false
	if err := c.show(again, a); err != nil || !bytes.Equal(again.Body, call.Body) {
		c.T.Fatalf("sent again it is %v, %d cuts\n%s\n%s", err, len(again.made), again.Body, call.Body)
	}
	c.book.Done(again.thread, nil, "")
	c.end(call, c.replies[c.at]...)
	if c.seldom(5, "restart") {
		c.restart()
	}
}

// request is what is sent next.
func (c *client) request() ([]byte, ask) {
	t, data := c.T, c.bodies[c.at]
	a := ask{format: c.format, session: "s", Input: Input{Budget: c.budget, Asked: true, Cold: c.seldom(6, "cold")}}
	if c.seldom(5, "other budget") {
		a.Budget = c.budget * rapid.IntRange(50, 200).Draw(t, "percent") / 100
	}
	switch rapid.IntRange(0, 5).Draw(t, "pins") {
	case 0:
		c.pins = append(c.pins, rapid.IntRange(1, 20).Draw(t, "pin"))
		slices.Sort(c.pins)
		c.pins = slices.Compact(c.pins)
	case 1:
		c.pins = nil
	}
	a.Pins = slices.Clone(c.pins)
	switch rapid.IntRange(0, 9).Draw(t, "profile") {
	case 0:
		a.Profile = "chat"
	case 1:
		a.Profile = "off"
	}
	if c.seldom(4, "trim") {
		data = c.trimmed(data)
	}
	if c.seldom(6, "other model") {
		data = bytes.Replace(data, []byte(`"model":"`), []byte(`"model":"other-`), 1)
	}
	return data, a
}

// trimmed leaves something out at the head, with a note in its place or none.
func (c *client) trimmed(data []byte) []byte {
	b, err := wire.Read(data, c.format, wire.Limits{})
	if err != nil {
		c.T.Fatal(err)
	}
	from := rapid.IntRange(1, max(1, len(b.Messages)-1)).Draw(c.T, "head")
	pieces := b.Whole()
	if from >= len(pieces) {
		return data
	}
	if c.seldom(2, "note") {
		note := pieces[from-1]
		if note.Raw, err = wire.AppendText(c.format, b.Messages[note.Index].Raw,
			"What came before was about ships, harbours and the sea."); err == nil {
			pieces = append([]wire.Piece{note}, pieces[from:]...)
		}
	} else {
		pieces = pieces[from:]
	}
	if short, err := b.Write(pieces); err == nil && len(judge(c.format, short)) == 0 {
		return short
	}
	return data
}

// judge holds a view against the provider's rules and ours.
func (c *client) judge(call *call, a ask, data []byte) {
	t := c.T
	problems := append(judge(c.format, call.Body), strict.SameThinking(data, call.Body)...)
	if c.format == wire.Responses {
		problems = append(problems, strict.KeptReasoning(data, call.Body)...)
	}
	if len(problems) > 0 {
		t.Fatalf("%s: %v\n%s\nof\n%s", call.thread.Kind, problems, call.Body, data)
	}
	if a.Profile != "off" && call.After > call.Budget {
		t.Fatalf("%d tokens of %d", call.After, call.Budget)
	}
	if came, sent := marks(data), marks(call.Body); sent > max(4, came) {
		t.Fatalf("%d cache marks, %d came", sent, came)
	}
	if len(call.made) > 2 {
		t.Fatalf("%d cuts in one call", len(call.made))
	}
	shown, err := wire.Read(call.Body, c.format, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if newest := call.body.Messages[len(call.body.Messages)-1]; newest.Role == chat.User &&
		shown.Messages[len(shown.Messages)-1].Role != chat.User {
		t.Fatalf("%s: the newest turn is missing\n%s\nof\n%s", call.thread.Kind, call.Body, data)
	}
}

func marks(body []byte) int { return bytes.Count(body, []byte(`"cache_control"`)) }

package condense_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/token"
)

// ask runs a Model on a span and gives what the model was asked.
func ask(t *testing.T, m condense.Model, in condense.Input) (condense.Request, condense.Output) {
	t.Helper()
	var asked condense.Request
	m.Call = func(_ context.Context, r condense.Request) (condense.Reply, error) {
		asked = r
		return condense.Reply{Text: "The office wants the table.", Stop: "end_turn",
			Usage: token.Usage{Input: 1000, Output: 100}}, nil
	}
	in.Count = count
	out, err := condense.Run(context.Background(), m, in)
	if err != nil {
		t.Fatal(err)
	}
	return asked, out
}

func TestModelPrompt(t *testing.T) {
	msgs := span(user("Look at this."), chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image}}},
		chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: chat.Quote("secret thought")},
			{Kind: chat.Text, Text: chat.Quote("Looking.")}}},
		did("Bash", `{"command":"make"}`, "!HEAD"+strings.Repeat("x", 9000)+"TAIL"),
		chat.Message{Role: chat.Assistant,
			Parts: []chat.Part{{Kind: chat.Call, ID: "z", Name: "Read", Args: []byte(`{"path":"a"}`)}}})
	r, _ := ask(t, condense.Model{},
		condense.Input{Messages: msgs, Previous: "[Oriel summary of 4 earlier messages]\nThe base.", Max: 400})
	wants(t, r.Prompt, "<earlier_summary>\nThe base.\n</earlier_summary>", "User: Look at this.", "User: [Image]",
		"Assistant: Looking.",
		`[Tool Use: Bash] {"command":"make"}`, "Tools: [Tool Result, failed] HEAD", "TAIL", "bytes left out",
		`[Tool Use: Read] {"path":"a"}`+"\n[No Result: the call was not answered]",
		"not secret thought", "not [Oriel")
	if strings.Count(r.Prompt, "not answered") != 1 {
		t.Error("the answered call is marked too:\n" + r.Prompt)
	}
	wants(t, r.System, "it is material", "tokens", "not {tokens}")
	if r.MaxTokens < 400 {
		t.Errorf("%d tokens for the reply", r.MaxTokens)
	}
	r, _ = ask(t, condense.Model{Prompt: "Kurz, höchstens {tokens}."}, condense.Input{Messages: long, Max: 400})
	if !strings.HasPrefix(r.System, "Kurz, höchstens 3") {
		t.Errorf("system %q", r.System)
	}
}

// SPEC B5
func TestModelCost(t *testing.T) {
	m := condense.Model{Prices: token.Prices{Rates: token.Rates{Input: 3, Output: 15}}}
	_, out := ask(t, m, condense.Input{Messages: long})
	if out.Cost != 0.0045 || out.TokensIn != 1000 || out.TokensOut != 100 {
		t.Errorf("%+v", out)
	}
	m.Call = func(context.Context, condense.Request) (condense.Reply, error) {
		return condense.Reply{Text: "The", Stop: "max_tokens", Usage: token.Usage{Input: 1000, Output: 100}}, nil
	}
	_, err := condense.Run(context.Background(), m, condense.Input{Messages: long})
	var e *condense.Error
	if !errors.Is(err, condense.ErrCutOff) || !errors.As(err, &e) || e.Cost != 0.0045 {
		t.Errorf("got %v", err)
	}
}

func TestModelInputStaysWithinItsOwnWindow(t *testing.T) {
	var parts []any
	for i := range 400 {
		parts = append(parts, user(fmt.Sprintf("Message %d: %s", i, strings.Repeat("tide ", 30))))
	}
	const window = 4000
	r, _ := ask(t, condense.Model{Window: window},
		condense.Input{Messages: span(parts...), Max: 400, Previous: strings.Repeat("A long base. ", 2000)})
	if n := count(r.System) + count(r.Prompt) + r.MaxTokens; n > window || n < window/2 {
		t.Errorf("%d tokens for a window of %d", n, window)
	}
	wants(t, r.Prompt, "pieces of this conversation do not fit here", "Message 399:", "not Message 3:", "A long base.")
	r, _ = ask(t, condense.Model{Window: window},
		condense.Input{Messages: span(user(strings.Repeat("tide ", 9000) + "the end")), Max: 400})
	if n := count(r.System) + count(r.Prompt) + r.MaxTokens; n > window {
		t.Errorf("%d tokens for a window of %d", n, window)
	}
	wants(t, r.Prompt, "the end")
	m := condense.Model{Window: 500, Call: func(context.Context, condense.Request) (condense.Reply, error) {
		t.Error("called")
		return condense.Reply{}, nil
	}}
	if _, err := condense.Run(context.Background(), m,
		condense.Input{Messages: long, Max: 400, Count: count}); !errors.Is(err, condense.ErrWindow) {
		t.Errorf("got %v", err)
	}
	if _, err := condense.Run(context.Background(), condense.Model{}, condense.Input{Messages: long}); err == nil {
		t.Error("a model without a call")
	}
}

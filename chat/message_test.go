package chat_test

import (
	"testing"

	"github.com/oriel-context/oriel/chat"
)

func TestArgumentsInBothForms(t *testing.T) {
	for args, want := range map[string]string{`{"a":1}`: `{"a":1}`, `"{\"a\":1}"`: `{"a":1}`, ``: ``,
		`"not json"`: `not json`} {
		p := chat.Part{Kind: chat.Call, Args: []byte(args)}
		if got := p.Arguments(); got != want {
			t.Errorf("arguments %s are %q, want %q", args, got, want)
		}
	}
}

func TestPromptsAreAUsersOwn(t *testing.T) {
	text := func(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: chat.Quote(s)} }
	result := chat.Part{Kind: chat.Result, ID: "a"}
	for _, c := range []struct {
		m    chat.Message
		want bool
	}{
		{chat.Message{Role: chat.User, Parts: []chat.Part{text("hi")}}, true},
		{chat.Message{Role: chat.User, Parts: []chat.Part{result}}, false},
		{chat.Message{Role: chat.User, Parts: []chat.Part{result, text("and?")}}, true},
		{chat.Message{Role: chat.User, Parts: []chat.Part{result, text("<system-reminder>x</system-reminder>")}},
			false},
		{chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Image}}}, true},
		{chat.Message{Role: chat.Assistant, Parts: []chat.Part{text("hi")}}, false},
		{chat.Message{Role: chat.User}, false},
	} {
		if got := c.m.Prompts(); got != c.want {
			t.Errorf("%+v prompts: %v", c.m, got)
		}
	}
}

// A history of any length is divided in time that follows its length: ids that
// come again and again must not be searched through.
func TestSplitOfALongHistoryWithOneID(t *testing.T) {
	var msgs []chat.Message
	for range 200_000 {
		msgs = append(msgs,
			chat.Message{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "call_0"}}},
			chat.Message{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: "call_0"},
				{Kind: chat.Result, ID: "call_0"}}})
	}
	ex, problems := chat.Split(msgs, chat.Rules{ResultsFollow: true})
	if len(ex) != 200_000 || len(problems) != 200_000 {
		t.Errorf("%d exchanges, %d problems", len(ex), len(problems))
	}
}

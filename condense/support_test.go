package condense_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// count is what the tests count with: OpenAI's encoding, which is exact.
var count = func() func(string) int {
	c := token.NewCounter(token.Builtin().Lookup("gpt-4o"), token.Options{})
	return func(s string) int { return c.Text(s).Tokens }
}()

func text(role chat.Role, s string) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(s)}}}
}

func user(s string) chat.Message      { return text(chat.User, s) }
func assistant(s string) chat.Message { return text(chat.Assistant, s) }

// did is a call and its result. The result is an error if it begins with "!".
func did(name, args, result string) []chat.Message {
	result, failed := strings.CutPrefix(result, "!")
	return []chat.Message{
		{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Call, ID: "c", Name: name, Args: []byte(args)}}},
		{Role: chat.User, Parts: []chat.Part{{Kind: chat.Result, ID: "c", IsError: failed, Text: chat.Quote(result)}}},
	}
}

// span makes one list of messages and lists of messages.
func span(parts ...any) (msgs []chat.Message) {
	for _, p := range parts {
		switch p := p.(type) {
		case chat.Message:
			msgs = append(msgs, p)
		case []chat.Message:
			msgs = append(msgs, p...)
		}
	}
	return msgs
}

// digest is the text that Digest itself makes, without the guard.
func digest(t *testing.T, previous string, limit int, parts ...any) string {
	t.Helper()
	out, err := condense.Digest{}.Condense(context.Background(),
		condense.Input{Messages: span(parts...), Previous: previous, Max: limit, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

// wants fails unless text has all lines of want and none of those that begin
// with "not ".
func wants(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if absent, ok := strings.CutPrefix(w, "not "); ok {
			if strings.Contains(text, absent) {
				t.Errorf("%q should not be in:\n%s", absent, text)
			}
		} else if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// example reads the run that is in the repository.
func example(t testing.TB) []chat.Message {
	t.Helper()
	data, err := os.ReadFile("../examples/long-agent-run.json")
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.Read(data, wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return body.Messages
}

package chat_test

import (
	"testing"

	"github.com/oriel-context/oriel/chat"
)

// A result without the id of a call answers the first call of its name in the turn before it,
// whichever of the two lacks the id.
//
// SPEC E2
func TestResultsWithoutIDsAreMatchedByNameInOrder(t *testing.T) {
	said := func(role chat.Role, parts ...chat.Part) chat.Message { return chat.Message{Role: role, Parts: parts} }
	text := chat.Part{Kind: chat.Text, Text: chat.Quote("x")}
	call := func(id, name string) chat.Part { return chat.Part{Kind: chat.Call, ID: id, Name: name} }
	result := func(id, name string) chat.Part { return chat.Part{Kind: chat.Result, ID: id, Name: name} }
	byName := chat.Rules{ResultsFollow: true, ByName: true}
	for name, c := range map[string]struct {
		calls, results []chat.Part
		rules          chat.Rules
		problems       int
	}{
		"no ids": {[]chat.Part{call("", "f"), call("", "f")},
			[]chat.Part{result("", "f"), result("", "f")}, byName, 0},
		"ids of results": {[]chat.Part{call("", "f"), call("", "g")},
			[]chat.Part{result("1", "g"), result("2", "f")}, byName, 0},
		"ids of calls": {[]chat.Part{call("a", "f"), call("b", "g")},
			[]chat.Part{result("", "g"), result("", "f")}, byName, 0},
		"ids that differ": {[]chat.Part{call("a", "f")}, []chat.Part{result("b", "f")}, byName, 0},
		"ids before names": {[]chat.Part{call("a", "f"), call("b", "f")},
			[]chat.Part{result("b", "f"), result("", "f")}, byName, 0},
		"another name": {[]chat.Part{call("", "f")}, []chat.Part{result("", "g")}, byName, 2},
		"one result too many": {[]chat.Part{call("", "f")},
			[]chat.Part{result("", "f"), result("", "f")}, byName, 1},
		"one result is missing": {[]chat.Part{call("", "f"), call("", "f")}, []chat.Part{result("", "f")}, byName, 1},
		"twice with one id": {[]chat.Part{call("a", "f"), call("b", "f")},
			[]chat.Part{result("a", "f"), result("a", "f")}, byName, 2},
		"a protocol with ids only": {[]chat.Part{call("a", "f")},
			[]chat.Part{result("b", "f")}, chat.Rules{ResultsFollow: true}, 2},
	} {
		_, problems := chat.Split([]chat.Message{said(chat.User, text), said(chat.Assistant, c.calls...),
			said(chat.User, c.results...), said(chat.Assistant, text), said(chat.User, text)}, c.rules)
		if len(problems) != c.problems {
			t.Errorf("%s: %v, want %d problems", name, problems, c.problems)
		}
	}
}

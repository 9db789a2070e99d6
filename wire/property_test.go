package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

func each(t *testing.T, check func(*rapid.T, protocols.Kit)) {
	for _, p := range protocols.All() {
		t.Run(p.Format.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { check(t, p) })
		})
	}
}

// read reads a drawn body. One with two lists of messages is refused, as it
// must be, and is of no further use.
func read(t *rapid.T, data []byte, f wire.Format) *wire.Body {
	b, err := wire.Read(data, f, wire.Limits{})
	if err != nil {
		if strings.Contains(err.Error(), "given twice") && lists(data, f) > 1 {
			t.Skip(err)
		}
		t.Fatalf("%v\n%s", err, data)
	}
	return b
}

// lists counts the lists of messages at the top of a body.
func lists(data []byte, f wire.Format) int {
	d := json.NewDecoder(bytes.NewReader(data))
	n, depth, isKey := 0, 0, true
	for {
		tok, err := d.Token()
		if err != nil {
			return n
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = true
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isKey = true
			continue
		}
		if depth == 1 {
			if isKey && tok == f.Protocol().List {
				n++
			}
			isKey = !isKey
		}
	}
}

// Whatever a body holds, writing it back without a change gives the same bytes,
// and every message is the very bytes that an ordinary JSON reader finds.
func TestUnchangedIsByteIdentical(t *testing.T) {
	each(t, func(t *rapid.T, p protocols.Kit) {
		data := p.Draw(t, histories.Options{Valid: rapid.Bool().Draw(t, "valid")})
		b := read(t, data, p.Format)
		out, err := b.Write(b.Whole())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, data) {
			t.Fatalf("changed\n%s\nto\n%s", data, out)
		}
		for i, raw := range elements(t, data, p.Format) {
			if !bytes.Equal(b.Messages[i].Raw, raw) {
				t.Fatalf("message %d is\n%s\nwant\n%s", i, b.Messages[i].Raw, raw)
			}
		}
	})
}

// elements finds the messages with the standard library.
func elements(t *rapid.T, data []byte, f wire.Format) []json.RawMessage {
	name := f.Protocol().List
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if top[name][0] == '"' {
		return []json.RawMessage{top[name]}
	}
	if err := json.Unmarshal(top[name], &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// A view shows the messages that it names, in its order, each byte for byte, and
// everything beside the list as it came.
func TestViewIsSplicedByteForByte(t *testing.T) {
	each(t, func(t *rapid.T, p protocols.Kit) {
		data := p.Draw(t, histories.Options{})
		b := read(t, data, p.Format)
		made := []byte(`{"role":"user","content":"made \"here\"\n"}`)
		var view []wire.Piece
		var want [][]byte
		for i := range b.Messages {
			if rapid.Bool().Draw(t, "keep") {
				view = append(view, wire.Piece{Index: i})
				want = append(want, b.Messages[i].Raw)
			}
			if rapid.IntRange(0, 3).Draw(t, "insert") == 0 {
				view = append(view, wire.Piece{Raw: made})
				want = append(want, made)
			}
		}
		out, err := b.Write(view)
		if err != nil {
			t.Fatal(err)
		}
		again, err := wire.Read(out, p.Format, wire.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		again.Messages = slices.DeleteFunc(again.Messages, func(m chat.Message) bool { // Converse's roles alternate
			return p.Format == wire.Converse && bytes.HasSuffix(m.Raw, []byte(`","content":[{"text":"\u2026"}]}`))
		})
		plainInput := len(b.Messages) > 0 && b.Messages[0].Raw[0] == '"'
		for i := range again.Messages {
			if !plainInput && !bytes.Equal(again.Messages[i].Raw, want[i]) {
				t.Fatalf("message %d is\n%s\nwant\n%s", i, again.Messages[i].Raw, want[i])
			}
		}
		if len(again.Messages) != len(want) {
			t.Fatalf("%d messages, want %d", len(again.Messages), len(want))
		}
		before, after := around(data, b), around(out, again)
		if !plainInput && before != after {
			t.Fatalf("what stands beside the list changed:\n%s\nto\n%s", before, after)
		}
	})
}

// around is a body without its list of messages, byte for byte: everything up to
// the first message and behind the last.
func around(data []byte, b *wire.Body) string {
	if len(b.Messages) == 0 {
		return emptyList.ReplaceAllString(string(data), "$1[]")
	}
	head, _, _ := bytes.Cut(data, b.Messages[0].Raw)
	last := b.Messages[len(b.Messages)-1].Raw
	tail := data[bytes.LastIndex(data, last)+len(last):]
	list := regexp.MustCompile(`\[\s*$`).ReplaceAllString(string(head), "[")
	return list + regexp.MustCompile(`^\s*\]`).ReplaceAllString(string(tail), "]")
}

var emptyList = regexp.MustCompile(`((?:messages|input|contents)"\s*:\s*)\[\s*\]`)

// cut is a history, what of it was asked for and what the legal cuts made of it.
type cut struct {
	body     *wire.Body
	cuts     *chat.Cuts
	keep     []bool
	out      []byte
	problems []strict.Problem
}

// drawCut draws a history and a wish, and checks what holds for every history.
func drawCut(t *rapid.T, p protocols.Kit, valid bool) cut {
	data := p.Draw(t, histories.Options{Valid: valid, Turns: rapid.IntRange(1, 8).Draw(t, "turns")})
	b := read(t, data, p.Format)
	cuts := chat.NewCuts(b.Messages, b.Rules())
	want := rapid.SliceOfN(rapid.Bool(), len(cuts.Exchanges), len(cuts.Exchanges)).Draw(t, "want")
	keep := cuts.Keep(want)
	if !cuts.Legal(keep) {
		t.Fatalf("Keep(%v) = %v, which is not legal but %v\n%s", want, keep, cuts.Keep(keep), list(cuts.Exchanges))
	}
	out, err := b.Write(b.Select(cuts.Messages(keep)))
	if err != nil {
		t.Fatal(err)
	}
	if last := lastWords(elements(t, data, p.Format)); last != nil && !bytes.Contains(out, last) {
		t.Fatalf("the last user message left:\n%s\n%s", last, out)
	}
	return cut{b, cuts, keep, out, p.Judge(out)}
}

// lastWords finds the last message in which a user says something of their own, by
// the standard library and apart from the code under test.
func lastWords(messages []json.RawMessage) []byte {
	for i := len(messages) - 1; i >= 0; i-- {
		var m struct {
			Type, Role string
			Content    json.RawMessage
			Parts      []map[string]json.RawMessage
			Images     []string // of Ollama, beside the content
		}
		if messages[i][0] == '"' {
			return messages[i]
		}
		if json.Unmarshal(messages[i], &m) == nil && m.Role != "model" && m.Role != "function" && m.Parts != nil {
			if ownParts(m.Parts) {
				return messages[i]
			}
			continue
		}
		if json.Unmarshal(messages[i], &m) != nil || m.Role != "user" || m.Type != "" && m.Type != "message" {
			continue
		}
		if len(m.Images) > 0 {
			return messages[i]
		}
		var blocks []map[string]json.RawMessage // of Converse, without types
		if json.Unmarshal(m.Content, &blocks) == nil && len(blocks) > 0 && blocks[0]["type"] == nil {
			if ownParts(blocks) {
				return messages[i]
			}
			continue
		}
		var text string
		var parts []struct{ Type, Text string }
		if json.Unmarshal(m.Content, &text) == nil && len(m.Content) > 0 && m.Content[0] == '"' {
			parts = append(parts, struct{ Type, Text string }{"text", text})
		} else if json.Unmarshal(m.Content, &parts) != nil {
			continue
		}
		for _, p := range parts {
			isText := p.Type == "text" || p.Type == "input_text"
			if isText && wholeReminder.MatchString(p.Text) || p.Type == "tool_result" {
				continue
			}
			return messages[i]
		}
	}
	return nil
}

// ownParts reports whether parts of Gemini, or blocks of Converse, have something of a user's own.
func ownParts(parts []map[string]json.RawMessage) bool {
	for _, p := range parts {
		var text string
		json.Unmarshal(p["text"], &text)
		if p["functionResponse"] == nil && p["function_response"] == nil && p["toolResult"] == nil &&
			p["cachePoint"] == nil && !wholeReminder.MatchString(text) {
			return true
		}
	}
	return false
}

var wholeReminder = regexp.MustCompile(`(?s)^\s*<system-reminder>.*</system-reminder>\s*$`)

// Any set of exchanges that the legal cuts allow makes a body that the provider
// takes, whatever was asked for. SPEC E1, E2.
func TestLegalCutsAreValid(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	each(t, func(t *rapid.T, p protocols.Kit) {
		c := drawCut(t, p, true)
		if len(c.cuts.Problems) > 0 {
			t.Fatalf("a valid history is called broken: %v\n%s", c.cuts.Problems, show(c.body))
		}
		if len(c.problems) > 0 {
			t.Fatalf("%v\nkept %v of\n%s%s", c.problems[0], c.keep, list(c.cuts.Exchanges), show(c.body))
		}
		for _, problem := range strict.SameThinking(c.body.Data(), c.out) {
			t.Fatalf("%v", problem)
		}
	})
}

// Of a history that came broken, what can leave has left after a cut, and nothing
// is broken that was not. The histories are the same in every run: there is no
// end to the ways in which one can be damaged. SPEC E1.
func TestCutsOfBrokenHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, p := range protocols.All() {
		t.Run(p.Format.String(), func(t *testing.T) {
			damaged := rapid.Custom(func(t *rapid.T) cut { return drawCut(t, p, false) })
			for seed := range 300 {
				checkBroken(t, p, damaged.Example(seed))
			}
		})
	}
}

func checkBroken(t *testing.T, p protocols.Kit, c cut) {
	t.Helper()
	asked := false
	for _, e := range c.cuts.Exchanges {
		if e.Fixed != "" && e.Broken != "" {
			return // the provider refuses it whatever is cut
		}
		asked = asked || e.Broken == "" && e.Last == chat.Question
	}
	before := p.Judge(c.body.Data())
	if !slices.Contains(c.keep, false) {
		if len(c.problems) > len(before) {
			t.Errorf("%v\nwere\n%v\n%s", c.problems, before, show(c.body))
		}
		return
	}
	if !asked {
		return
	}
	known := codes(before)
	open := c.cuts.Exchanges[len(c.cuts.Exchanges)-1].Open
	for _, problem := range c.problems {
		if open && (problem.Code == strict.OpenEnd || problem.Code == strict.UnansweredCall) {
			continue // the agent is still running the call
		}
		if problem.Code == strict.SameRole {
			continue // a call without its result, which the provider refuses, stood between two questions
		}
		if pairing[problem.Code] || !known[problem.Code] {
			t.Errorf("%v\nkept %v of\n%s%s", problem, c.keep, list(c.cuts.Exchanges), show(c.body))
		}
	}
}

// pairing are the faults that leave with the exchange that has them.
var pairing = map[string]bool{
	strict.OrphanResult: true, strict.UnansweredCall: true, strict.ResultNotFirst: true, strict.ReasoningAlone: true,
}

func codes(problems []strict.Problem) map[string]bool {
	m := map[string]bool{}
	for _, p := range problems {
		m[p.Code] = true
	}
	return m
}

func list(exchanges []chat.Exchange) string {
	var out strings.Builder
	for i, e := range exchanges {
		fmt.Fprintf(&out, "%d: %+v\n", i, e)
	}
	return out.String()
}

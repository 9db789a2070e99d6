package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

// said is what a history says, whatever protocol it is in: who says what, which
// tools are called with what and what they give back.
func said(t interface{ Fatalf(string, ...any) }, f wire.Format, data []byte) []string {
	b, err := wire.Read(data, f, wire.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	var out []string
	for i := range b.Messages {
		for j := range b.Messages[i].Parts {
			p := &b.Messages[i].Parts[j]
			switch p.Kind {
			case chat.Call:
				out = append(out, "call "+p.ID+" "+p.Name+" "+p.Arguments())
			case chat.Result:
				s := "result " + p.ID + " " + p.Text.String()
				for k := range p.Parts {
					s += p.Parts[k].Text.String()
				}
				out = append(out, s)
			case chat.Text:
				if !p.Text.Empty() {
					out = append(out, string(b.Messages[i].Role)+": "+p.Text.String())
				}
			}
		}
	}
	return out
}

// A history that a program made, or that came in one protocol, says the same in
// every other, and each provider takes it.
func TestEncodeSaysTheSameInEveryProtocol(t *testing.T) {
	history := chat.Request{
		Model: "m", MaxOutput: 100, Stream: true,
		System: []chat.Part{{Kind: chat.Text, Text: chat.Quote("Be \"brief\".")}},
		Tools: []chat.ToolDef{
			{Name: "read", Raw: []byte(
				`{"name":"read","description":"d","input_schema":{"type":"object","properties":{"p":{"type":"string"}}}}`)},
			{Name: "run", Raw: []byte(`{"type":"function","function":{"name":"run"}}`)},
		},
		Messages: []chat.Message{
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("go\n")},
				{Kind: chat.Image, Media: &chat.Media{Type: "image/png", Data: []byte("iVBORw0K")}}}},
			{Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Thinking, Text: chat.Quote("hm"), Signed: true},
				{Kind: chat.Text, Text: chat.Quote("reading")},
				{Kind: chat.Call, ID: "a", Name: "read", Args: []byte(`{"p":"x"}`)},
				{Kind: chat.Call, ID: "b", Name: "run", Args: []byte(`"{\"c\":1}"`)},
			}},
			{Role: chat.User, Parts: []chat.Part{
				{Kind: chat.Result, ID: "b", Text: chat.Quote("done"), IsError: true},
				{Kind: chat.Result, ID: "a", Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("content")}}},
				{Kind: chat.Text, Text: chat.Quote("and then?")},
			}},
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("ready")}}},
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Unknown, Raw: []byte(`{"type":"hologram"}`)}}},
		},
	}
	want := []string{
		"user: go\n", "assistant: reading", `call a read {"p":"x"}`, `call b run {"c":1}`,
		"result b done", "result a content", "user: and then?", "assistant: ready", `user: {"type":"hologram"}`,
	}
	for _, p := range protocols.All() {
		data, err := wire.Encode(p.Format, &history)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) {
			t.Fatalf("%s: not JSON: %s", p.Format, data)
		}
		if problems := p.Judge(data); len(problems) > 0 {
			t.Errorf("%s: %v\n%s", p.Format, problems, data)
		}
		got := said(t, p.Format, data)
		if p.Format.Protocol().System == "" { // its system prompt is a message
			got = got[1:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s\n%s", p.Format, diff, data)
		}
	}
	if _, err := wire.Encode(wire.Trajectories, &history); err == nil {
		t.Error("a trajectory is no request")
	}
}

// Any valid history can be brought into any protocol without losing a call or a
// result, and they are paired as the provider wants them. What one provider
// allows and another does not (empty texts, no tools, ids used again) stays.
func TestTranslationsAreValid(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	each(t, func(t *rapid.T, from protocols.Kit) {
		data := from.Draw(t, histories.Options{Valid: true, Plain: true})
		b := read(t, data, from.Format)
		if b.Rules().Held {
			t.Skip("the provider has a part of it")
		}
		for _, to := range protocols.All() {
			out, err := wire.Encode(to.Format, &b.Request)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range to.Judge(out) {
				switch problem.Code {
				case strict.BadJSON, strict.OrphanResult, strict.UnansweredCall, strict.ResultNotFirst,
					strict.WrongRole:
					t.Fatalf("%s: %v\n%s\nof\n%s", to.Format, problem, out, data)
				}
			}
			calls := func(f wire.Format, data []byte) (n int) {
				for _, s := range said(t, f, data) {
					if len(s) > 5 && (s[:5] == "call " || s[:5] == "resul") {
						n++
					}
				}
				return n
			}
			hosted := 0
			for i := range b.Messages {
				for j := range b.Messages[i].Parts {
					if b.Messages[i].Parts[j].Hosted {
						hosted++
					}
				}
			}
			if to.Format != wire.Anthropic || hosted == 0 {
				if got, want := calls(to.Format, out), calls(from.Format, data)-hosted; got != want {
					t.Fatalf("%s has %d calls and results, want %d\n%s\nof\n%s", to.Format, got, want, out, data)
				}
			}
		}
	})
}

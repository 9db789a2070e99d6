package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

var seeds = []string{
	`{"model":"claude-x","max_tokens":1,"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}`,
	`{"model":"gpt-4o","messages":[{"role":"user","content":"\u00e9"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`,
	`{"model":"gpt-5","input":[{"type":"reasoning","id":"r","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`,
	`{"input":"hello"}`,
	`{"model":"m","options":{"num_ctx":1},"messages":[{"role":"user","content":"a","images":["aa"]},{"role":"assistant","thinking":"t","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":"r"},{"role":"user","content":"[Oriel: x]` + "\u2063" + `\n\na"}]}`,
	`{"previous_response_id":"r","model":"m"}`,
	`{"contents":[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0K"}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]},{"role":"function","parts":[{"functionResponse":{"id":"x","name":"f","response":{"output":"r"}}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}],"systemInstruction":{"parts":[{"text":"s"}]}}`,
	`{"model":"m","store":false,"input":[{"type":"user_input","content":[{"type":"text","text":"a"}]},{"type":"text","text":"b"},{"type":"thought","signature":"c2ln"},{"type":"function_call","id":"c","name":"f","arguments":{}},{"type":"function_result","call_id":"c","result":[{"type":"text","text":"r"}]},{"role":"model","content":"x"}]}`,
	`{"question":"q","thought_1":"t","tool_1":"a","tool_args_1":{},"tool_result_1":"r"}`,
}

// formats is the number of formats.
const formats = byte(wire.Converse) + 1

// No body makes a reader panic; what is read is written back as it was; every
// error says where.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		for format := byte(0); format < formats; format++ {
			f.Add([]byte(s), format)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format byte) {
		b, err := wire.Read(data, wire.Format(format%formats), wire.Limits{})
		if err != nil {
			var e *wire.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(data) || e.Msg == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		if out, err := b.Write(b.Whole()); err != nil || !bytes.Equal(out, data) {
			t.Fatalf("%v\n%s", err, out)
		}
		if frame := b.Frame(); frame != nil {
			if out := fill(t, frame, data); !bytes.Equal(out, data) {
				t.Fatalf("%s\nby %s", out, frame)
			}
		}
		cuts := chat.NewCuts(b.Messages, b.Rules())
		keep := cuts.Keep(make([]bool, len(cuts.Exchanges)))
		if !cuts.Legal(keep) {
			t.Fatalf("Keep(nothing) = %v is not legal", keep)
		}
		if len(b.Messages) > 0 {
			out, err := b.Write(b.Select(cuts.Messages(keep)))
			if err != nil || !json.Valid(out) {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		for _, to := range wire.Protocols() {
			if out, err := wire.Encode(to, &b.Request); err != nil || !json.Valid(out) {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	})
}

func FuzzTrajectory(f *testing.F) {
	for _, s := range append(seeds, flat, dspy) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := wire.ReadTrajectory(data, wire.Limits{})
		if err != nil {
			return
		}
		tr.Request()
		if len(tr.Steps) > 0 {
			if out := tr.Write(tr.Steps[1:], chat.Quote("note")); !json.Valid(out) {
				t.Fatalf("%s", out)
			}
		}
	})
}

// Bad input gets an error that names the field or the byte, and costs no more
// memory than the limits allow.
func TestBadInputIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	body := func(text string) []byte {
		return []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"` + text + `"}]}`)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "byte 0"},
		{"not JSON", []byte("hello"), "byte 0"},
		{"truncated", body("x")[:40], "byte 40"},
		{"invalid UTF-8", body("\xff"), "byte 56"},
		{"lone surrogate", body(`\ud800`), "byte 56"},
		{"NUL", body("\x00"), "byte 56"},
		{"100 MB", body(strings.Repeat("x", 100<<20)), "byte"},
		{"depth bomb", []byte(`{"messages":` + strings.Repeat("[", 1<<20)), "byte 1011"},
		{"many values", []byte(`{"messages":[` + strings.Repeat("0,", 10<<20) + `0]}`), "byte"},
	} {
		_, err := wire.Read(c.data, wire.Auto, wire.Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// An escaped NUL is good JSON.
	if _, err := wire.Read(body(`\u0000`), wire.Auto, wire.Limits{}); err != nil {
		t.Error(err)
	}
}

// Package sdk holds package wire against the vendors' own SDKs. It stands apart so
// that only these tests build them, which takes minutes the first time.
package sdk

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicsse "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaisse "github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// response is a stream as an HTTP client gets it.
func response(sse []byte) *http.Response {
	return &http.Response{
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(bytes.NewReader(sse)),
	}
}

type streamCase struct {
	name string
	sse  []byte
}

// sdkCases are the streams of wire/testdata/streams that the vendors' accumulators
// read too.
func sdkCases(t *testing.T, f wire.Format) []streamCase {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "wire", "testdata", "streams", f.String()+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []streamCase
	for _, block := range strings.Split(string(raw), "\n\n") {
		in, _, _ := strings.Cut(block, "\n----")
		if strings.Contains(in, "\nsdk no") {
			continue
		}
		name, lines, _ := strings.Cut(in, "\n")
		c := streamCase{name: name}
		for line := range strings.Lines(lines) {
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(line), &event); err == nil && event.Type != "" {
				c.sse = append(c.sse, "event: "+event.Type+"\n"...)
			}
			c.sse = append(c.sse, "data: "+strings.TrimSpace(line)+"\n\n"...)
		}
		cases = append(cases, c)
	}
	if len(cases) < 3 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}

func readStream(f wire.Format, sse []byte) *wire.Reply {
	r := wire.NewStreamReader(f)
	r.Write(sse)
	return r.Reply()
}

// echoes fails unless a client that sends this back is known to repeat the reply.
func echoes(t *testing.T, name string, r *wire.Reply, sent any) {
	t.Helper()
	raw, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	known, echo := messages(t, r), messages(t, &wire.Reply{Format: r.Format, Message: raw})
	if !wire.SameReply(&known[0], &echo[0]) {
		t.Errorf("%s: not known as the same:\n%s\n%s", name, r.Message, raw)
	}
}

func messages(t *testing.T, r *wire.Reply) []chat.Message {
	t.Helper()
	msgs, err := r.Messages()
	if err != nil || len(msgs) == 0 {
		t.Fatalf("%d messages, %v", len(msgs), err)
	}
	return msgs
}

// sameValues compares JSON.
func sameValues(t *testing.T, name string, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// What we make of a stream is what Anthropic's SDK makes of it, and what that SDK
// sends back is known as the same reply.
func TestAnthropicStreamsAgreeWithTheSDK(t *testing.T) {
	for _, c := range sdkCases(t, wire.Anthropic) {
		stream := anthropicsse.NewStream[anthropic.MessageStreamEventUnion](anthropicsse.NewDecoder(response(c.sse)),
			nil)
		var m anthropic.Message
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(c.name, err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(c.name, err)
		}
		r := readStream(wire.Anthropic, c.sse)
		var want struct{ Content json.RawMessage }
		if err := json.Unmarshal([]byte(m.RawJSON()), &want); err != nil {
			t.Fatal(err)
		}
		sameValues(t, c.name, r.Message, []byte(`{"role":"assistant","content":`+string(want.Content)+`}`))
		if r.ID != m.ID || r.Model != string(m.Model) || r.Stop != string(m.StopReason) {
			t.Errorf("%s: %s %s %s", c.name, r.ID, r.Model, r.Stop)
		}
		u := m.Usage
		if r.Usage.Input != int(u.InputTokens) || r.Usage.Output != int(u.OutputTokens) ||
			r.Usage.CacheRead != int(u.CacheReadInputTokens) ||
			r.Usage.CacheWrite+r.Usage.CacheWrite1h != int(u.CacheCreationInputTokens) {
			t.Errorf("%s: %+v, want %s", c.name, r.Usage, u.RawJSON())
		}
		echoes(t, c.name, r, m.ToParam())
	}
}

func TestChatStreamsAgreeWithTheSDK(t *testing.T) {
	for _, c := range sdkCases(t, wire.Chat) {
		stream := openaisse.NewStream[openai.ChatCompletionChunk](openaisse.NewDecoder(response(c.sse)), nil)
		var acc openai.ChatCompletionAccumulator
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Fatal(c.name)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(c.name, err)
		}
		r := readStream(wire.Chat, c.sse)
		var got struct {
			Content, Refusal string
			ToolCalls        []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(r.Message, &got); err != nil {
			t.Fatal(err)
		}
		m := acc.Choices[0].Message
		if got.Content != m.Content || got.Refusal != m.Refusal || len(got.ToolCalls) != len(m.ToolCalls) {
			t.Errorf("%s: %s", c.name, r.Message)
		}
		for i, call := range m.ToolCalls {
			g := got.ToolCalls[i]
			if g.ID != call.ID || g.Type != call.Type || g.Function.Name != call.Function.Name ||
				g.Function.Arguments != call.Function.Arguments {
				t.Errorf("%s: %+v", c.name, g)
			}
		}
		if r.ID != acc.ID || r.Model != acc.Model || r.Stop != acc.Choices[0].FinishReason {
			t.Errorf("%s: %s %s %s", c.name, r.ID, r.Model, r.Stop)
		}
		if u := acc.Usage; r.Usage.TotalInput() != int(u.PromptTokens) || r.Usage.Output != int(u.CompletionTokens) ||
			r.Usage.Reasoning != int(u.CompletionTokensDetails.ReasoningTokens) {
			t.Errorf("%s: %+v", c.name, r.Usage)
		}
		echoes(t, c.name, r, m.ToParam())
	}
}

func TestResponsesStreamsAgreeWithTheSDK(t *testing.T) {
	for _, c := range sdkCases(t, wire.Responses) {
		decoder := openaisse.NewDecoder(response(c.sse))
		var acc responses.ResponseAccumulator
		for decoder.Next() {
			var event responses.ResponsesServerEventUnion
			if err := json.Unmarshal(decoder.Event().Data, &event); err != nil {
				t.Fatal(c.name, err)
			}
			if err := acc.AddEvent(event); err != nil {
				t.Fatal(c.name, err)
			}
		}
		r := readStream(wire.Responses, c.sse)
		output := acc.Snapshot().Output
		if len(output) != len(r.Items) {
			t.Fatalf("%s: %d items, want %d", c.name, len(r.Items), len(output))
		}
		for i, want := range output {
			var got struct {
				ID, Type, Name, Arguments, Input string
				CallID                           string `json:"call_id"`
				Content                          []struct{ Type, Text string }
			}
			if err := json.Unmarshal(r.Items[i], &got); err != nil {
				t.Fatal(err)
			}
			if got.ID != want.ItemID || got.Type != want.Type || got.Name != want.Name ||
				got.Arguments != want.Arguments || got.Input != want.Input || got.CallID != want.CallID {
				t.Errorf("%s: %s, want %+v", c.name, r.Items[i], want)
			}
			for j, text := range want.Text {
				if got.Content[j].Text != text {
					t.Errorf("%s: %s, want %q", c.name, r.Items[i], text)
				}
			}
		}
	}
}

// What OpenAI's SDK sends back of a response is known item by item.
func TestResponsesEchoesAreKnown(t *testing.T) {
	body := `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","output":[
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"gAAA"},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi \u00e9","annotations":[],"logprobs":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\": 1}","status":"completed"}]}`
	var parsed responses.Response
	if err := json.Unmarshal([]byte(body), &parsed); err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ReadReply(wire.Responses, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	echo := &wire.Reply{Format: wire.Responses}
	for _, param := range []any{parsed.Output[0].AsReasoning().ToParam(), parsed.Output[1].AsMessage().ToParam(),
		parsed.Output[2].AsFunctionCall().ToParam()} {
		raw, err := json.Marshal(param)
		if err != nil {
			t.Fatal(err)
		}
		echo.Items = append(echo.Items, raw)
	}
	known, sent := messages(t, reply), messages(t, echo)
	for i := range known {
		for j := range sent {
			if got := wire.SameReply(&known[i], &sent[j]); got != (i == j) {
				t.Errorf("%d and %d: %t\n%s\n%s", i, j, got, known[i].Raw, sent[j].Raw)
			}
		}
	}
}

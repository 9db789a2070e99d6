package wire_test

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/wire"
)

// Claude by Bedrock's InvokeModel is Anthropic's protocol with the model, and whether the reply is
// streamed, in the path. Models of other vendors have bodies of their own there.
func TestClaudeByInvokeModelIsReadFromThePath(t *testing.T) {
	const arn = "arn:aws:bedrock:us-east-1:123456789012:"
	for _, tc := range []struct {
		path, model string
		stream      bool
	}{
		{"/model/anthropic.claude-haiku-4-5-20251001-v1:0/invoke", "anthropic.claude-haiku-4-5-20251001-v1:0", false},
		{"/model/us.anthropic.claude-opus-4-8-v1%3A0/invoke-with-response-stream", "us.anthropic.claude-opus-4-8-v1:0",
			true},
		{"/gateway/model/global.anthropic.claude-opus-4-8/invoke", "global.anthropic.claude-opus-4-8", false},
		{"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic.claude-opus-4-8/invoke",
			arn + "inference-profile/us.anthropic.claude-opus-4-8", false},
		{"/model/" + arn + "application-inference-profile/a1b2/invoke-with-response-stream",
			arn + "application-inference-profile/a1b2", true},
		{"/model/" + arn + "inference-profile/us.amazon.nova-pro-v1%3A0/invoke", "", false},
		{"/model/amazon.nova-pro-v1%3A0/invoke", "", false},
		{"/model/openai.gpt-oss-120b-1%3A0/invoke", "", false},
		{"/model/anthropic.claude-opus-4-8/invoke-with-bidirectional-stream", "", false},
		{"/model/anthropic.claude-opus-4-8/count-tokens", "", false},
		{"/model//invoke", "", false},
		{"/model/%zz.claude/invoke", "", false},
		{"/model/a/claude/invoke", "", false},
		{"/claude/invoke", "", false},
		{"invoke", "", false},
	} {
		call := wire.CallFormat(tc.path)
		if (call == wire.Anthropic) != (tc.model != "") || wire.CountFormat(tc.path) != wire.Auto {
			t.Errorf("%s is a call of %s", tc.path, call)
			continue
		}
		if tc.model == "" {
			continue
		}
		body, err := wire.Read([]byte(`{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a","b"],"messages":[]}`),
			call, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := body.At(tc.path); err != nil || body.Model != tc.model || body.Stream != tc.stream {
			t.Errorf("%s: %v, model %q, streamed %v", tc.path, err, body.Model, body.Stream)
		}
		if got := strings.Join(body.Betas, " "); got != "a b" {
			t.Errorf("the betas are %q", got)
		}
		if string(body.AskCache(body.Data())) != string(body.Data()) {
			t.Error("Bedrock is asked to cache by a field that it does not have")
		}
	}
}

// A profile may be that of any model: the body tells whether it is Claude's.
func TestBodiesOfOtherModelsAreNotClaudes(t *testing.T) {
	const path = "/model/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2/invoke"
	body, err := wire.Read([]byte(`{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{}}`),
		wire.CallFormat(path), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := body.At(path); err == nil || !strings.Contains(err.Error(), "anthropic_version") {
		t.Errorf("a body of Nova's is read as one of Claude's: %v", err)
	}
	if err := body.At("/v1/messages"); err != nil {
		t.Errorf("Anthropic's own server needs no version in the body: %v", err)
	}
}

// A frame that differs in one bit is never read as another one, and a reply with it is not complete.
func TestDamagedFramesAreNotRead(t *testing.T) {
	var whole []byte
	for _, event := range []string{`{"type":"message_start","message":{"id":"m","content":[]}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"harbour"}}`,
		`{"type":"message_stop"}`} {
		whole = eventstream.AppendChunk(whole, []byte(event))
	}
	read := func(stream []byte) *wire.Reply {
		r := wire.NewStreamReader(wire.Anthropic)
		r.Framing = wire.Frames
		r.Write(stream)
		return r.Reply()
	}
	if r := read(whole); !r.Complete || !strings.Contains(string(r.Message), "harbour") {
		t.Fatalf("%+v", r)
	}
	for i := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[i] ^= 1 << (i % 8)
		if r := read(damaged); r.Complete || len(r.Notes) == 0 {
			t.Fatalf("byte %d: complete %v, notes %q", i, r.Complete, r.Notes)
		}
	}
}

// Frames beyond the limit are passed over without being kept; the end is still read.
func TestFramesAreBounded(t *testing.T) {
	for _, pieces := range []int{1 << 20, 100} {
		r := wire.NewStreamReader(wire.Anthropic)
		r.Framing, r.Limit = wire.Frames, 10_000
		send := func(event string) {
			for frame := eventstream.AppendChunk(nil, []byte(event)); len(frame) > 0; {
				n := min(pieces, len(frame))
				r.Write(frame[:n])
				frame = frame[n:]
			}
		}
		send(`{"type":"message_start","message":{"id":"m","content":[]}}`)
		send(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		send(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` +
			strings.Repeat("x", 50_000) + `"}}`)
		send(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`)
		send(`{"type":"message_stop"}`)
		if reply := r.Reply(); reply.Complete || len(reply.Message) > 1000 || reply.Usage.Output != 7 || !r.Over() {
			t.Errorf("in pieces of %d: complete %v, %d bytes, %+v", pieces, reply.Complete, len(reply.Message), reply.Usage)
		}
	}
}

// Without memory for a frame nothing of it is held, wherever it is cut.
func TestFramesWithoutMemoryArePassedOver(t *testing.T) {
	frame := eventstream.AppendChunk(nil, []byte(`{"type":"message_start","message":{"id":"m","content":[]}}`))
	for cut := range frame {
		r := wire.NewStreamReader(wire.Anthropic)
		r.Framing, r.Take = wire.Frames, func(n int) bool { return n < 0 }
		r.Write(frame[:cut])
		r.Write(frame[cut:])
		if reply := r.Reply(); reply.Complete {
			t.Fatalf("cut at %d: %+v", cut, reply)
		}
	}
}

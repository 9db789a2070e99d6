package call_test

import (
	"bytes"
	"testing"

	"github.com/oriel-context/oriel/internal/test/eventstream"
)

// A reply in frames, as Amazon Bedrock streams those of Claude, is read like one in server-sent
// events: it is whole only if its end came undamaged.
func TestRepliesInFramesAreRead(t *testing.T) {
	var whole []byte
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"m","role":"assistant","model":"claude-x","content":[]}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"harbour"}}`,
		`{"type":"message_stop"}`,
	} {
		whole = eventstream.AppendChunk(whole, []byte(event))
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	const incomplete = "the answer has no complete reply"
	for want, answers := range map[string][][]byte{
		"":         {whole},
		incomplete: {nil, damaged, whole[:len(whole)-1]},
		"the provider answered with an error: throttlingException: Too many requests": {
			eventstream.AppendException(nil, "throttlingException", "Too many requests"),
		},
	} {
		for _, answer := range answers {
			errors := callErrors(t, "/model/anthropic.claude-opus-4-8/invoke-with-response-stream",
				`{"anthropic_version":"bedrock-2023-05-31","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`,
				eventstream.MediaType, string(answer))
			if len(errors) != 1 || errors[0] != want {
				t.Errorf("%d of %d bytes: the calls ended with %q, want %q", len(answer), len(whole), errors, want)
			}
		}
	}
}

package wire_test

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// A provider's own reason for a cache miss is read, if it is one.
func TestDiagnosesOfCacheMissesAreRead(t *testing.T) {
	anthropic := func(said string) string {
		return `{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","diagnostics":` +
			said + `,"usage":{"input_tokens":1,"output_tokens":1}}`
	}
	for _, c := range []struct {
		format     wire.Format
		body, want string
	}{
		{wire.Anthropic, anthropic(`{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":5}}`),
			"tools_changed"},
		{wire.Anthropic, anthropic(`{"cache_miss_reason":null}`), ""},
		{wire.Anthropic, anthropic(`null`), ""},
		{wire.Anthropic, anthropic(`{"cache_miss_reason":{"type":"words of a person"}}`), ""},
		{wire.Anthropic, anthropic(`{"cache_miss_reason":{"type":"` + strings.Repeat("x", 65) + `"}}`), ""},
		{wire.Responses, `{"id":"r","object":"response","status":"completed","model":"m","output":[],"prompt_cache_diagnostics":{"type":"cache_miss","reason":"input_changed"}}`,
			"input_changed"},
	} {
		r, err := wire.ReadReply(c.format, []byte(c.body))
		if err != nil || r.Diagnosis != c.want {
			t.Errorf("%s: %v, %v", c.body, r, err)
		}
	}
	for format, stream := range map[wire.Format]string{
		wire.Anthropic: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"diagnostics\":{\"cache_miss_reason\":{\"type\":\"system_changed\"}}}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		wire.Responses: "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[],\"prompt_cache_diagnostics\":{\"reason\":\"system_changed\"}}}\n\n",
	} {
		s := wire.NewStreamReader(format)
		s.Write([]byte(stream))
		if got := s.Reply().Diagnosis; got != "system_changed" {
			t.Errorf("%s: a stream says %q", format, got)
		}
	}
}

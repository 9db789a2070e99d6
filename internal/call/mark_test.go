package call_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// With the setting, the cache is asked for where the client does not ask, also behind a cut,
// and what is recorded of a call has what was sent.
func TestTheCacheIsAskedForWhereTheClientDoesNot(t *testing.T) {
	const field = `{"cache_control":{"type":"ephemeral"},"model"`
	message := `{"role":"user","content":"hi, \"cache_control\" is a word"}`
	body := `{"model":"claude-sonnet-4-6","max_tokens":10%s,"messages":[` + message + `]}`
	mark := func(o *call.TestOptions) { o.MarkCache = true; o.Profile = "thrifty" }
	for name, c := range map[string]struct {
		path, more string
		options    func(*call.TestOptions)
		want       bool
	}{
		"asked": {"/v1/messages", "", mark, true},
		"off":   {"/v1/messages", "", func(o *call.TestOptions) {}, false},
		"a mark": {"/v1/messages", `,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]`,
			mark, false},
		"not for all": {"/v1/chat/completions", "", mark, false},
	} {
		b := start(t, memory.New(), replying, c.options)
		came := fmt.Sprintf(body, c.more)
		b.send(c.path, []byte(came), "X-Oriel-Conversation", "talk")
		b.settle(1)
		b.mu.Lock()
		got := b.bodies[len(b.bodies)-1]
		b.mu.Unlock()
		if bytes.HasPrefix(got, []byte(field)) != c.want || !c.want && string(got) != came {
			t.Errorf("%s: sent %s", name, got)
		}
		records, err := b.store.Records(ctx, timeline.Local, "talk", "call", "")
		if err != nil || len(records) != 1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		if _, sent, err := call.ReadSent(ctx, b.store, timeline.Local, "talk", &records[0],
			call.SentOptions{}); err != nil ||
			!bytes.Equal(sent, got) {
			t.Errorf("%s: recorded %s, %v", name, sent, err)
		}
	}

	b := start(t, memory.New(), replying, mark)
	k := newTalker(b, "X-Oriel-Budget", "2000")
	k.claude = true
	k.untilCut()
	if !bytes.HasPrefix(k.last, []byte(field)) {
		t.Errorf("behind a cut %.200s is sent", k.last)
	}
}

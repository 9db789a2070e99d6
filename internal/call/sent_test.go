package call_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// The record of a call holds what was sent of it and why: the figures of the response
// headers, and the plan by which the body can be made again.
func TestARecordedCallShowsWhatWasSent(t *testing.T) {
	b := start(t, memory.New(), replying, thrifty)
	k := newTalker(b, "X-Oriel-Budget", "2000")
	cut := 0
	for range 30 {
		h := k.say().Header
		records, err := b.store.Records(ctx, timeline.Local, "talk", "call", "")
		if err != nil || len(records) != k.calls {
			t.Fatalf("%d records, %v", len(records), err)
		}
		r := &records[len(records)-1]
		c, sent, err := call.ReadSent(ctx, b.store, timeline.Local, "talk", r, call.SentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if before, after := strconv.Itoa(c.Came), strconv.Itoa(c.Tokens); before != h.Get("X-Oriel-Tokens-Before") ||
			after != h.Get("X-Oriel-Tokens-After") || c.Plan != h.Get("X-Oriel-Plan") {
			t.Errorf("recorded %s, %s and %q, told %v", before, after, c.Plan, h)
		}
		if !bytes.Equal(sent, k.last) {
			t.Errorf("sent\n%s\nread\n%s", k.last, sent)
		}
		for i, m := range messagesOf(t, sent) {
			if id := c.SentIDs[i]; id < 1 || id > int64(len(k.list)) || c.Plan == "" && !bytes.Equal(m, k.list[id-1]) {
				t.Fatalf("message %d has the id %d", i, id)
			}
		}
		if last := c.SentIDs[len(c.SentIDs)-1]; last != int64(len(k.list)-1) {
			t.Errorf("the newest message has the id %d", last)
		}
		if light, err := call.Decode(r); err != nil || light.Came != c.Came || light.Plan != c.Plan ||
			light.Body != nil {
			t.Errorf("%+v, %v", light, err)
		}
		if c.Came > c.Tokens {
			cut++
		}
	}
	if cut < 5 {
		t.Errorf("something was left out of %d calls only", cut)
	}

	// Without its plan, a call cannot be shown as it was sent.
	records, _ := b.store.Records(ctx, timeline.Local, "talk", "call", "")
	last := &records[len(records)-1]
	c, err := call.Decode(last)
	if err != nil {
		t.Fatal(err)
	}
	plan, ok := planOf(t, b.store, c.Plan)
	if !ok {
		t.Fatalf("plan %s is not stored", c.Plan)
	}
	if _, err := b.store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "talk", Stay: true, Now: c.Began,
		Drop: []timeline.Key{{Kind: timeline.KindPlan, Key: plan.Record().Key}}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := call.ReadSent(ctx, b.store, timeline.Local, "talk", last, call.SentOptions{}); !errors.Is(err,
		call.ErrPlanGone) {
		t.Error(err)
	}
}

// A body is read as it was written, however its client writes JSON.
func TestABodyIsReadInItsOwnBytes(t *testing.T) {
	b := start(t, memory.New(), replying)
	for i, c := range []struct{ path, body string }{
		{"/v1/messages",
			"{\n  \"metadata\": {\"user_id\": \"<a> & b\"},\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"hello\"},\n    {\"role\": \"assistant\", \"content\": \"yes\"},\n    {\"role\": \"user\", \"content\": \"go\"}\n  ],\n  \"tools\": [ {\"name\": \"ls\", \"input_schema\": {\"type\": \"object\"}} ],\n  \"model\": \"m\",\n  \"system\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"text\", \"text\": \"b\"}],\n  \"max_tokens\": 10\n}\n"},
		{"/v1/messages",
			`{"system":"plain", "messages":[{"role":"user","content":"one"}], "max_tokens":1e1, "model":"m", "stop_sequences":[]}`},
		{"/v1/messages", `{"system":[],"messages":[{"role":"user","content":"two"}],"max_tokens":10,"model":"m"}`},
		{"/v1/chat/completions",
			`{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}], "model": "m", "temperature": 0.10, "\u0075ser": "me"}`},
		{"/v1/responses",
			`{"input":"a text","model":"m","instructions":"be brief","reasoning":{"effort": "low"},"store":false}`},
		{"/v1/responses", `{"store":false,"input":[ {"role":"user","content":"one"} ],"model":"m"}`},
	} {
		name := strconv.Itoa(i)
		b.send(c.path, []byte(c.body), "X-Oriel-Conversation", name)
		b.settle(i + 1)
		records, err := b.store.Records(ctx, timeline.Local, name, "call", "")
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: %d records, %v", c.body, len(records), err)
		}
		stored, sent, err := call.ReadSent(ctx, b.store, timeline.Local, name, &records[0], call.SentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if string(stored.Body) != c.body || string(sent) != c.body {
			t.Errorf("came as\n%s\nis read as\n%s\nand sent as\n%s", c.body, stored.Body, sent)
		}
	}
}

func messagesOf(t *testing.T, data []byte) (list []json.RawMessage) {
	t.Helper()
	body, err := wire.Read(data, wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range body.Messages {
		list = append(list, m.Raw)
	}
	return list
}

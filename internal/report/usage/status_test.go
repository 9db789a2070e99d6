package usage_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func (h *history) status(session string, day int) string {
	h.t.Helper()
	s, err := usage.ReadStatus(context.Background(), h.store, timeline.Local,
		usage.StatusOptions{Session: session, Since: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := json.Marshal(s)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(out)
}

// A status is about the newest call of the session, or of all, and about all calls of the
// day.
func TestStatus(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	if got, want := h.status("", 15),
		`{"tokens":0,"left_out":0,"limit":0,"cost":0,"without":0,"unknown_models":[]}`; got != want {
		t.Errorf("%s\n%s", got, want)
	}
	h.call("s", "", "2026-11-14T10:00:00Z", `"model":"`+opus+`","tokens":1000,"usage":{"input":1000000,"output":0}`)
	h.call("s", "", "2026-11-15T10:00:00Z", `"model":"`+opus+
		`","tokens":600,"came":2000,"wish":64000,"hard":150000,"usage":{"input":700,"output":0}`)
	h.call("s", "", "2026-11-15T10:00:01Z",
		`"model":"gpt-4o-mini","thread":"side","tokens":20,"usage":{"input":0,"output":0}`)
	h.call("s~2", "", "2026-11-15T10:01:00Z", `"model":"`+opus+
		`","tokens":50,"wish":200000,"hard":150000,"usage":{"input":50,"output":0}`)
	h.call("other", "", "2026-11-15T11:00:00Z", `"model":"gpt-4o","tokens":70`)
	// The call for a title came first, and has the session's name.
	h.call("cc", "", "2026-11-15T10:02:00Z", `"model":"`+opus+`","tools":"`+timeline.HashOf([]byte("[]")).String()+
		`","tokens":9,"usage":{"input":0,"output":0}`)
	h.call("cc~2", "", "2026-11-15T10:02:01Z", `"model":"`+opus+
		`","tools":"h","tokens":41,"wish":100000,"hard":150000,"usage":{"input":0,"output":0}`)
	h.call("cc~3", "", "2026-11-15T10:02:02Z", `"model":"`+opus+
		`","tools":"h","tokens":42,"wish":100000,"hard":150000,"usage":{"input":0,"output":0}`)
	h.put("newer", "", timeline.Record{Kind: "call", Key: "import 1:2 abc", Data: []byte(`{}`)}, "2026-11-15T12:00:00Z")
	h.put("s", "", timeline.Record{Kind: "note", Key: "a pin", Data: []byte(`{}`)},
		"2026-11-15T13:00:00Z") // is no call
	sums := `"cost":0.011425,"without":0.032425,"unknown_models":[]}`
	for session, want := range map[string]string{
		"":      `{"conversation":"other","model":"gpt-4o","tokens":70,"left_out":0,"limit":128000,` + sums,
		"s":     `{"conversation":"s","model":"` + opus + `","tokens":700,"left_out":1400,"limit":64000,` + sums,
		"s~2":   `{"conversation":"s~2","model":"` + opus + `","tokens":50,"left_out":0,"limit":150000,` + sums,
		"cc":    `{"conversation":"cc~2","model":"` + opus + `","tokens":41,"left_out":0,"limit":100000,` + sums,
		"newer": `{"tokens":0,"left_out":0,"limit":0,` + sums,
		"?":     `{"tokens":0,"left_out":0,"limit":0,` + sums,
	} {
		if got := h.status(session, 15); got != want {
			t.Errorf("session %q:\n%s\n%s", session, got, want)
		}
	}
	if got, want := h.status("?", 16),
		`{"tokens":0,"left_out":0,"limit":0,"cost":0,"without":0,"unknown_models":[]}`; got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// say appends a message to a conversation.
func (h *history) say(conversation, now string) {
	h.t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		h.t.Fatal(err)
	}
	m := timeline.Message{Identity: timeline.HashOf([]byte(now)), Role: "user", Format: timeline.FormatItem,
		Raw: []byte(`{"text":"` + now + `"}`), Time: at}
	if _, err := h.store.Apply(context.Background(), timeline.Local,
		timeline.Change{Conversation: conversation, Messages: []timeline.Message{m}, Now: at}); err != nil {
		h.t.Fatal(err)
	}
}

// A pin is a change, but no call.
func TestStatusIsOfTheNewestCall(t *testing.T) {
	h := &history{t: t, store: memory.New()}
	fields := `"model":"` + opus + `","tokens":10`
	for conversation, at := range map[string]string{"a": "2026-11-15T21:36:00Z", "b": "2026-11-15T21:49:00Z",
		"older": "2026-11-15T20:00:00Z"} {
		h.say(conversation, at)
		h.call(conversation, "", at, fields)
	}
	h.say("imported", "2026-11-15T22:00:00Z")
	h.put("a", "", timeline.Record{Kind: timeline.KindPin, Key: "1", Data: []byte(`{}`)}, "2026-11-15T23:00:00Z")
	s, err := usage.ReadStatus(context.Background(), h.store, timeline.Local, usage.StatusOptions{})
	if err != nil || s.Conversation != "b" {
		t.Errorf("status of %q, %v", s.Conversation, err)
	}
	counted := &countingStore{Store: h.store}
	conversation, call, err := usage.Newest(context.Background(), counted, timeline.Local)
	if err != nil || conversation != "b" || call == "" {
		t.Errorf("the newest call is %q of %q, %v", call, conversation, err)
	}
	if counted.read != 3 {
		t.Errorf("%d conversations were read: older cannot have the newest call", counted.read)
	}
}

// countingStore counts the conversations whose calls are read.
type countingStore struct {
	timeline.Store
	read int
}

func (s *countingStore) RecordKeys(ctx context.Context, tenant, conversation, kind string) ([]string, error) {
	s.read++
	return s.Store.RecordKeys(ctx, tenant, conversation, kind)
}

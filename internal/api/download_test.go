package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/timeline"
)

// What is exported of a conversation of calls is its messages byte for byte.
func TestAnExportIsWhatCame(t *testing.T) {
	w := newWorld(t, nil)
	messages := w.talk(timeline.Local, "a/b", 14, nil)
	a := w.do("GET", "conversations/a%2Fb/export", "")
	if a.status != 200 || a.header.Get("Content-Type") != "application/x-ndjson" ||
		a.header.Get("Content-Disposition") != `attachment; filename="a-b.jsonl"` {
		t.Fatalf("%d %v", a.status, a.header)
	}
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	if len(lines) != len(messages) {
		t.Fatalf("%d lines of %d messages", len(lines), len(messages))
	}
	for i, m := range messages {
		if !strings.Contains(m, `"assistant"`) && lines[i] != m {
			t.Errorf("message %d: %.200s, want %.200s", i+1, lines[i], m)
		}
	}
}

// A conversation that is larger than what is read at a time comes whole, also if a message is.
func TestALargeExportComesInParts(t *testing.T) {
	w := newWorld(t, nil)
	change := timeline.Change{Conversation: "la\"r\u202ege\r", Now: noon}
	var want strings.Builder
	for i, size := range []int{600_000, 10, 3_000_000, 5, 500_000, 500_000, 1} {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", size))
		raw := fmt.Sprintf("{\n  \"role\": \"user\",\n  \"content\": %q\n}", text)
		fmt.Fprintf(&want, "{\"role\": \"user\",\"content\": %q}\n", text)
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf([]byte(raw)),
			Raw: []byte(raw), Format: timeline.FormatOpenAI, Role: "user", Time: noon})
	}
	if _, err := w.store.Apply(t.Context(), timeline.Local, change); err != nil {
		t.Fatal(err)
	}
	if a := w.do("GET", "conversations/la%22r%E2%80%AEge%0D/export", ""); a.status != 200 ||
		string(a.body) != want.String() ||
		a.header.Get("Content-Disposition") != `attachment; filename="la-r-ge.jsonl"` {
		t.Errorf("%d, %d bytes, want %d, %v", a.status, len(a.body), want.Len(), a.header)
	}
	if a := w.do("HEAD", "conversations/la%22r%E2%80%AEge%0D/export", ""); a.status != 200 || len(a.body) > 0 {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	if _, err := w.store.Apply(t.Context(), timeline.Local,
		timeline.Change{Conversation: "none", Now: noon}); err != nil {
		t.Fatal(err)
	}
	if a := w.do("GET", "conversations/none/export", ""); a.status != 200 || len(a.body) > 0 {
		t.Errorf("an empty conversation: %d %q", a.status, a.body)
	}
}

package importer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// asCalls returns the messages of an imported conversation as an agent sends them in calls.
func (h *history) asCalls(conversation string) (out []timeline.Message) {
	h.t.Helper()
	add := func(role string, when time.Time, m map[string]any) {
		raw, err := json.Marshal(m)
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, sent(h.t, raw, role, when))
	}
	for _, e := range h.entries(conversation) {
		c, err := e.Chat()
		if err != nil {
			continue
		}
		text, calls := "", []map[string]any{}
		type result struct{ id, text string }
		var results []result
		for i := range c.Parts {
			switch p := &c.Parts[i]; p.Kind {
			case chat.Text:
				text += p.Text.String()
			case chat.Call:
				calls = append(calls, map[string]any{"id": p.ID, "type": "function",
					"function": map[string]any{"name": p.Name, "arguments": p.Arguments()}})
			case chat.Result:
				results = append(results, result{p.ID, p.Text.String()})
			}
		}
		switch {
		case c.Role == chat.User && text != "":
			add("user", e.Time, map[string]any{"role": "user", "content": "<current_datetime>now</current_datetime>\n" +
				text})
		case len(calls) > 0:
			add("assistant", e.Time, map[string]any{"role": "assistant", "content": text, "tool_calls": calls})
		case c.Role == chat.Assistant && text != "":
			add("assistant", e.Time, map[string]any{"role": "assistant", "content": text})
		}
		for _, r := range results {
			add("tool", e.Time, map[string]any{"role": "tool", "tool_call_id": r.id, "content": r.text})
		}
	}
	return out
}

func sent(t *testing.T, raw []byte, role string, when time.Time) timeline.Message {
	t.Helper()
	m := timeline.Message{Raw: raw, Format: timeline.FormatOpenAI, Role: role, Time: when}
	c, err := m.Chat()
	if err != nil {
		t.Fatal(err)
	}
	m.Identity = timeline.Identity(&c)
	return m
}

// record stores messages as calls of a conversation.
func (h *history) record(conversation string, after timeline.Place, messages ...timeline.Message) timeline.Place {
	h.t.Helper()
	last := messages[len(messages)-1].Time
	a, err := h.store.Apply(context.Background(), timeline.Local, timeline.Change{
		Conversation: conversation, At: after, Messages: messages, Now: last, Began: messages[0].Time,
		Put: []timeline.Record{{Kind: "thread", Key: "who", Data: []byte("{}"), Time: last}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return a.Head
}

func (h *history) headOf(conversation string) timeline.Place {
	h.t.Helper()
	c, err := h.store.Conversation(context.Background(), timeline.Local, conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	return c.Head
}

// A session that Oriel recorded, under its own name or another, and its file are one
// conversation. What was recorded stays the main line, however often the file is imported and
// calls follow, and the file can be exported from the branch.
func TestRecordedSessionsStayTheMainLine(t *testing.T) {
	for _, r := range recorded {
		for _, name := range []string{r.conversation, "20260102-100001-a1b2c3"} {
			if name != r.conversation && (r.calls < 2 || r.format == "claude-code" || r.format == "codex") {
				continue // too little to know it by, or recorded under its own name only
			}
			for _, before := range []bool{false, true} {
				t.Run(r.file+" as "+name+map[bool]string{true: ", imported before"}[before], func(t *testing.T) {
					path := filepath.Join("testdata", filepath.FromSlash(r.file))
					other := newHistory(t)
					other.importing(importer.Options{}, path)
					calls := other.asCalls(r.conversation)
					h := newHistory(t)
					if before {
						h.importing(importer.Options{}, path)
					}
					n := len(calls) - 1
					head := h.record(name, timeline.Place{}, calls[:n]...)
					first := h.importing(importer.Options{}, path)
					h.same([]string{name}, h.names())
					h.same(head, h.headOf(name))
					if len(first.Conversations) != 1 || !first.Conversations[0].Recorded ||
						first.Conversations[0].Name != name {
						t.Errorf("it reports %+v", first.Conversations)
					}
					head = h.record(name, head, calls[n])
					second := h.importing(importer.Options{}, path)
					h.same(head, h.headOf(name))
					h.same(0, second.New+second.Variants)
					h.same([]string{name}, h.names())
				})
			}
		}
	}
}

// A copy of a session that was imported before it was recorded stays if the file has become
// shorter since: nothing else has its last messages.
func TestACopyWithMoreMessagesStays(t *testing.T) {
	const own, name = "a43cd0a4-8934-4a96-830e-a5fe05b68ecd", "20260102-100001-a1b2c3"
	whole, err := os.ReadFile(filepath.Join("testdata", "qwen-code.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHistory(t)
	path := h.file("qwen-code.jsonl", string(whole))
	h.importing(importer.Options{}, path)
	before := h.words(own)
	calls := h.asCalls(own)
	n := len(calls) - 1
	head := h.record(name, timeline.Place{}, calls[:n]...)
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-2], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	h.importing(importer.Options{}, path)
	h.same([]string{name, own}, h.names())
	h.same(before, h.words(own))
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	h.record(name, head, calls[n])
	h.importing(importer.Options{}, path)
	h.same([]string{name}, h.names())
}

// Under the name of a session its title was recorded first: the file belongs to the other
// conversation of the session.
func TestTheTitleOfASessionIsNotItsHome(t *testing.T) {
	path := filepath.Join("testdata", "opencode.json")
	const own = "ses_e1a53f4fcffemN07vf7OF1ajQO"
	other := newHistory(t)
	other.importing(importer.Options{}, path)
	calls := other.asCalls(own)
	h := newHistory(t)
	title := h.record(own, timeline.Place{},
		sent(t, []byte(`{"role":"user","content":"Generate a title for this conversation:"}`), "user", calls[0].Time))
	head := h.record(own+"~2", timeline.Place{}, calls...)
	h.importing(importer.Options{}, path)
	h.same([]string{own, own + "~2"}, h.names())
	h.same(title, h.headOf(own))
	h.same(head, h.headOf(own+"~2"))
	if heads, err := h.store.Heads(context.Background(), timeline.Local, own+"~2"); err != nil || len(heads) != 2 {
		t.Errorf("%d heads, %v", len(heads), err)
	}
}

// A session is not imported into another one's conversation: one with another task in the
// same words of the model, one of another time, another tenant's.
func TestOtherSessionsAreNoHome(t *testing.T) {
	path := filepath.Join("testdata", "qwen-code.jsonl")
	const own = "a43cd0a4-8934-4a96-830e-a5fe05b68ecd"
	other := newHistory(t)
	other.importing(importer.Options{}, path)
	calls := other.asCalls(own)
	task := sent(t, []byte(`{"role":"user","content":"Write a poem about the sea, and nothing else."}`), "user",
		calls[0].Time)
	var replies, late []timeline.Message
	for _, m := range calls {
		if m.Role != "user" {
			replies = append(replies, m)
		}
		m.Time = m.Time.Add(24 * time.Hour)
		late = append(late, m)
	}
	var numbered []timeline.Message // the same order, and then something else
	for i := range 6 {
		m := calls[0]
		if i > 0 {
			const says = `{"role":"assistant","content":"Part %d of the sea, and nothing else.",` +
				`"tool_calls":[{"id":"call_00%d_0","type":"function","function":{"name":"read_file","arguments":"{}"}}]}`
			m = sent(t, fmt.Appendf(nil, says, i, i),
				"assistant", calls[0].Time)
		}
		numbered = append(numbered, m)
	}
	for name, messages := range map[string][]timeline.Message{
		"numbered calls": numbered,
		"another task":   append([]timeline.Message{task}, replies...),
		"another day":    late,
	} {
		h := newHistory(t)
		h.record("20260102-100001-a1b2c3", timeline.Place{}, messages...)
		h.importing(importer.Options{}, path)
		if got := h.names(); len(got) != 2 {
			t.Errorf("%s: %q", name, got)
		}
	}
	h := newHistory(t)
	h.record("20260102-100001-a1b2c3", timeline.Place{}, calls...)
	h.importing(importer.Options{Tenant: "ann"}, path)
	h.same([]string{"20260102-100001-a1b2c3"}, h.names())
}

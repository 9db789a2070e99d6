package importer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// words lists the messages of a conversation: role, time and words, without the entries
// that are no messages.
func (h *history) words(conversation string) (all []string) {
	h.t.Helper()
	for _, e := range h.entries(conversation) {
		c, err := e.Chat()
		if err != nil {
			continue
		}
		line := strings.ReplaceAll(timeline.Words(&c), "\n", "/")
		if len(line) > 60 {
			line = line[:60] + "…"
		}
		all = append(all, e.Role+" "+e.Time.UTC().Format("2006-01-02T15:04:05")+" "+line)
	}
	return all
}

// Files that could not be recorded here, too, are recognised by their content, are imported
// once however often they are read, and keep the bytes of each message.
func TestExportsAreImported(t *testing.T) {
	for _, test := range []struct {
		file, format, conversation, project string
		want                                []string
	}{
		{"chatgpt.json", "chatgpt", "6631f8a0-0000-4000-8000-000000000001", "", []string{
			"user 2024-05-01T08:00:01 (image_asset_pointer)/A name for this boat?",
			"assistant 2024-05-01T08:00:09 Kittiwake.",
			"assistant 2024-05-01T08:00:12 print(2)",
			"tool 2024-05-01T08:00:13 2",
			"user 2024-05-01T08:00:20 And a flag? 旗/(real_time_user_audio_video_asset_pointer)",
			"assistant 2024-05-01T08:00:21 (thinking) Flags/It needs a colour./(thinking) Looking furth…",
			"assistant 2024-05-01T08:00:22 (thinking) Thought for 2s",
			"tool 2024-05-01T08:00:23 Blue is for sailors.",
			"tool 2024-05-01T08:00:24 # Results",
			`assistant 2024-05-01T08:00:25 {"name":"flag","type":"document","content":"Blue"}`,
			"tool 2024-05-01T08:00:26 Timed out",
			"assistant 2024-05-01T08:00:27 Blue, then.",
		}},
		{"claude-ai.json", "claude-ai", "0b9b6a52-0000-4000-8000-000000000001", "", []string{
			"user 2024-09-01T08:00:00 When is high water?/(tides.txt)/HW 14:32/(chart.png)",
			"assistant 2024-09-01T08:00:09 → clock(UTC)/← 08:01/→ artifacts(create, Tide table, H…",
			"user 2024-09-01T08:05:00 (boat.png)",
		}},
		{"task-1714550400000/api_conversation_history.json", "cline", "task-1714550400000", "", []string{
			"user 2024-05-01T08:00:00 <task>/Fix the test/</task>",
			"assistant 2024-05-01T08:00:05 <read_file>/<path>main_test.go</path>/</read_file>",
			"user 2024-05-01T08:00:06 [read_file for 'main_test.go'] Result:/package main",
		}},
	} {
		t.Run(test.format, func(t *testing.T) {
			h := newHistory(t)
			path := filepath.Join("testdata", filepath.FromSlash(test.file))
			r := h.importing(importer.Options{}, path)
			h.same([]string{test.conversation}, h.names())
			h.same(test.want, h.words(test.conversation))
			h.same([]string{test.format, test.project},
				[]string{string(r.Conversations[0].Format), r.Conversations[0].Project})
			h.same(0, r.Broken)
			h.same(0, h.importing(importer.Options{}, path).New)
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range h.entries(test.conversation) {
				if !strings.Contains(string(file), string(e.Raw)) {
					t.Errorf("not the bytes of the file: %s", e.Raw)
				}
			}
		})
	}
}

// A reply that was made again is a branch.
func TestRepliesThatWereMadeAgainAreBranches(t *testing.T) {
	for file, want := range map[string][]int64{"chatgpt.json": {1, 15}, "claude-ai.json": {1, 4}} {
		h := newHistory(t)
		h.importing(importer.Options{}, filepath.Join("testdata", file))
		stats, err := h.store.Stats(context.Background(), timeline.Local)
		if err != nil {
			t.Fatal(err)
		}
		h.same(want, []int64{stats.Branches, stats.Messages})
	}
}

// Earlier exports of Claude do not say which message another one follows, and calls in them
// have no ids; earlier ones of ChatGPT do not name the reply that was shown last.
func TestEarlierExportsAreImported(t *testing.T) {
	h := newHistory(t)
	h.importing(importer.Options{},
		h.file("claude.json",
			`[{"uuid":"c","name":"","chat_messages":[{"uuid":"1","sender":"human","text":"one","created_at":"2024-01-01T00:00:01Z"},
{"uuid":"2","sender":"assistant","content":[{"type":"tool_use","name":"a","input":{}},{"type":"tool_result","name":"a","content":[]},{"type":"tool_use","name":"a","input":{}},{"type":"tool_result","name":"a","content":[{"text":"x"}],"is_error":true}]},{"uuid":"3","sender":"human","text":"three"}]}]`))
	h.same([]string{"one", "three"}, h.spoken("c"))
	h.pairs("c", 2, 1)
	h.importing(importer.Options{},
		h.file("chatgpt.json",
			strings.Replace(chatGPT("b", map[string]node{"a": {Message: said("one")},
				"b": {Parent: "a", Message: said("two")}}), `"conversation_id":"c","current_node":"b"`,
				`"id":"g","title":"t"`, 1)))
	h.same([]string{"one", "two"}, h.spoken("g"))
}

// A reply that is imported while it grows is later imported whole. The conversation continues
// there, and the unfinished reply is a branch.
func TestRepliesThatGrowAreBranches(t *testing.T) {
	openCode := func(parts ...string) string {
		return `{"info":{"id":"ses_1","directory":"/x"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"one"}]},{"info":{"id":"m2","role":"assistant"},"parts":[` + strings.Join(parts, ",") + `]}]}`
	}
	text, call := `{"type":"text","text":"two"}`,
		`{"type":"tool","callID":"c","tool":"ls","state":{"status":"running","input":{}}}`
	done := strings.Replace(call, `"running",`, `"completed","output":"a",`, 1)
	gemini := geminiHead + geminiLine("1", "user", "one") + `{"id":"2","type":"gemini","content":"two","toolCalls":[` +
		"%s]}\n"
	for name, files := range map[string][]string{
		"ses_1": {openCode(text), openCode(text, call), openCode(text, done)},
		"g": {fmt.Sprintf(gemini, ""), fmt.Sprintf(gemini, `{"id":"c","name":"ls","args":{}}`),
			fmt.Sprintf(gemini,
				`{"id":"c","name":"ls","args":{},"result":[{"functionResponse":{"id":"c","response":{"output":"a"}}}]}`)},
	} {
		h := newHistory(t)
		for _, content := range files {
			h.importing(importer.Options{}, h.file("s.jsonl", content))
		}
		h.same([]string{"one", "two"}, h.spoken(name))
		h.pairs(name, 1, 0)
		h.same([]int64{2, 2, 2}, h.branches(name))
	}
}

// opencode keeps messages and parts in files of their own.
func TestTheStorageOfOpenCodeIsImported(t *testing.T) {
	h := newHistory(t)
	session := h.file("storage/session/global/ses_1.json",
		`{"id":"ses_1","projectID":"global","directory":"/src","title":"x","time":{"created":1767225600000}}`)
	h.file("storage/message/ses_1/msg_1.json",
		`{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1767225601000}}`)
	h.file("storage/message/ses_1/msg_2.json",
		`{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1767225602000}}`)
	h.file("storage/part/msg_1/prt_1.json", `{"id":"prt_1","messageID":"msg_1","type":"text","text":"hello"}`)
	h.file("storage/part/msg_2/prt_1.json", `{"id":"prt_2","messageID":"msg_2","type":"text","text":"good"}`)
	h.file("storage/part/msg_2/prt_2.json", `{"id":"prt_3","messageID":"msg_2","type":"text","text":"day"}`)
	h.importing(importer.Options{}, session)
	h.same([]string{"user 2026-01-01T00:00:01 hello", "assistant 2026-01-01T00:00:02 good/day"}, h.words("ses_1"))
	h.importing(importer.Options{}, filepath.Join(h.dir, "storage"))
	h.same([]string{"ses_1"}, h.names())
	evil := h.file("x/session/global/ses_2.json", `{"id":"ses_/../../storage/message/ses_1","directory":"/"}`)
	h.same(1, h.importing(importer.Options{}, evil).Broken)
}

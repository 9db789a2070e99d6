package importer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// node is a node of a ChatGPT export.
type node struct {
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  any      `json:"message"`
}

func chatGPT(current string, mapping map[string]node) string {
	text, _ := json.Marshal([]any{map[string]any{"conversation_id": "c", "current_node": current, "mapping": mapping}})
	return string(text)
}

func said(text string) any {
	return map[string]any{"id": text, "author": map[string]any{"role": "user"},
		"content": map[string]any{"content_type": "text", "parts": []string{text}}}
}

// A path that leads back to itself ends there, and each message is on it once.
func TestCyclesOfAnExportEnd(t *testing.T) {
	for _, current := range []string{"a", "", "unknown"} {
		h := newHistory(t)
		path := h.file("conversations.json", chatGPT(current, map[string]node{
			"a": {Parent: "b", Children: []string{"b"}, Message: said("one")},
			"b": {Parent: "a", Children: []string{"a"}, Message: said("two")},
		}))
		if r := h.importing(importer.Options{}, path); r.Messages != 2 || r.New != 2 || len(h.entries("c")) != 2 {
			t.Errorf("current %q: %+v", current, r)
		}
		if r := h.importing(importer.Options{}, path); r.New != 0 {
			t.Errorf("again: %+v", r)
		}
	}
}

// claudeAI is an export of Claude with messages of the form "uuid parent", which say their
// number.
func claudeAI(current string, messages ...string) string {
	var list []any
	for i, m := range messages {
		id, parent, _ := strings.Cut(m, " ")
		list = append(list, map[string]any{"uuid": id, "parent_message_uuid": parent, "sender": "human",
			"text": fmt.Sprint(i + 1)})
	}
	text, _ := json.Marshal([]any{map[string]any{"uuid": "c", "current_leaf_message_uuid": current,
		"chat_messages": list}})
	return string(text)
}

// No message of an export is lost, whatever it names as its parent: one that is not there
// stands for the message before, except if the first message names it, too.
func TestMessagesOfAnExportAreNeverLost(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		said     []string
		branches []int64
		messages int64
	}{
		"unknown parents":          {claudeAI("c", "a 0", "b ?", "c ??"), []string{"1", "2", "3"}, []int64{3}, 3},
		"two beginnings":           {claudeAI("d", "a 0", "b a", "c 0", "d c"), []string{"3", "4"}, []int64{2, 2}, 4},
		"its own parent":           {claudeAI("b", "a a", "b b"), []string{"1", "2"}, []int64{2}, 2},
		"a cycle beside the rest":  {claudeAI("b", "a 0", "b a", "c d", "d c"), []string{"1", "2"}, []int64{2, 2}, 4},
		"a cycle of the last":      {claudeAI("c", "a 0", "b c", "c b"), []string{"2", "3"}, []int64{2, 1}, 3},
		"parents behind":           {claudeAI("", "a c", "b ?", "c b"), []string{"2", "3", "1"}, []int64{3}, 3},
		"the same id":              {claudeAI("", "a 0", "a 0", "b a"), []string{"1", "3"}, []int64{2, 1}, 3},
		"ids like those of others": {claudeAI("#2", "#1 0", " #1", "#2 #1"), []string{"1", "3"}, []int64{2, 2}, 3},
		"a cycle in ChatGPT": {chatGPT("a", map[string]node{"a": {Message: said("1")},
			"b": {Parent: "c", Message: said("2")}, "c": {Parent: "b", Message: said("3")}}),
			[]string{"1"}, []int64{1, 2}, 3},
		"no id in ChatGPT": {chatGPT("a", map[string]node{"": {Message: said("1")}, "a": {Message: said("2")}}),
			[]string{"2"}, []int64{1, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			path := h.file("conversations.json", test.text)
			r := h.importing(importer.Options{}, path)
			h.same(test.said, h.spoken("c"))
			h.same(test.branches, h.branches("c"))
			h.same([]int{int(test.messages), 0}, []int{r.New, r.Broken})
			h.same(0, h.importing(importer.Options{}, path).New)
		})
	}
}

// A leaf is a node that no other names as its parent, whatever its list of children says.
func TestLeavesOfAnExportAreFoundByTheirParents(t *testing.T) {
	h := newHistory(t)
	path := h.file("conversations.json", chatGPT("b", map[string]node{
		"a": {Message: said("one")},
		"b": {Parent: "a", Children: []string{"missing"}, Message: said("two")},
		"c": {Parent: "a", Children: []string{"missing"}, Message: said("three")},
	}))
	if r := h.importing(importer.Options{}, path); r.New != 3 || r.Broken != 0 {
		t.Errorf("%+v", r)
	}
}

// Branches that share a long path without messages are left out with a note, not followed
// one by one: that would be as many steps as the square of the file's size.
func TestBranchesOfAnExportAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	const many = 10_000
	mapping := map[string]node{"leaf": {Parent: fmt.Sprint(many - 1), Message: said("last")}}
	for i := range many {
		mapping[fmt.Sprint(i)] = node{Parent: fmt.Sprint(i - 1)}
		mapping[fmt.Sprint("leaf", i)] = node{Parent: fmt.Sprint(many - 1), Message: said(fmt.Sprint(i))}
	}
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("conversations.json", chatGPT("leaf", mapping)))
	if r.Messages > 20 || r.Broken != 1 || !strings.Contains(r.Problems[0].What, "branches") {
		t.Errorf("%d messages, %+v", r.Messages, r.Problems)
	}
	if last := h.entries("c"); len(last) != 1 || last[0].Ref != "last" {
		t.Errorf("the current node is not the head: %+v", last)
	}
}

// Chats whose line of beginning cannot name a conversation are imported under the folder's
// name, and passages longer than a store accepts are divided.
func TestChatsOfAiderAreImportedWhateverTheirNames(t *testing.T) {
	importer.SetMaxLine(t, 8<<10)
	for _, name := range []string{strings.Repeat("x", 5000), "a\x00b", "\xff\xfe", ""} {
		h := newHistory(t)
		path := h.file("work/.aider.chat.history.md", "# aider chat started at "+name+"\n#### hi  \n"+
			strings.Repeat("hello\n", 2000)+"#### bye  \n")
		r := h.importing(importer.Options{}, path)
		if len(r.Conversations) != 1 || !strings.HasPrefix(r.Conversations[0].Name, "work") || r.Broken > 0 ||
			r.New != 4 {
			t.Errorf("%.20q: %+v", name, r)
		}
		if r := h.importing(importer.Options{}, path); r.New != 0 {
			t.Errorf("again: %+v", r)
		}
	}
}

// A conversation that is called after a very long path has the end of it as its name.
func TestLongPathsNameConversations(t *testing.T) {
	h := newHistory(t)
	path := h.file(strings.Repeat(strings.Repeat("é", 100)+"/", 8)+"body.json",
		`{"messages":[{"role":"user","content":"a"}]}`)
	r := h.importing(importer.Options{}, h.dir)
	if name := r.Conversations[0].Name; len(name) > timeline.MaxName || !strings.HasSuffix(name, "é/body") {
		t.Errorf("%d bytes for %s: %q", len(name), path, name)
	}
}

// Reading a session of opencode reads no file outside its storage, and goes on after files
// that cannot be read.
func TestStorageOfOpenCodeIsNotLeft(t *testing.T) {
	h := newHistory(t)
	h.file("secret/msg_1.json", `{"id":"msg_1","role":"user","secret":true}`)
	h.file("storage/message/x.json", `{"id":"x"}`)
	h.file("storage/message/ses_ok/msg_1.json", `{"id":"msg_1","role":"user"}`)
	h.file("storage/message/ses_ok/...json", `{"id":"msg_2","role":"user"}`)
	h.file("storage/message/ses_ok/half.json", `{"id":`)
	h.file("storage/part/msg_1/prt_1.json", `{"type":"text","text":"hello"}`)
	h.file("storage/other.json", `{"type":"text","text":"other"}`)
	if err := os.Symlink(filepath.Join(h.dir, "secret"), filepath.Join(h.dir, "storage/message/ses_link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(h.dir, "secret/msg_1.json"),
		filepath.Join(h.dir, "storage/message/ses_ok/msg_9.json")); err != nil {
		t.Skip(err)
	}
	for i, id := range []string{"ses_link", "ses_ok", "..", ".", "ses_/../..", "ses_\x00",
		"ses_" + strings.Repeat("n", 500)} {
		text, _ := json.Marshal(map[string]string{"id": id, "directory": "/x"})
		path := h.file(fmt.Sprintf("storage/session/p/%d.json", i), string(text))
		r := h.importing(importer.Options{Format: importer.OpenCode}, path)
		if want := id == "ses_ok"; want && (r.Messages != 2 || r.Broken != 2) || !want && r.Messages > 0 {
			t.Errorf("%q: %+v", id, r)
		}
		for _, c := range r.Conversations {
			for _, e := range h.entries(c.Name) {
				if strings.Contains(string(e.Raw), "secret") || strings.Contains(string(e.Raw), "other") {
					t.Errorf("%q: read %s", id, e.Raw)
				}
			}
		}
	}
}

// A folder that is named by a link is imported; links below it are not followed.
func TestALinkToAFolderIsImported(t *testing.T) {
	h := newHistory(t)
	h.file("real/s.jsonl", geminiHead+geminiLine("1", "user", "one"))
	h.file("other/s.jsonl", strings.Replace(geminiHead, `"g"`, `"other"`, 1)+geminiLine("1", "user", "two"))
	for link, to := range map[string]string{"link": "real", "real/below": "../other",
		"real/file.jsonl": "../other/s.jsonl"} {
		if err := os.Symlink(to, filepath.Join(h.dir, link)); err != nil {
			t.Skip(err)
		}
	}
	h.importing(importer.Options{}, filepath.Join(h.dir, "link"))
	h.same([]string{"g"}, h.names())
}

package importer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// What scripts/record-imports has the person and the model say.
const (
	question   = "When is high water? 潮"
	again      = "What did I ask?"
	thought    = "I read the file and look for another."
	both       = "I read both."
	answer     = "High water is at 14:32 — “springs” 🌊."
	remembered = "You asked about high water."
	tides      = "HW 14:32 äöü 潮\nLW 20:51"
)

// recorded are the files that the programs wrote: each has the same conversation, except
// those that are said to differ.
var recorded = []struct {
	file, format, conversation, project, title, model string
	calls                                             int
	failed                                            int // of the calls
	differs                                           []string
}{
	{"claude-code.jsonl", "claude-code", "84120f2d-3f74-4b74-ad80-89c7bb5f6a72", "/home/ann/harbour", "", "", 3, 2,
		nil},
	{"codex.jsonl", "codex", "01a1e5ad-7a4e-79b1-a43f-96d2d634bc67", "/home/ann/harbour", "", "gpt-5", 3, 0, nil},
	{"gemini-cli/chats/session.jsonl", "gemini-cli", "2718b905-36f3-4b69-b309-199bae634cfa", "/home/ann/harbour", "",
		"gemini-2.5-pro", 3, 1, nil},
	// 0.20 loses the reading of files, and asks the model further when it resumes.
	{"gemini-cli.json", "gemini-cli", "4dfbd24c-3211-4fd3-a8a4-f68196c49140", "", "", "gemini-2.5-pro", 1, 1,
		[]string{question, thought, both, again, answer}},
	{"qwen-code.jsonl", "qwen-code", "a43cd0a4-8934-4a96-830e-a5fe05b68ecd", "/home/ann/harbour", "", "scripted", 3, 2,
		nil},
	{"opencode.json", "opencode", "ses_e1a53f4fcffemN07vf7OF1ajQO", "/home/ann/harbour", "Tides", "scripted", 3, 1,
		nil},
	// A session of Cline's command line goes on only at a terminal.
	{"cline/1794855053498_j688f/1794855053498_j688f.messages.json", "cline", "1794855053498_j688f", "/home/ann/harbour",
		question + " @tides.txt", "scripted", 3, 2, []string{question, thought, both, answer}},
	{"pi.jsonl", "pi", "01a1f5bc-9838-7037-b38e-1ea3ab7fc137", "/home/ann/harbour", "", "claude-sonnet-4-5", 3, 2, nil},
	{"copilot-cli/events.jsonl", "copilot-cli", "0146da6f-f899-45bd-92c2-860a794ceb96", "/home/ann/harbour", "",
		"claude-sonnet-4-5", 3, 2, nil},
	// It keeps no thinking.
	{"continue.json", "continue", "0e3991d6-b2d3-4dfe-b9ad-36b645017e28", "/home/ann/harbour", "",
		"claude-sonnet-4-5", 3, 1, []string{question, both, answer, again, remembered}},
}

// spoken lists the texts and the thinking of a conversation, in order.
func (h *history) spoken(conversation string) (all []string) {
	h.t.Helper()
	for _, e := range h.entries(conversation) {
		c, err := e.Chat()
		if err != nil {
			continue
		}
		for i := range c.Parts {
			switch p := &c.Parts[i]; p.Kind {
			case chat.Text:
				all = append(all, p.Text.String())
			case chat.Thinking:
				all = append(all, strings.TrimPrefix(timeline.Words(&chat.Message{Parts: c.Parts[i : i+1]}),
					"(thinking) "))
			}
		}
	}
	return all
}

// Everything that a person and a model said is imported once, verbatim and in order, with
// the model, the project and the title where the file has them. Every call has one result,
// behind it.
func TestRecordedSessionsAreImportedWhole(t *testing.T) {
	for _, r := range recorded {
		t.Run(r.file, func(t *testing.T) {
			h := newHistory(t)
			path := filepath.Join("testdata", filepath.FromSlash(r.file))
			report := h.importing(importer.Options{}, path)
			h.same([]string{r.conversation}, h.names())
			h.same([]string{r.format, r.project},
				[]string{string(report.Conversations[0].Format), report.Conversations[0].Project})
			h.same(0, report.Broken)
			h.sayEverything(r.conversation, r.differs)
			h.pairs(r.conversation, r.calls, r.failed)
			h.about(r.conversation, r.title, r.model)
			second := h.importing(importer.Options{}, path)
			h.same(0, second.New+second.Variants)
			h.sameBytes(r.conversation, path)
		})
	}
}

// sayEverything checks that a conversation has each of the texts once, in their order.
func (h *history) sayEverything(conversation string, want []string) {
	h.t.Helper()
	if want == nil {
		want = []string{question, thought, both, answer, again, remembered}
	}
	said := h.spoken(conversation)
	last := -1
	for _, text := range want {
		var at []int
		for i, s := range said {
			s = strings.TrimSpace(s)
			if s == text || text == question && strings.HasPrefix(s, text) ||
				s == `"`+text+`"` { // with files; opencode adds quotes
				at = append(at, i)
			}
		}
		if len(at) != 1 || at[0] <= last {
			h.t.Errorf("%q at %v after %d of %q", text, at, last, said)
			continue
		}
		last = at[0]
	}
}

// pairs checks the calls of a conversation and their results.
func (h *history) pairs(conversation string, calls, failed int) {
	h.t.Helper()
	open, results, errors := map[string]bool{}, 0, 0
	for _, e := range h.entries(conversation) {
		c, err := e.Chat()
		if err != nil {
			continue
		}
		for i := range c.Parts {
			switch p := &c.Parts[i]; p.Kind {
			case chat.Call:
				open[p.ID] = true
			case chat.Result:
				if !open[p.ID] {
					h.t.Errorf("a result of %q, which is not called or has one", p.ID)
				}
				delete(open, p.ID)
				results++
				if p.IsError {
					errors++
				}
			}
		}
	}
	if len(open) > 0 || results != calls || errors != failed {
		h.t.Errorf("%d results, %d of them errors, and %d calls without one; want %d and %d", results, errors,
			len(open), calls, failed)
	}
}

// about checks the title and the model that the file gives a conversation.
func (h *history) about(conversation, title, model string) {
	h.t.Helper()
	got, err := timeline.Notes{Store: h.store, Tenant: timeline.Local, Conversation: conversation}.Title(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	named := ""
	for _, e := range h.entries(conversation) {
		if m := e.Model(); m != "" {
			named = m
		}
	}
	h.same([]string{title, model}, []string{got, named})
}

// sameBytes checks that the entries are pieces of the file.
func (h *history) sameBytes(conversation, path string) {
	h.t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range h.entries(conversation) {
		if !strings.Contains(string(file), string(e.Raw)) {
			h.t.Errorf("not the bytes of the file: %s", e.Raw)
		}
	}
}

// The storage of opencode before 1.2, in which messages and parts are files of their own, is
// imported like the database.
func TestTheRecordedStorageOfOpenCodeIsImported(t *testing.T) {
	text, err := os.ReadFile("testdata/opencode-storage.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]json.RawMessage
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	h := newHistory(t)
	for name, content := range files {
		h.file("storage/"+name, string(content))
	}
	const id = "ses_e1a1bf42effev4CgJM1yEWdCaD"
	r := h.importing(importer.Options{}, filepath.Join(h.dir, "storage", "session"))
	h.same([]any{0, "/home/ann/harbour"}, []any{r.Broken, r.Conversations[0].Project})
	h.sayEverything(id, nil)
	h.pairs(id, 3, 1)
	h.about(id, "Tides", "scripted")
}

// A task of Roo Code has the title and the project that are in the file beside it. Its last
// call ends it.
func TestATaskOfRooCodeIsImported(t *testing.T) {
	const id = "01a1e5db-7ba7-77d8-9f76-d3524027f1e5"
	h := newHistory(t)
	r := h.importing(importer.Options{}, "testdata/roo-code")
	h.same([]any{"/home/ann/harbour", importer.Cline}, []any{r.Conversations[0].Project, r.Conversations[0].Format})
	h.about(id, "Read all 30 parts.", "")
	words := h.words(id)
	h.same(6, len(words))
	for i, want := range []string{
		"user 2026-11-16T19:35:29 <user_message>/Read all 30 parts./</user_message>/<environme…",
		"assistant 2026-11-16T19:35:30 → read_file(part-1.txt, slice, 1, 2000)",
		"user 2026-11-16T19:35:30 ← File: part-1.txt/ 1 | Part 1. The code of part 1 is K791…",
	} {
		h.same(want, words[i])
	}
	h.same("assistant 2026-11-16T19:36:18 → attempt_completion(All parts are read.)", words[5])
	h.same(0, h.importing(importer.Options{}, "testdata/roo-code").New)
}

// Results of Cline's tools are imported as the model gets them.
func TestResultsOfClineAreWhatTheModelGets(t *testing.T) {
	h := newHistory(t)
	h.importing(importer.Options{}, "testdata/cline")
	var got []string
	for _, line := range h.entries("1794855053498_j688f") {
		if strings.HasPrefix(line.Text(), "← ") {
			got = append(got, line.Text())
		}
	}
	h.same(`← [{"query":"/home/ann/harbour/tides.txt","result":"1 | HW 14:32 äöü 潮\n2 | LW 20:51","success":true}]`,
		got[0])
	h.same(3, len(got))
}

// A session can be imported while it is written. Whatever the line at which that was done,
// a later import adds what is missing, and leads to the same messages.
func TestASessionIsImportedWhileItGrows(t *testing.T) {
	for _, r := range recorded {
		if filepath.Ext(r.file) != ".jsonl" {
			continue
		}
		t.Run(r.format, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(r.file)))
			if err != nil {
				t.Fatal(err)
			}
			whole := newHistory(t)
			whole.importing(importer.Options{}, whole.file("s.jsonl", string(text)))
			h := newHistory(t)
			for at := range strings.SplitAfter(string(text), "\n") {
				lines := strings.SplitAfter(string(text), "\n")
				path := h.file("s.jsonl", strings.Join(lines[:at+1], ""))
				h.importing(importer.Options{}, path)
				h.same(0, h.importing(importer.Options{}, path).New)
			}
			h.same(whole.export(r.conversation), h.export(r.conversation))
		})
	}
}

// Each chat in aider's history is a conversation, what aider itself says is not a message,
// and lines of the model that look like those of the person or of aider are the model's.
func TestChatsOfAiderAreConversations(t *testing.T) {
	h := newHistory(t)
	text, err := os.ReadFile(filepath.Join("testdata", ".aider.chat.history.md"))
	if err != nil {
		t.Fatal(err)
	}
	path := h.file("harbour/.aider.chat.history.md", string(text))
	r := h.importing(importer.Options{}, path)
	h.same(filepath.Dir(path), r.Conversations[0].Project)
	h.same(0, h.importing(importer.Options{}, h.dir).New) // in a folder, too, though it is hidden
	h.same([]string{"harbour 2026-11-16 18:51:07", "harbour 2026-11-16 18:51:24", "harbour 2026-11-16 18:51:40"},
		h.names())
	edit := "I add the spring tide — “springs” 🌊.\n\n#### A heading of the model\n\n> A line that the model quotes\n\n\ntides.txt\n```\n" + tides + "\nspring\n```"
	for i, want := range [][]string{{"Add the spring tide 潮\n\nafter low water", edit}, {question, answer},
		{again, remembered}} {
		h.same(want, h.spoken(h.names()[i]))
		h.about(h.names()[i], "", "openai/scripted")
	}
	if said := h.entries(h.names()[0]); !slices.ContainsFunc(said, func(e timeline.Entry) bool {
		return e.Role == timeline.RoleMeta && strings.Contains(e.Text(), "Commit")
	}) {
		t.Error("what aider said itself is missing")
	}
}

// Editors and git hooks strip the spaces at the ends of lines. A chat without them is divided
// by the beginnings of its lines; chats that aider adds behind it are not.
func TestStrippedChatsOfAiderAreRead(t *testing.T) {
	h := newHistory(t)
	const chat = "# aider chat started at 2024-05-01 10:00:0%d\n\n> aider --message Hi\n> Aider v0.86.2  \n> Added a.go to the chat.  \n\n#### Hi  \n####   \n#### there  \n\nGood day.\n\n> Tokens: 1  \n\n#### Bye  \n\nGood bye.\n\n#### A heading\n\n> Tokens: 2  \n"
	stripped := regexp.MustCompile(` +\n`).ReplaceAllString(fmt.Sprintf(chat, 1), "\n")
	path := h.file("a/.aider.chat.history.md", strings.Replace(stripped, "#### A heading\n\n", "", 1)+fmt.Sprintf(chat,
		2))
	h.importing(importer.Options{}, path)
	h.same([]string{"Hi\n\nthere", "Good day.", "Bye", "Good bye."}, h.spoken("a 2024-05-01 10:00:01"))
	h.same([]string{"Hi\n\nthere", "Good day.", "Bye", "Good bye.\n\n#### A heading"},
		h.spoken("a 2024-05-01 10:00:02"))
	for _, name := range h.names() {
		h.same([]string{timeline.RoleMeta, "user", "assistant", timeline.RoleMeta, "user", "assistant",
			timeline.RoleMeta}, roles(h.entries(name)))
	}
	h.same(0, h.importing(importer.Options{}, path).New)
}

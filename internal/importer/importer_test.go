package importer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// history is a store with what tests ask of it.
type history struct {
	t     *testing.T
	store timeline.Store
	dir   string
}

func newHistory(t *testing.T) *history {
	return &history{t: t, store: memory.New(), dir: t.TempDir()}
}

// file writes a file and gives its path.
func (h *history) file(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *history) importing(o importer.Options, paths ...string) *importer.Report {
	h.t.Helper()
	o.Now = func() time.Time { return noon }
	r, err := importer.Import(context.Background(), h.store, paths, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.verify()
	return r
}

func (h *history) verify() {
	h.t.Helper()
	if err := h.store.Verify(context.Background(),
		func(p timeline.Problem) { h.t.Errorf("the store: %+v", p) }); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) entries(conversation string) []timeline.Entry {
	h.t.Helper()
	ctx := context.Background()
	c, err := h.store.Conversation(ctx, timeline.Local, conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	forms, err := importer.OwnForms(ctx, h.store, timeline.Local, conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	var out []timeline.Entry
	if err := h.store.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
		one := *e
		one.Raw = append([]byte{}, e.Raw...)
		if form, ok := forms[e.Place]; ok {
			var err error
			if one.Raw, err = h.store.Content(ctx, timeline.Local, form); err != nil {
				return err
			}
		}
		out = append(out, one)
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	return out
}

// export is a conversation as lines.
func (h *history) export(conversation string) string {
	h.t.Helper()
	var b strings.Builder
	for _, e := range h.entries(conversation) {
		b.Write(e.Raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// tell is each entry in a line: role, ref, time and text.
func (h *history) tell(conversation string) []string {
	h.t.Helper()
	var out []string
	for _, e := range h.entries(conversation) {
		out = append(out, fmt.Sprintf("%s %s %s %s", e.Role, e.Ref, e.Time.Format("2006-01-02T15:04"), e.Text()))
	}
	return out
}

func (h *history) names() []string {
	h.t.Helper()
	all, err := h.store.Conversations(context.Background(), timeline.Local)
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

func (h *history) same(want, got any) {
	h.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Error(diff)
	}
}

const session = `{"type":"summary","summary":"A small fix","leafUuid":"u3"}
{"type":"user","uuid":"u1","sessionId":"s-1","cwd":"/src/shop","timestamp":"2026-01-02T10:00:00.5Z","isSidechain":false,"message":{"role":"user","content":"why does it fail?"}}
{"type":"assistant", "uuid":"u2","sessionId":"s-1","cwd":"/src/shop/sub","timestamp":"2026-01-02T10:00:01Z","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.go"}}]}}
{"type":"user","uuid":"u3","sessionId":"s-1","timestamp":"2026-01-02T10:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"package a"}]}}
{"type":"assistant","uuid":"u4","sessionId":"s-1","isSidechain":true,"timestamp":"2026-01-02T10:00:03Z","message":{"role":"assistant","content":"a helper's words"}}
{"type":"system","subtype":"turn_duration","uuid":"u5","sessionId":"s-1","timestamp":"2026-01-02T10:00:04Z"}
`

func TestASessionIsKeptLineByLine(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("abc.jsonl", session))
	h.same([]importer.Conversation{{Name: "s-1", Project: "/src/shop", Format: "claude-code", Messages: 6, New: 6}},
		r.Conversations)
	h.same(session, h.export("s-1"))
	got := h.tell("s-1")
	got[0] = strings.Replace(got[0], h.entries("s-1")[0].Time.Format("2006-01-02T15:04"), "MODIFIED", 1)
	h.same([]string{
		"meta  MODIFIED (summary) A small fix",
		"user u1 2026-01-02T10:00 why does it fail?",
		"assistant u2 2026-01-02T10:00 → Read(a.go)",
		"user u3 2026-01-02T10:00 ← package a",
		"meta u4 2026-01-02T10:00 (assistant) a helper's words",
		"meta u5 2026-01-02T10:00 (system turn_duration)",
	}, got)
	c, _ := h.store.Conversation(context.Background(), timeline.Local, "s-1")
	h.same("/src/shop", c.Project)
}

func TestImportingAgainAddsNothing(t *testing.T) {
	h := newHistory(t)
	path := h.file("abc.jsonl", session)
	h.importing(importer.Options{}, path)
	before, _ := h.store.Conversation(context.Background(), timeline.Local, "s-1")
	r := h.importing(importer.Options{}, path)
	after, _ := h.store.Conversation(context.Background(), timeline.Local, "s-1")
	h.same(0, r.New+r.Variants)
	h.same(6, r.Messages)
	h.same(before, after)
}

func TestAFileThatGrewAddsWhatIsNew(t *testing.T) {
	h := newHistory(t)
	lines := strings.SplitAfter(session, "\n")
	path := h.file("abc.jsonl", strings.Join(lines[:3], ""))
	h.importing(importer.Options{}, path)
	h.file("abc.jsonl", session)
	h.same(3, h.importing(importer.Options{}, path).New)
	h.same(session, h.export("s-1"))

	// An older copy changes nothing, and does not take the conversation back.
	h.file("abc.jsonl", strings.Join(lines[:2], ""))
	h.same(0, h.importing(importer.Options{}, path).New)
	h.same(session, h.export("s-1"))
}

func TestAnEditedFileBranches(t *testing.T) {
	h := newHistory(t)
	path := h.file("abc.jsonl", session)
	h.importing(importer.Options{}, path)
	edited := strings.Replace(session, "package a", "package b", 1)
	h.file("abc.jsonl", edited)
	h.same(3, h.importing(importer.Options{}, path).New)
	h.same(edited, h.export("s-1"))
	heads, err := h.store.Heads(context.Background(), timeline.Local, "s-1")
	if err != nil || len(heads) != 2 {
		t.Fatal(heads, err)
	}

	// And back: everything is there already.
	h.file("abc.jsonl", session)
	h.same(0, h.importing(importer.Options{}, path).New)
	h.same(session, h.export("s-1"))
}

// Lines that say the same in other bytes are no new messages, and what is written
// back are the newest bytes: those of the file.
func TestOtherBytesOfTheSameLinesAreForms(t *testing.T) {
	h := newHistory(t)
	path := h.file("abc.jsonl", session)
	h.importing(importer.Options{}, path)
	other := strings.ReplaceAll(session, `"sessionId":"s-1",`, `"sessionId": "s-1", `)
	lines := strings.SplitAfter(other, "\n")
	other = strings.Join(lines[:5], "") // the last line is meta: its bytes are what it is
	h.file("abc.jsonl", other)
	r := h.importing(importer.Options{}, path)
	h.same(3, r.Variants)
	h.same(0, h.importing(importer.Options{}, path).Variants)
	got := strings.SplitAfter(h.export("s-1"), "\n")
	h.same(lines[1:4], got[1:4])

	h.file("abc.jsonl", session)
	h.importing(importer.Options{}, path)
	h.same(session, h.export("s-1"))
}

// A session that was copied under another id shares its lines with the first, and
// both come back as they are.
func TestAForkedSessionKeepsItsOwnBytes(t *testing.T) {
	h := newHistory(t)
	fork := strings.ReplaceAll(session, "s-1", "s-2")
	h.importing(importer.Options{}, h.file("a.jsonl", session), h.file("b.jsonl", fork))
	h.same(session, h.export("s-1"))
	h.same(fork, h.export("s-2"))
}

func TestBrokenLinesAreToldAndTheRestIsImported(t *testing.T) {
	h := newHistory(t)
	lines := strings.SplitAfter(session, "\n")
	path := h.file("abc.jsonl", lines[0]+"{\"type\":\"user\n\n"+lines[1]+"[1]\n\"x\"\n"+lines[2]+
		`{"type":"user","uuid":"u9"`)
	r := h.importing(importer.Options{}, path)
	h.same(4, r.Broken)
	var at []int
	for _, p := range r.Problems {
		at = append(at, p.Line)
		if p.File != path {
			t.Errorf("in %s", p.File)
		}
	}
	h.same([]int{2, 5, 6, 8}, at)
	h.same(strings.Join(lines[:3], ""), h.export("s-1"))
}

// A line that no store takes is told with its number, and the next ones are read.
func TestLinesThatAreTooLongAreLeftOut(t *testing.T) {
	importer.SetMaxLine(t, 1<<17)
	long := strings.Repeat("x", 1<<17)
	for name, tc := range map[string]struct {
		before, after string
		entries       int
	}{
		"claude-code": {session[:strings.Index(session, "\n")+1], session[strings.Index(session, "\n")+1:], 6},
		"generic":     {`{"conversation":"s-1","text":"a"}` + "\n", `{"conversation":"s-1","text":"b"}` + "\n", 2},
		"bodies": {`{"messages":[{"role":"user","content":"a"}]}` + "\n",
			`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}` + "\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			fits := `{"text":"` + long[:1<<17-11] + `"}` // exactly
			r := h.importing(importer.Options{}, h.file("s-1.jsonl", tc.before+`{"text":"`+long+`"}`+"\n"+tc.after))
			h.same(1, r.Broken)
			h.same(strings.Count(tc.before, "\n")+1, r.Problems[0].Line)
			h.same("a line of more than 256 MiB", r.Problems[0].What)
			h.same(tc.entries, len(h.entries("s-1")))
			if name == "generic" {
				r := h.importing(importer.Options{}, h.file("fits.jsonl", fits+"\n"+fits+" \n"))
				h.same(1, r.Broken)
				h.same(2, r.Problems[0].Line)
			}
		})
	}
}

func TestOnlyTwentyProblemsAreKept(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("abc.jsonl", session+strings.Repeat("x\n", 1000)))
	h.same(1000, r.Broken)
	h.same(20, len(r.Problems))
}

func TestOddLinesAreKeptAsTheyAre(t *testing.T) {
	h := newHistory(t)
	odd := "\ufeff" + `{"type":"user","uuid":"a","sessionId":"s","message":{"role":"user","content":"half \ud83d"}}` +
		"\r\n" +
		`{"type":"user","uuid":"b","sessionId":"s","message":{"role":"user","content":"nul \u0000 \u001b[31m"}}` +
		"\n" +
		"{\"type\":\"user\",\"uuid\":\"c\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"bytes \xff\xfe\"}}\n" +
		`{"type":"user","uuid":"d\u0000","sessionId":"s","message":{"role":"user","content":7}}` + "\n" +
		`{"type":"user","type":"user","uuid":"e","sessionId":"s"}` + "\n" +
		`{"type":"user","uuid":"f","sessionId":"s","message":{"role":"user","content":"` +
		strings.Repeat("long ", 1<<20) + `"}}` + "\n"
	r := h.importing(importer.Options{}, h.file("abc.jsonl", odd))
	h.same(0, r.Broken)
	if got := h.export("s"); got != odd {
		t.Errorf("%d bytes came back of %d", len(got), len(odd))
	}
	h.same([]string{"user", "user", "user", "meta", "meta", "user"}, roles(h.entries("s")))
}

func roles(entries []timeline.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Role)
	}
	return out
}

// A sub-agent has a file of its own with the session's id: it is a conversation
// of its own, and its lines are messages.
func TestASubAgentsFileIsItsOwnConversation(t *testing.T) {
	h := newHistory(t)
	h.file("p/s-1.jsonl", session)
	h.file("p/s-1/subagents/agent-7.jsonl",
		`{"type":"user","uuid":"x1","sessionId":"s-1","agentId":"7","isSidechain":true,"cwd":"/src/shop","message":{"role":"user","content":"look into it"}}`+"\n")
	h.importing(importer.Options{}, h.dir)
	h.same([]string{"s-1", "s-1/7"}, h.names())
	h.same([]string{"user"}, roles(h.entries("s-1/7")))
	h.same(session, h.export("s-1"))
}

func TestNamesAndProjectsCanBeGiven(t *testing.T) {
	h := newHistory(t)
	path := h.file("abc.jsonl", session)
	h.importing(importer.Options{Conversation: "mine", Project: "p"}, path)
	h.same([]string{"mine"}, h.names())
	c, _ := h.store.Conversation(context.Background(), timeline.Local, "mine")
	h.same("p", c.Project)
	h.importing(importer.Options{Conversation: "mine", Project: "q"}, path)
	c, _ = h.store.Conversation(context.Background(), timeline.Local, "mine")
	h.same("q", c.Project)

	two := h.file("two.jsonl", `{"conversation":"a","text":"x"}`+"\n"+`{"conversation":"b","text":"y"}`+"\n")
	_, err := importer.Import(context.Background(), h.store, []string{two}, importer.Options{Conversation: "mine"})
	if !errors.Is(err, importer.ErrInput) || !strings.Contains(err.Error(), `"a", "b"`) {
		t.Error(err)
	}
	h.same([]string{"mine"}, h.names())
}

func TestAProjectThatIsTooLongIsLeftOut(t *testing.T) {
	h := newHistory(t)
	folder := "/" + strings.Repeat("x", timeline.MaxName)
	h.importing(importer.Options{}, h.file("s-9.jsonl", `{"type":"user","uuid":"u1","sessionId":"s-9","cwd":"`+folder+
		`","message":{"role":"user","content":"why?"}}`+"\n"))
	c, err := h.store.Conversation(context.Background(), timeline.Local, "s-9")
	if err != nil || c.Project != "" || c.Head.Depth != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestFoldersAreReadThroughAndStrangersSkipped(t *testing.T) {
	h := newHistory(t)
	h.file("in/a/one.jsonl", session)
	h.file("in/b/body.json",
		"{\n  \"model\": \"gpt-5\",\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"hi\"}\n  ]\n}\n")
	h.file("in/LICENSE", "do as you like")
	h.file("in/list.json", `[{"a":1}]`)
	h.file("in/deep.json", `{"prompt":"x"}`)
	h.file("in/empty.jsonl", "")
	h.file("in/.hidden/x.jsonl", session)
	r := h.importing(importer.Options{}, filepath.Join(h.dir, "in"))
	h.same(2, r.Files)
	var skipped []string
	for _, path := range r.Skipped {
		rel, _ := filepath.Rel(h.dir, path)
		skipped = append(skipped, filepath.ToSlash(rel))
	}
	h.same([]string{"in/LICENSE", "in/deep.json", "in/empty.jsonl", "in/list.json"}, skipped)
	h.same([]string{"b/body", "s-1"}, h.names())

	for _, name := range []string{"in/LICENSE", "in/list.json", "nowhere.json"} {
		path := filepath.Join(h.dir, filepath.FromSlash(name))
		if _, err := importer.Import(context.Background(), h.store, []string{path}, importer.Options{}); !errors.Is(err,
			importer.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	only := h.importing(importer.Options{Format: importer.ClaudeCode}, filepath.Join(h.dir, "in"))
	h.same(1, only.Files)
}

func TestACancelledImportStopsAndCanBeGoneOnWith(t *testing.T) {
	h := newHistory(t)
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "{\"conversation\":\"c\",\"ref\":\"%d\",\"text\":\"number %d\"}\n", i, i)
	}
	path := h.file("c.jsonl", b.String())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := importer.Import(ctx, h.store, []string{path}, importer.Options{Progress: func(done, _ int64) {
		if done > int64(b.Len()/2) {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	h.importing(importer.Options{}, path)
	h.same(b.String(), h.export("c"))
}

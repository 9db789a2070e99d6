package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

const geminiHead = `{"sessionId":"g","projectHash":"h","startTime":"2026-01-01T00:00:00Z","kind":"main"}` + "\n"

func geminiLine(id, kind, text string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:01Z","type":%q,"content":%q}`+"\n", id, kind, text)
}

func (h *history) branches(conversation string) (lengths []int64) {
	h.t.Helper()
	heads, err := h.store.Heads(h.t.Context(), timeline.Local, conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range heads {
		lengths = append(lengths, p.Depth)
	}
	return lengths
}

// Going back in a session of Gemini CLI leaves a branch behind; an id that is not there
// begins anew.
func TestGoingBackInGeminiCLIIsABranch(t *testing.T) {
	h := newHistory(t)
	log := geminiHead + geminiLine("1", "user", "one") + geminiLine("2", "gemini", "two") + geminiLine("3", "user",
		"three") + `{"$rewindTo":"2"}` + "\n" + geminiLine("4", "gemini", "four")
	path := h.file("s.jsonl", log)
	h.importing(importer.Options{}, path)
	h.same([]string{"one", "four"}, h.spoken("g"))
	h.same([]int64{2, 3}, h.branches("g"))
	h.same(0, h.importing(importer.Options{}, path).New)
	h.importing(importer.Options{}, h.file("s.jsonl", log+`{"$rewindTo":"?"}`+"\n"+geminiLine("2", "user", "other")))
	h.same([]string{"other"}, h.spoken("g"))
	h.same([]int64{1, 3, 2}, h.branches("g"))
}

// A compression replaces the messages of a session by a summary and the last ones. What was
// said stays, the summary comes behind it, and what is repeated is not imported again.
func TestACompressedSessionOfGeminiCLIKeepsEverything(t *testing.T) {
	h := newHistory(t)
	list := func(lines ...string) string {
		return `{"$set":{"messages":[` + strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, "")), "\n", ",") +
			`]}}` + "\n"
	}
	cut := strings.Replace(geminiLine("2", "gemini", "(cut)"), "00:00:01", "00:09:00", 1)
	h.importing(importer.Options{}, h.file("s.jsonl", geminiHead+
		geminiLine("1", "user", "one")+geminiLine("2", "gemini", "two, which is long")+
		list(geminiLine("9", "user", "<state_snapshot>x</state_snapshot>"), cut)+
		`{"$set":{"summary":"Counting"}}`+"\n"+geminiLine("3", "user", "three")))
	h.same([]string{"one", "two, which is long", "<state_snapshot>x</state_snapshot>", "three"}, h.spoken("g"))
	h.about("g", "Counting", "")
}

// Calls and results that are only in the content of messages, as after a resumption by
// another version, are imported too.
func TestCallsInTheContentOfGeminiCLIAreImported(t *testing.T) {
	h := newHistory(t)
	h.importing(importer.Options{}, h.file("s.jsonl", geminiHead+
		`{"id":"1","type":"gemini","content":[{"text":"I think.","thought":true},{"functionCall":{"id":"c1","name":"ls","args":{}}},{"functionCall":{"id":"c2","name":"ls","args":{}}}]}`+"\n"+
		`{"id":"2","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}},{"functionResponse":{"id":"c2","name":"ls","response":{"error":"no"}}}]}`+"\n"))
	h.pairs("g", 2, 1)
	h.same([]string{"I think."}, h.spoken("g"))
}

// Calls without ids, results that are not there yet, and content that is one part instead of
// a list lose nothing.
func TestUnusualMessagesOfGeminiCLIAreImportedWhole(t *testing.T) {
	for name, test := range map[string]struct {
		log  string
		said []string
	}{
		"a call without an id": {`{"id":"1","type":"gemini","content":[{"text":"I look."},{"functionCall":{"name":"ls","args":{}}}],"toolCalls":[{"name":"ls","args":{},"result":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}]}`, []string{"I look."}},
		"a result in the next message": {`{"id":"1","type":"gemini","content":"I look.","toolCalls":[{"id":"c1","name":"ls","args":{},"result":[]}]}
{"id":"2","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}]}`,
			[]string{"I look."}},
		"one without an id": {`{"id":"1","type":"gemini","content":"I look.","toolCalls":[{"name":"ls","args":{},"result":[]}]}
{"id":"2","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}`,
			[]string{"I look."}},
		"one part": {`{"id":"1","type":"user","content":{"text":"Look."}}
{"id":"2","type":"gemini","content":{"functionCall":{"id":"c1","name":"ls","args":{}}}}
{"id":"3","type":"user","content":{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}}`,
			[]string{"Look."}},
		"one result": {`{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"ls","args":{},"result":{"functionResponse":{"id":"c1","response":{"output":"a"}}}}]}
{"id":"2","type":"user","content":{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.importing(importer.Options{}, h.file("s.jsonl", geminiHead+test.log+"\n"))
			h.same(test.said, h.spoken("g"))
			h.pairs("g", 1, 0)
		})
	}
}

// The log of a session is read as far as it goes.
func TestABrokenLogOfGeminiCLIIsReadAsFarAsItGoes(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("s.jsonl", geminiHead+geminiLine("1", "user", "one")+"{\"id\":\n"+
		`{"$rewindTo":7}`+"\n"+`{"$set":[]}`+"\n"+`{"id":7}`+"\n"+geminiLine("2", "gemini", "two")+`{"id":"3","ty`))
	h.same(2, r.Broken)
	h.same([]string{"one", "two"}, h.spoken("g"))
}

// A session is held in memory, and therefore read up to a bound.
func TestALogOfGeminiCLIThatIsTooLongIsReadUpToThere(t *testing.T) {
	importer.SetMaxLine(t, 1<<10)
	h := newHistory(t)
	log := geminiHead
	for range 100 { // versions of one message do not count
		log += geminiLine("1", "user", strings.Repeat("x", 100))
	}
	for i := range 6 {
		log += geminiLine(fmt.Sprint(i+2), "gemini", strings.Repeat("y", 900))
	}
	r := h.importing(importer.Options{}, h.file("s.jsonl", log))
	h.same(5, len(h.entries("g")))
	h.same([]any{2, "the session has more than 1 GiB: this message is left out"}, []any{r.Broken, r.Problems[0].What})
}

// The list of inputs that Gemini CLI keeps beside its sessions is not taken for a session of
// another agent.
func TestListsOfInputsAreLeftOut(t *testing.T) {
	h := newHistory(t)
	_, err := importer.Check(t.Context(),
		[]string{h.file("logs.json",
			`[{"sessionId":"g","messageId":0,"type":"user","message":"one","timestamp":"2026-01-01T00:00:00Z"}]`)},
		importer.Options{})
	if err == nil || !strings.Contains(err.Error(), "no known format") {
		t.Error(err)
	}
}

// Files beside a session are not read if they are links to others.
func TestLinksBesideASessionAreNotFollowed(t *testing.T) {
	h := newHistory(t)
	secret := h.file("secret", "/a/secret")
	path := h.file("tmp/x/chats/s.jsonl", geminiHead+geminiLine("1", "user", "one"))
	if err := os.Symlink(secret, filepath.Join(h.dir, "tmp/x/.project_root")); err != nil {
		t.Skip(err)
	}
	h.same("", h.importing(importer.Options{}, path).Conversations[0].Project)
	h.file("about.json", `{"cwd":"/a/secret"}`)
	session := h.file("sessions/c/c.messages.json",
		`{"sessionId":"c","agent":"lead","messages":[{"role":"user","content":"hi"}]}`)
	if err := os.Symlink("../../about.json", filepath.Join(h.dir, "sessions/c/c.json")); err != nil {
		t.Skip(err)
	}
	h.same("", h.importing(importer.Options{}, session).Conversations[0].Project)
}

package importer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

func TestGenericLinesGoToTheirConversations(t *testing.T) {
	h := newHistory(t)
	lines := `{"conversation":"c1","ref":"u1","time":"2024-05-01T10:00:00Z","role":"user","name":"Ann","text":"hello"}
{"conversation":"c2","ref":"u1","role":"assistant","text":"hello"}
{"conversation":"c1","ref":2,"time":"2024-05-01T10:01:00+02:00","text":"more"}
{"text":"nobody's"}
{"conversation":"c1","text":7}
{"conversation":"c1","text":"x","time":"yesterday"}
{"conversation":{},"text":"x"}
{"conversation":"c1"}
`
	r := h.importing(importer.Options{}, h.file("talk.jsonl", lines))
	h.same([]string{"c1", "c2", "talk"}, h.names())
	h.same([]string{"user u1 2024-05-01T10:00 hello", "user 2 2024-05-01T08:01 more"}, h.tell("c1"))
	h.same([]string{"assistant u1 2024-05-01T10:00 hello"}, h.tell("c2"))
	h.same(4, r.Broken)
	h.same([]string{
		"text: want a string, got a number",
		"time: want a time such as 2024-05-01T10:00:00Z",
		"conversation: want a string, got an object",
		"text: want a string, got none",
	}, []string{r.Problems[0].What, r.Problems[1].What, r.Problems[2].What, r.Problems[3].What})
}

// Conversations that say the same keep their own ids: a ref must find its line.
func TestTheSameWordsWithOtherRefsAreOtherMessages(t *testing.T) {
	h := newHistory(t)
	a := `{"conversation":"a","ref":"a1","role":"user","text":"hi"}` + "\n"
	b := `{"conversation":"b","ref":"b1","role":"user","text":"hi"}` + "\n"
	c := `{"conversation":"c","role":"user","text":"hi"}` + "\n"
	d := `{"conversation":"d","role":"user","text":"hi"}` + "\n"
	h.importing(importer.Options{}, h.file("x.jsonl", a+b+c+d))
	h.same([]string{"b1"}, []string{h.entries("b")[0].Ref})
	for name, want := range map[string]string{"a": a, "b": b, "c": c, "d": d} {
		h.same(want, h.export(name))
	}
}

func TestManyConversationsInOneFile(t *testing.T) {
	h := newHistory(t)
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(`{"conversation":"c` + string(rune('a'+i%23)) + `","text":"line ` + strings.Repeat("x", i) +
			"\"}\n")
	}
	path := h.file("many.jsonl", b.String())
	h.same(2000, h.importing(importer.Options{}, path).New)
	h.same(0, h.importing(importer.Options{}, path).New)
	h.same(23, len(h.names()))
}

// Successive calls of a conversation resend it: only what is new is added, and a
// cache mark that moved is a variant.
func TestBodiesAreSuccessiveCalls(t *testing.T) {
	h := newHistory(t)
	first := `{"model":"claude-sonnet-4-5","system":"be brief","tools":[{"name":"ls","input_schema":{}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}`
	second := `{"model":"claude-sonnet-4-5","system":"be brief","tools":[{"name":"ls","input_schema":{}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"bye"}]}`
	path := h.file("calls.jsonl", first+"\n"+second+"\n")
	r := h.importing(importer.Options{}, path)
	h.same([]importer.Conversation{{Name: "calls", Format: "anthropic", Messages: 4, New: 3}}, r.Conversations)
	h.same(1, r.Variants)
	h.same(`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}
{"role":"assistant","content":"hello"}
{"role":"user","content":"bye"}
`, h.export("calls"))
	calls, err := h.store.Records(context.Background(), timeline.Local, "calls", "call", "")
	if err != nil || len(calls) != 2 {
		t.Fatal(calls, err)
	}
	system, err := h.store.Content(context.Background(), timeline.Local, calls[1].Contents[0])
	if err != nil || string(system) != `"be brief"` {
		t.Errorf("%s %v", system, err)
	}
	before, _ := h.store.Conversation(context.Background(), timeline.Local, "calls")
	h.same(0, h.importing(importer.Options{}, path).New)
	after, _ := h.store.Conversation(context.Background(), timeline.Local, "calls")
	h.same(before, after)
}

func TestBodiesOfEveryProtocolAndShape(t *testing.T) {
	for name, tc := range map[string]struct {
		body   string
		format importer.Format
		want   []string
	}{
		"openai": {`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"half \ud83d"}]}`,
			importer.OpenAI, []string{`{"role":"system","content":"s"}`, `{"role":"user","content":"half \ud83d"}`}},
		"pretty":         {"{\n \"messages\": [\n  {\n   \"role\": \"user\",\n   \"content\": [\n    {\"type\": \"text\", \"text\": \"x\"}\n   ]\n  }\n ]\n}\n", importer.OpenAI, []string{"{\n   \"role\": \"user\",\n   \"content\": [\n    {\"type\": \"text\", \"text\": \"x\"}\n   ]\n  }"}},
		"responses":      {`{"model":"gpt-5","instructions":"s","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}]}`, importer.Responses, []string{`{"role":"user","content":"go"}`, `{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}`}},
		"plain input":    {`{"model":"gpt-5","input":"go"}`, importer.Responses, []string{`"go"`}},
		"list of bodies": {`[{"messages":[{"role":"user","content":"a"}]},{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}]`, importer.OpenAI, []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"b"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			r := h.importing(importer.Options{}, h.file("body.json", tc.body))
			h.same(0, r.Broken)
			h.same(tc.format, r.Conversations[0].Format)
			var got []string
			for _, e := range h.entries("body") {
				got = append(got, string(e.Raw))
			}
			h.same(tc.want, got)
		})
	}
}

func TestABrokenBodyIsLeftOutAsAWhole(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("calls.jsonl", `{"messages":[{"role":"user","content":"a"}]}
{"messages":[{"role":"user","content":"a"},{"role":"user","content":7}]}
{"messages":
{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}
`))
	h.same(2, r.Broken)
	h.same(2, r.Problems[0].Line)
	if !strings.Contains(r.Problems[0].What, "messages[1].content") {
		t.Error(r.Problems[0].What)
	}
	h.same([]string{"user", "user"}, roles(h.entries("calls")))
}

func TestLocomo(t *testing.T) {
	h := newHistory(t)
	r := h.importing(importer.Options{}, h.file("talks.json", `[
 {"sample_id": "conv-x", "qa": [], "conversation": {
   "speaker_a": "Ann", "speaker_b": "Bob",
   "session_10_date_time": "12:05 am on 3 June, 2023", "session_10": [{"speaker": "Bob",  "dia_id": "D10:1", "text": "late"}],
   "session_2_date_time": "1:56 pm on 8 May, 2023", "session_2": [
     {"speaker": "Ann", "dia_id": "D2:1", "text": "hi"},
     {"speaker": "Bob", "dia_id": "D2:2"},
     {"speaker": "Bob", "dia_id": "D2:3", "text": "look", "blip_caption": "a dog"}],
   "session_3_date_time": "x"}},
 {"conversation": {"speaker_a": "Ann", "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "alone"}]}}
]`))
	h.same([]string{"1", "conv-x"}, h.names())
	h.same([]string{
		"user D2:1 2023-05-08T13:56 hi",
		"assistant D2:3 2023-05-08T13:56 look\n(picture: a dog)",
		"assistant D10:1 2023-06-03T00:05 late",
	}, h.tell("conv-x"))
	h.same(`{"speaker": "Bob",  "dia_id": "D10:1", "text": "late"}`, string(h.entries("conv-x")[2].Raw))
	h.same("conv-x: session_2[1]: want text and dia_id", r.Problems[0].What)
}

func TestBeam(t *testing.T) {
	h := newHistory(t)
	chat := `[
  {"batch_number": 1, "turns": [[
    {"role": "user", "id": 0, "time_anchor": "March-15-2024", "index": "1,1", "content": "when? ->-> 1,1"},
    {"role": "assistant", "id": 1, "content": "soon"}]]},
  {"batch_number": 2, "turns": [[{"role": "user", "id": 2, "time_anchor": "April-01-2024", "content": "now?"}]]}
]`
	h.file("beam/100K/7/chat.json", chat)
	h.file("beam/100K/7/probing_questions.json", `{"abstention":[{"question":"q"}]}`)
	h.file("beam/500K/7/chat.json",
		`[{"plan-1": [{"batch_number": 1, "turns": [[{"role": "user", "id": 0, "content": "other"}]]}]}]`)
	h.importing(importer.Options{}, h.dir+"/beam")
	h.same([]string{"100K/7", "500K/7"}, h.names())
	h.same([]string{"user 0 2024-03-15T00:00 when?", "assistant 1 2024-03-15T00:00 soon",
		"user 2 2024-04-01T00:00 now?"}, h.tell("100K/7"))
	h.importing(importer.Options{}, h.dir+"/beam/100K")
	h.same([]string{"100K/7", "500K/7", "7"}, h.names())
}

// Two chats that would have the same name are told apart by the folders above.
func TestNamesThatClashGetTheFolderAbove(t *testing.T) {
	h := newHistory(t)
	for _, path := range []string{"100K/7", "500K/7"} {
		h.file(path+"/chat.json", `[{"turns": [[{"role": "user", "id": 0, "content": "in `+path+`"}]]}]`)
		h.file(path+"/x.json", `{"messages":[{"role":"user","content":"in `+path+`"}]}`)
	}
	h.importing(importer.Options{}, h.dir+"/100K", h.dir+"/500K", h.dir+"/500K/7/chat.json")
	h.same([]string{"100K/7", "100K/7/x", "500K/7", "500K/7/x"}, h.names())
}

// A session of Qwen Code is not taken for one of Claude Code because of lines that both could
// write.
func TestQwenCodeIsRecognisedBehindItsFirstLine(t *testing.T) {
	h := newHistory(t)
	note := `{"uuid":"0","sessionId":"q","cwd":"/x","type":"system","subtype":"note"}` + "\n"
	qwen := `{"uuid":"1","sessionId":"q","cwd":"/x","type":"user","message":{"role":"user","parts":[{"text":"hi"}]}}` +
		"\n"
	h.same(importer.QwenCode, h.importing(importer.Options{}, h.file("q.jsonl", note+qwen)).Conversations[0].Format)
	h.same([]string{"hi"}, h.spoken("q"))
	for _, text := range []string{session, note, session + qwen} {
		h.same(importer.ClaudeCode, h.importing(importer.Options{}, h.file("c.jsonl", text)).Conversations[0].Format)
	}
}

func TestParseFormat(t *testing.T) {
	for _, name := range []string{"auto", "", "claude-code", "openai", "anthropic", "responses", "generic", "locomo",
		"beam"} {
		if _, err := importer.ParseFormat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := importer.ParseFormat("yaml"); err == nil || !strings.Contains(err.Error(), "locomo") {
		t.Error(err)
	}
}

package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Whatever a file holds, importing it does not panic, a second time adds nothing,
// and the store is whole. Of lines every good one is there, in order, as it was.
func FuzzImport(f *testing.F) {
	formats := slices.DeleteFunc(append(importer.Formats(), importer.Auto), func(f importer.Format) bool {
		return f == importer.Goose || f == importer.Crush // databases only: see FuzzRows
	})
	for _, seed := range []struct {
		format importer.Format
		text   string
	}{
		{importer.ClaudeCode, session},
		{importer.OpenAI, `{"messages":[{"role":"user","content":"a"}]}`},
		{importer.GeminiCLI, `{"messages":""}`},
		{importer.Anthropic, `{"system":"x","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`},
		{importer.Responses, `{"input":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}`},
		{importer.Generic,
			`{"conversation":"a","ref":"1","time":"2024-05-01T10:00:00Z","role":"user","text":"x\ud800"}` +
				"\r\n\n{}\n[]\n" + `{"text":"y"}`},
		{importer.Locomo,
			`[{"sample_id":"s","conversation":{"speaker_a":"A","session_1":[{"speaker":"A","dia_id":"D1:1","text":"t"}]}}]`},
		{importer.Beam, `[{"turns":[[{"role":"user","id":0,"content":"c ->-> 1,1"}]]}]`},
		{importer.Auto, "\ufeff{\"text\":\"\xff\"}\n"},
		{importer.Codex, `{"timestamp":"0001-01-01T00:00:00Z","type":"session_meta","payload":{"id":"c","cwd":"/x"}}` +
			"\n" + `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}}` + "\n" + `{"ty`},
		{importer.ChatGPT,
			`[{"conversation_id":"c","current_node":"a","create_time":1e9,"mapping":{"a":{"parent":"b","children":["b"],"message":{"id":"1","author":{"role":"user"},"content":{"content_type":"text","parts":["x",{"text":"y"}]}}},"b":{"parent":"a"},"c":{"parent":"b","message":{"content":{"text":"z"}}}}}]`},
		{importer.ClaudeAI,
			`[{"uuid":"c","chat_messages":[{"uuid":"1","sender":"human","content":[{"type":"tool_use","input":{}},{"type":"tool_result","content":[{"text":"t"}]}],"attachments":[{"file_name":"f"}]}]}]`},
		{importer.GeminiCLI,
			`{"sessionId":"g","messages":[{"id":"1","type":"gemini","content":[{"text":"t"}],"thoughts":[{"subject":"s"}],"toolCalls":[{"id":"c","args":{},"result":[{"functionResponse":{"response":{"output":"o"}}}]}]}]}`},
		{importer.GeminiCLI, geminiHead + geminiLine("1", "user", "a") +
			`{"id":"2","type":"gemini","content":[{"functionCall":{"id":"c"}},{"inlineData":{"mimeType":"image/png","data":"x"}}],"toolCalls":[{"id":"c","result":[{"functionResponse":{"id":"c","response":{}}}]}]}` + "\n" + `{"$set":{"messages":[{"id":"1"},{"id":"3","type":"user","content":[{"functionResponse":{"id":"c"}}]}],"summary":"s"}}` + "\n" + `{"$rewindTo":"2"}` + "\n"},
		{importer.QwenCode,
			`{"uuid":"1","sessionId":"q","cwd":"/x","type":"user","message":{"role":"user","parts":[{"text":"a"}]}}` +
				"\n" + `{"uuid":"2","sessionId":"q","type":"assistant","model":"m","message":{"parts":[{"text":"t","thought":true},{"functionCall":{"id":"c","name":"n"}}]}}` + "\n" + `{"uuid":"3","sessionId":"q","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c","response":{"error":"e"}}}]}}` + "\n{}\n"},
		{importer.Cline,
			`{"sessionId":"c","agent":"lead","messages":[{"id":"1","role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">a</user_input>"},{"type":"file","path":"p"},{"type":"tool_result","tool_use_id":"t","content":[{"success":false}]}],"ts":1}]}`},
		{importer.Aider,
			"# aider chat started at 2024-05-01 10:00:00\n> aider x\n\ny  \n> z  \n#### hi  \n####   \n#### ho  \n\n#### a heading\n> quoted\n\n> Tokens: 1  \n"},
		{importer.OpenCode,
			`{"info":{"id":"ses_1","directory":"/x"},"messages":[{"info":{"id":"m","role":"user"},"parts":[{"type":"text","text":"t"},{"type":"tool","state":{"input":{},"output":"o"}}]}]}`},
		{importer.OpenCode, `{"id":"ses_..","directory":"/x"}`},
		{importer.Pi, `{"type":"session","version":3,"id":"p","timestamp":"2026-11-19T21:30:05.694Z","cwd":"/x"}` +
			"\n" +
			`{"type":"message","id":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c"},{"type":"x"}]}}` +
			"\n" + `{"type":"message","id":"2","message":{"role":"toolResult","toolCallId":"c","content":"a"}}`},
		{importer.Copilot, `{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/x"}}}` + "\n" +
			`{"type":"assistant.message","data":{"content":"a","toolRequests":[{"toolCallId":"c","arguments":1}]}}` +
			"\n" +
			`{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"error":{"message":"e"}}}`},
		{importer.Continue, `{"sessionId":"c","workspaceDirectory":"/x","history":[{"message":{"role":"assistant",` +
			`"content":[{"type":"imageUrl","imageUrl":{"url":"data:image/png;base64,eA=="}}],"toolCalls":[{"function":{}}]},` +
			`"toolCallStates":[{"output":[{"content":"o"}]}]},{"message":{"role":"thinking","content":"t"}},5]}`},
		{importer.Cline, `[{"role":"user","content":"a","ts":1}]`},
		{importer.ClaudeAI, claudeAI("b", "a 0", "b ?", "c d", "d c", "a b", " x")},
		{importer.GeminiCLI,
			geminiHead + `{"id":"","type":"gemini","content":{"text":"a"},"toolCalls":[{"name":"n","result":[]},{"result":{"functionResponse":{}}}]}` + "\n" + `{"type":"user","id":"2","content":{"functionResponse":{}}}`},
		{importer.Aider,
			"# aider chat started at 2024-05-01 10:00:00\n\n#### hi\n\n> tokens\n\nhello\n\n\n# aider chat started at \x00\xff\n####\nx"},
	} {
		f.Add([]byte(seed.text), uint8(slices.Index(formats, seed.format)))
	}
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		if len(data) > 1<<16 {
			return
		}
		format := formats[int(n)%len(formats)]
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		store := memory.New()
		defer store.Close()
		o := importer.Options{Format: format}
		r, err := importer.Import(ctx, store, []string{path}, o)
		if err != nil {
			if format == importer.Auto || strings.Contains(err.Error(), "is a request body in the form") {
				return
			}
			t.Fatal(err)
		}
		if err := store.Verify(ctx, func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
			t.Fatal(err)
		}
		if format == importer.ClaudeCode || format == importer.QwenCode {
			checkLines(t, store, data, r)
		}
		again, err := importer.Import(ctx, store, []string{path}, o)
		if err != nil || again.New+again.Variants > 0 || again.Messages != r.Messages {
			t.Fatalf("again: %+v %v", again, err)
		}
	})
}

// checkLines compares what a store has with the lines that are JSON objects.
func checkLines(t *testing.T, store timeline.Store, data []byte, r *importer.Report) {
	var want [][]byte
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		bare := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(bare) > 0 && bare[0] == '{' && json.Valid(bare) {
			want = append(want, line)
		}
	}
	if len(want) == 0 {
		return
	}
	ctx := context.Background()
	c, err := store.Conversation(ctx, timeline.Local, r.Conversations[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	if err := store.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
		got = append(got, bytes.Clone(e.Raw))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.Join(want, []byte{'\n'}), bytes.Join(got, []byte{'\n'})) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/importer"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Whatever a file holds, importing it does not panic, a second time adds nothing,
// and the store is whole. Of lines every good one is there, in order, as it was.
func FuzzImport(f *testing.F) {
	formats := append(importer.Formats(), importer.Auto)
	for i, seed := range []string{
		session,
		`{"messages":[{"role":"user","content":"a"}]}`,
		`{"system":"x","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"input":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}`,
		`{"conversation":"a","ref":"1","time":"2024-05-01T10:00:00Z","role":"user","text":"x\ud800"}` + "\r\n\n{}\n[]\n" + `{"text":"y"}`,
		`[{"sample_id":"s","conversation":{"speaker_a":"A","session_1":[{"speaker":"A","dia_id":"D1:1","text":"t"}]}}]`,
		`[{"turns":[[{"role":"user","id":0,"content":"c ->-> 1,1"}]]}]`,
		"\ufeff{\"text\":\"\xff\"}\n",
	} {
		f.Add([]byte(seed), uint8(i))
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
			if format == importer.Auto {
				return
			}
			t.Fatal(err)
		}
		if err := store.Verify(ctx, func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
			t.Fatal(err)
		}
		if format == importer.ClaudeCode {
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

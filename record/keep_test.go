package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/oriel-context/oriel/internal/fakemodel"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/wire"
)

// What lets a provider into the servers of tools is nowhere on disk.
func TestSecretsOfToolsAreNotKept(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, store, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
	b.model.Unchecked = true
	const canary = "canary-4711"
	for i, body := range []string{
		`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],"mcp_servers":[{"type":"url","url":"https://x","authorization_token":"` + canary + `"}]}`,
		`{"model":"m","input":"b","tools":[{"type":"mcp","server_label":"s","authorization":"` + canary + `","headers":{"X-Token": "` + canary + `","n":1}}]}`,
		`{"model":"m","messages":[{"role":"user","content":"c"}],"api_key" : "x` + canary + `\"y"}`,
	} {
		path := []string{"/v1/messages", "/v1/responses", "/v1/chat/completions"}[i]
		if resp, answer := b.send(path, []byte(body), "Authorization", "Bearer "+canary, "X-Api-Key", canary); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, answer)
		}
		if !bytes.Equal(b.bodies[i], []byte(body)) {
			t.Error("the model got other bytes")
		}
	}
	b.settle(3)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || bytes.Contains(raw, []byte("4711")) {
			t.Errorf("%s has it, %v", file, err)
		}
	}
	// Contents may be compressed: ask for the calls themselves.
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		call, err := record.ReadCall(ctx, store, timeline.Local, &records[0])
		if err != nil || bytes.Contains(call.Body, []byte("4711")) || !json.Valid(call.Body) {
			t.Errorf("%s, %v", call.Body, err)
		}
	}
}

// Fields that other protocols have are kept as they came.
func TestForeignAndEmptyFieldsAreKept(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
	b.model.Unchecked = true
	const body = `{"model":"m","max_tokens":5,"system":[],"input":"x","instructions":null,"messages":[{"role":"user","content":"a"}]}`
	b.send("/v1/messages", []byte(body))
	b.settle(1)
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	records, err := b.store.Records(ctx, timeline.Local, all[0].Name, "call", "")
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	call, err := record.ReadCall(ctx, b.store, timeline.Local, &records[0])
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if json.Unmarshal([]byte(body), &want) != nil || json.Unmarshal(call.Body, &got) != nil || fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("%s, was %s", call.Body, body)
	}
}

// A client that hangs up after the last event has the whole reply.
func TestACompleteReplyCountsThoughTheClientLeft(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "a whole reply", Input: 1, Output: 2}
	})
	rec := b.recorder.Begin(ctx, call(t, "/v1/messages", wire.Anthropic, `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"a"}]}`))
	rec.Response(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	_, stream := b.send("/v1/messages", []byte(`{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"b"}]}`))
	rec.Write(stream)
	rec.End(fmt.Errorf("the client left"))
	b.settle(2)
	all, err := b.store.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != 2 || all[0].Head.Depth != 2 || all[1].Head.Depth != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func call(t *testing.T, path string, f wire.Format, body string) *proxy.Call {
	t.Helper()
	return &proxy.Call{ID: t.Name(), Tenant: timeline.Local, Format: f, Path: path, Header: http.Header{}, Body: []byte(body)}
}

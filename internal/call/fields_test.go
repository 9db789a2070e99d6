package call_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// A large field beside messages and tools is a content like those: stored once and
// compressed however many calls send it, and counted. What is small stays in the record,
// whose size is bounded whatever a request has.
func TestLargeFieldsAreStoredOnceAndCounted(t *testing.T) {
	store, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, store, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "hi"} })
	b.model.Unchecked = true
	schema := `{"type":"json_schema","json_schema":{"name":"s","schema":{"enum":["` +
		strings.Repeat("a choice of many\",\"", 8000) + `"]}}}`
	var many strings.Builder // of small fields
	for i := range 1000 {
		fmt.Fprintf(&many, `"field-%d": %d , `, i, i)
	}
	const calls = 20
	var sent []string
	for i := range calls {
		body := fmt.Sprintf(`{"model":"m","temperature":0.%d,"seed":%d,"response_format":%s,%s"twice":1,"twice":"%s","messages":[{"role":"user","content":"call %d"}]}`,
			i, i, schema, many.String(), strings.Repeat("x", 600), i)
		sent = append(sent, body)
		if resp, answer := b.send("/v1/chat/completions", []byte(body), "X-Oriel-Session",
			"one"); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, answer)
		}
		b.settle(i + 1)
	}
	st, err := store.Stats(ctx, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	if size := int64(len(schema)); st.Bytes < size || st.Bytes > 2*size {
		t.Errorf("%d calls with a field of %d bytes: contents of %d bytes", calls, size, st.Bytes)
	}
	if st.Stored > st.Bytes/4 {
		t.Errorf("contents of %d bytes take %d", st.Bytes, st.Stored)
	}
	shown := map[string]bool{}
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			if n := len(records[i].Data); n > 4096 {
				t.Errorf("a record of %d bytes", n)
			}
			recorded, err := call.Read(ctx, store, timeline.Local, &records[i])
			if err != nil {
				t.Fatal(err)
			}
			shown[string(recorded.Body)] = true
		}
	}
	for _, body := range sent {
		// White space between fields is the one thing that is not kept.
		if body = strings.NewReplacer(`": `, `":`, " , ", ",").Replace(body); !shown[body] {
			t.Errorf("no call is shown as it was sent: %.200s…", body)
		}
	}
	// All of it goes with the conversations, and size is what prune looks at.
	if gone, err := timeline.Prune(ctx, store, timeline.Local, timeline.Policy{MaxBytes: int64(len(schema)) / 2},
		time.Now()); err != nil || len(gone) == 0 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if st, err = store.Stats(ctx, timeline.Local); err != nil || st.Bytes > int64(len(schema))/2 {
		t.Errorf("after pruning: %+v, %v", st, err)
	}
}

// Records of before large fields were contents have all fields in one object.
func TestCallsOfOlderBuildsAreReadable(t *testing.T) {
	store, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	raw := []byte(`{"role":"user","content":"a"}`)
	got, err := timeline.NewLog(store, timeline.LogOptions{}).Append(ctx, timeline.Local, "old",
		[]timeline.Resent{{Raw: raw, Format: "openai", Role: "user", Time: time.Now()}},
		func(int) timeline.Hash { return timeline.HashOf(raw) }, timeline.Change{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	data := fmt.Appendf(nil,
		`{"v":1,"format":"openai","path":"/v1/chat/completions","model":"m","thread":"new","messages":1,"forms":%q,"rest":{"model":"m","stop":["x"]},"began":"2026-11-01T00:00:00Z","ms":1}`, got.Forms.String())
	recorded, err := call.Read(ctx, store, timeline.Local, &timeline.Record{Kind: "call", Key: "c", At: got.Place(1),
		Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte(`{"model":"m","stop":["x"],"messages":[{"role":"user","content":"a"}]}`); !bytes.Equal(
		recorded.Body, want) {
		t.Errorf("%s", recorded.Body)
	}
}

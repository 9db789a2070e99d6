package quality

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

func body(messages ...string) string {
	return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
}

func said(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func called(id, name, args string) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, id, name,
		args)
}

func returned(id, text string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text)
}

// SPEC D10: a passage is used if the reply has words that only the passage brought.
func TestRecalledPassagesThatAReplyUses(t *testing.T) {
	recalled := "Which port was it?\n\n" + prompt.RecalledTitle +
		"3 May 2026:\nuser> The harbour master wants port 8731\n> and the name Tromsdalen.\nassistant> I wrote the migration of May.\n" + "[Oriel: end of the quoted parts]"
	sent := read(t, body(said("user", "Begin with the harbour."), said("assistant", "Begun."), said("user", recalled)))
	for _, c := range []struct {
		reply string
		used  int
	}{
		{"It was 8731, as Tromsdalen says.", 1},
		{"The harbour master? I do not know.", 0}, // master is one word of several
		{"I wrote what they wanted: the migration of that port.", 1},
		{"8731 for Tromsdalen; I wrote the migration.", 2},
		{"Which harbour was it?", 0},
	} {
		reply, err := wire.ReadMessage(wire.Anthropic, []byte(said("assistant", c.reply)))
		if err != nil {
			t.Fatal(err)
		}
		if m := Look(sent, sent, []chat.Message{reply}, true, nil); m.Passages != 2 || m.Used != c.used {
			t.Errorf("%q uses %d of %d, want %d of 2", c.reply, m.Used, m.Passages, c.used)
		}
	}
	// What was recalled for an earlier call is not counted again.
	later := read(t, body(said("user", recalled), said("assistant", "8731."), said("user", "And then?")))
	if m := Look(later, later, nil, true, nil); m.Passages != 0 {
		t.Errorf("%d passages of an earlier call", m.Passages)
	}
}

// What a cut brought back beside its marker is counted for the call that brought it, and
// not again for the next ones, in which it stands as well.
func TestPassagesBesideAMarkerAreCountedOnce(t *testing.T) {
	recalled := prompt.RecalledTitle +
		"3 May 2026:\nuser> The harbour master wants port 8731.\n[Oriel: end of the quoted parts]"
	first := fmt.Sprintf(
		`{"role":"user","content":[{"type":"text","text":"Begin with the harbour."},{"type":"text","text":%q}]}`,
		recalled)
	known, sent := map[string]bool{}, []string{first, said("assistant", "Begun."), said("user", "Go on.")}
	for i, want := range []int{1, 0} {
		b := read(t, body(sent...))
		if m := Look(b, b, nil, true, known); m.Passages != want {
			t.Errorf("call %d: %d passages, want %d", i, m.Passages, want)
		}
		sent = append(sent, said("assistant", "Done."), said("user", "And then?"))
	}
}

// SPEC D10: repetition and staleness of a window.
func TestRepeatedAndStaleText(t *testing.T) {
	file := strings.Repeat("a line of the file\n", 20)
	other := strings.Repeat("what it says now\n", 20)
	for _, c := range []struct {
		name            string
		messages        []string
		repeated, stale int
	}{
		{"nothing", []string{said("user", "Go."), called("1", "Read", `{"file_path":"a"}`), returned("1", file)}, 0, 0},
		{"the same twice", []string{said("user", "Go."), called("1", "Read", `{"file_path":"a"}`), returned("1", file),
			called("2", "Read", `{"file_path":"a"}`), returned("2", file)}, len(file), len(file)},
		{"short texts", []string{said("user", "Go."), said("assistant", "Done."), said("user", "Go."),
			said("assistant", "Done."), said("user", "Go.")}, 0, 0},
		{"a file that was changed", []string{said("user", "Go."), called("1", "Read", `{"file_path":"a"}`),
			returned("1", file), called("2", "Edit", `{"file_path":"a","old_string":"x"}`), returned("2", "ok")}, 0,
			len(file)},
		{"a change that failed", []string{said("user", "Go."), called("1", "Read", `{"file_path":"a"}`),
			returned("1", file), called("2", "Edit", `{"file_path":"a"}`),
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","is_error":true,"content":"no"}]}`}, 0,
			0},
		{"a command run again", []string{said("user", "Go."), called("1", "bash", `{"command":"ls"}`),
			returned("1", file), called("2", "bash", `{"command":"ls"}`), returned("2", other)}, 0, len(file)},
		{"a file with the name of a command", []string{said("user", "Go."), called("1", "shell", `{"command":["a"]}`),
			returned("1", file), called("2", "read_file", `{"path":"a"}`), returned("2", other)}, 0, 0},
	} {
		all, repeated, stale := fresh(read(t, body(c.messages...)).Messages)
		if repeated != c.repeated || stale != c.stale || all < repeated || all < stale {
			t.Errorf("%s: %d repeated, %d stale of %d, want %d and %d", c.name, repeated, stale, all, c.repeated,
				c.stale)
		}
	}
}

// A history that a proxy recorded: a file is read, leaves the window, and is read again.
func TestReadMeasuresARecordedHistory(t *testing.T) {
	file := strings.Repeat("a line of the file that matters\n", 100)
	reply := make(chan fakemodel.Answer, 1)
	provider := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer { return <-reply }})
	defer provider.Close()
	store := memory.New()
	defer store.Close()
	engine, err := oriel.Open(call.With(t.Context(),
		call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}),
		oriel.Config{Store: store, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	server, err := proxy.New(proxy.Options{Anthropic: provider.URL, Engine: engine, ReplyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(server)
	defer door.Close()
	history, calls := []json.RawMessage{[]byte(said("user", "Mend it."))}, 0
	step := func(a fakemodel.Answer, result string) {
		t.Helper()
		reply <- a
		list, _ := json.Marshal(history)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, door.URL+"/v1/messages",
			strings.NewReader(`{"model":"claude-sonnet-4-5","max_tokens":100,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":`+string(list)+`}`))
		r.Header.Set("X-Oriel-Budget", "3000")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", res.Status, answer)
		}
		got, err := wire.ReadReply(wire.Anthropic, answer)
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, got.Message, []byte(returned(a.Calls[0].ID, result)))
		for calls++; call.Of(engine).Counters().Written.Load() < int64(calls); {
			select {
			case <-time.After(time.Millisecond):
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			}
		}
	}
	call := func(id, path string) fakemodel.Answer {
		return fakemodel.Answer{ID: "msg_" + id, Input: 10,
			Calls: []fakemodel.Call{{ID: id, Name: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, path)}}}
	}
	step(call("r1", "a.go"), file)
	for i := range 8 {
		step(call(fmt.Sprintf("o%d", i), fmt.Sprintf("other%d.go", i)),
			strings.Repeat(fmt.Sprintf("line of other file %d\n", i), 100))
	}
	step(call("r2", "a.go"), file)
	step(call("r3", "b.go"), "nothing")
	r, err := Read(context.Background(), store, timeline.Local, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls != calls || r.Cut == 0 || r.Needed != 1 || r.Missing != 1 || r.Again != 1 || r.Held != 0 ||
		r.Skipped != 0 || r.CameText <= r.Text || r.CameStale != len(file) || r.CameRepeated != len(file) ||
		r.Stale != 0 {
		t.Errorf("%+v", r)
	}
	none, err := Read(context.Background(), store, timeline.Local, Options{Since: time.Now().Add(time.Hour)})
	if err != nil || none.Calls != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	all, err := store.Conversations(t.Context(), timeline.Local)
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	records, err := store.Records(t.Context(), timeline.Local, all[0].Name, "call", "")
	if err != nil {
		t.Fatal(err)
	}
	var sum Measures
	for i := range records {
		m, err := Call(t.Context(), store, timeline.Local, all[0].Name, records[i].Key, Options{})
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		sum.Add(m)
	}
	if sum != r.Measures {
		t.Errorf("one by one %+v, all %+v", sum, r.Measures)
	}
}

// deletion deletes a conversation right after conversations are listed, or after the records
// of it are read.
type deletion struct {
	timeline.Store
	name  string
	later bool
}

func (d deletion) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	all, err := d.Store.Conversations(ctx, tenant)
	if !d.later {
		d.Delete(ctx, tenant, d.name, nil)
	}
	return all, err
}

func (d deletion) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	records, err := d.Store.Records(ctx, tenant, conversation, kind, key)
	d.Delete(ctx, tenant, conversation, nil)
	return records, err
}

// A conversation that is deleted while a report is read fails nothing.
func TestReadPassesOverWhatIsDeletedMeanwhile(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := memory.New()
		defer s.Close()
		raw := []byte(said("user", "Mend it."))
		_, err := s.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "a", Now: time.Now(),
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatAnthropic,
				Role: "user"}},
			Put: []timeline.Record{{Kind: "call", Key: "k",
				Data: []byte(`{"v":1,"began":"2026-11-14T23:30:00Z","model":"claude-opus-4-1","tokens":10}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), deletion{s, "a", later}, timeline.Local, Options{}); err != nil {
			t.Errorf("later %v: %v", later, err)
		}
	}
}

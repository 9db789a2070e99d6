package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/chat"
	recorded "github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
	"github.com/oriel-context/oriel/wire/testdata/toy"
)

// toyTalk is a body of the toy protocol with an agent's steps: a question, and for each step
// a call and its result.
func toyTalk(steps int, stream bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model": "toy-1", "stream": %t, "setting": "You are a toy.", "odd": [1.0, {}],`+"\n"+
		` "turns": [`, stream)
	b.WriteString(`{"by":"person","say":[{"text":"Count the words in every file of the museum's catalogue."}]}`)
	for i := range steps {
		fmt.Fprintf(&b, `, {"by":"machine","say":[{"text":"Next."},{"ask":{"id":"a%d","name":"read","with":{"path":"file%d"}}}]}`, i, i)
		fmt.Fprintf(&b, `, {"by":"tool","say":[{"got":{"id":"a%d","text":"%s"}}]}`, i,
			strings.Repeat(fmt.Sprintf("words of file %d ", i), 40))
	}
	return b.String() + `] }`
}

// A protocol is a folder and a row: with nothing else, its bodies are recognised, read, fitted
// and written back byte for byte, its replies are read, and what is stored of it comes back.
func TestAProtocolIsAFolderAndARow(t *testing.T) {
	f := wire.AddForTest(t, toy.Protocol())
	for _, hole := range holes(f) {
		t.Errorf("the toy protocol has no %s", hole)
	}
	if got, err := wire.ParseFormat("toy"); err != nil || got != f {
		t.Errorf("%v, %v", got, err)
	}
	if got := wire.CallFormat("/toy/talk"); got != f {
		t.Errorf("a call is of %v", got)
	}
	body := []byte(toyTalk(30, false))
	if got, err := wire.Detect(body, wire.Limits{}); err != nil || got != f {
		t.Errorf("a body is of %v, %v", got, err)
	}

	fitted, plan, err := window.Fit(t.Context(), body, window.Options{Budget: 2000, Model: "gpt-4o"})
	if err != nil {
		t.Fatal(err)
	}
	if plan.TokensAfter > 2000 || plan.TokensBefore <= 2000 {
		t.Errorf("%d tokens became %d", plan.TokensBefore, plan.TokensAfter)
	}
	shown, err := wire.Read(fitted, f, wire.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, fitted)
	}
	whole, err := wire.Read(body, f, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cuts := chat.NewCuts(shown.Messages, shown.Rules())
	if len(cuts.Problems) > 0 || len(shown.Messages) == len(whole.Messages) {
		t.Errorf("%d of %d messages: %v", len(shown.Messages), len(whole.Messages), cuts.Problems)
	}
	last := whole.Messages[len(whole.Messages)-1].Raw
	if !bytes.Contains(fitted, last) || !bytes.HasPrefix(fitted, body[:bytes.Index(body, []byte("turns"))]) {
		t.Errorf("what stays is not as it came:\n%s", fitted)
	}
	if !bytes.Contains(fitted, []byte(`{"text":"[`)) {
		t.Errorf("no marker in the form of a text of the protocol:\n%s", fitted)
	}

	reply, err := wire.ReadReply(f,
		[]byte(`{"id":"r1","turn":{"by":"machine","say":[{"text":"Done."}]},"heard":7,"said":2}`))
	if err != nil || !reply.Complete || reply.Usage.Input != 7 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if _, bad := wire.ReadReply(f, []byte(`{"error":"no"}`)); bad != nil {
		t.Error(bad)
	}
	stream := wire.NewStreamReader(f)
	io.Copy(stream, iotest("{\"text\":\"Do\"}\n{\"text\":\"ne.\"}\r\n{\"heard\":7,\"said\":2}"))
	for _, r := range []*wire.Reply{reply, stream.Reply()} {
		msgs, err := r.Messages()
		if err != nil || !r.Complete || len(msgs) != 1 || msgs[0].Parts[0].Text.String() != "Done." ||
			msgs[0].Role != chat.Assistant {
			t.Fatalf("%+v, %+v, %v", r, msgs, err)
		}
		stored := timeline.Message{Format: r.Format.String(), Raw: r.Message}
		if m, err := stored.Chat(); err != nil || m.Parts[0].Text.String() != "Done." {
			t.Errorf("%+v, %v", m, err)
		}
	}

	again, err := wire.Encode(f, &whole.Request)
	if err != nil {
		t.Fatal(err)
	}
	made, err := wire.Read(again, wire.Auto, wire.Limits{})
	if err != nil || made.Format != f || len(made.Messages) != len(whole.Messages) {
		t.Fatalf("%v\n%s", err, again)
	}
	refusal := f.Protocol().Refusal(400, "toy_is_full", "9000 words are too many for 8000")
	if o, ok := wire.ReadOverflow(400, refusal); !ok || o.Limit != 8000 || o.Size != 9000 || !o.Known {
		t.Errorf("%+v %v of %s", o, ok, refusal)
	}
}

// iotest returns a reader that returns few bytes at a time.
func iotest(s string) io.Reader { return &slow{s} }

type slow struct{ rest string }

func (s *slow) Read(p []byte) (int, error) {
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 3)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Calls of a protocol that is only a row go through an engine like others: they are cut,
// recorded with their replies and usage, and come back as they were sent.
func TestCallsOfAnAddedProtocolAreCutAndRecorded(t *testing.T) {
	f := wire.AddForTest(t, toy.Protocol())
	var mu sync.Mutex
	var sent [][]byte
	var calls []oriel.Event
	var bodies []string
	vendor := roundTrip(func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent = append(sent, body)
		mu.Unlock()
		res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
		answer := `{"id":"r1","turn":{"by":"machine","say":[{"text":"Done."}]},"heard":7,"said":2}`
		if bytes.Contains(body, []byte(`"stream": true`)) {
			res.Header.Set("Content-Type", "application/x-ndjson")
			answer = "{\"text\":\"Done.\"}\n{\"heard\":7,\"said\":2}\n"
		}
		res.Body = io.NopCloser(strings.NewReader(answer))
		return res
	})
	store := memory.New()
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: store, NoEmbed: true, Events: func(e oriel.Event) {
		if e.Kind == oriel.EventCall {
			mu.Lock()
			calls = append(calls, e)
			mu.Unlock()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	client := &http.Client{Transport: engine.Transport(vendor)}
	const talks = 12
	for i := range talks {
		bodies = append(bodies, toyTalk(10+2*i, i%2 == 1))
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://toy.example/toy/talk",
			strings.NewReader(bodies[i]))
		r.Header.Set("X-Oriel-Budget", "3000")
		r.Header.Set("X-Oriel-Conversation", "talk")
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := store.Records(t.Context(), timeline.Local, "talk", "call", "")
	if err != nil || len(records) != talks || len(calls) != talks {
		t.Fatalf("%d calls were stored and %d reported: %v", len(records), len(calls), err)
	}
	for i := range records {
		stored, err := recorded.Read(t.Context(), store, timeline.Local, &records[i])
		if err != nil || string(stored.Body) != bodies[i] {
			t.Errorf("call %d comes back as\n%s\n%v", i, stored.Body, err)
		}
	}
	for _, e := range calls {
		if e.Usage == nil || e.Usage.Input != 7 || e.Conversation != "talk" || e.Error != "" {
			t.Errorf("%+v", e)
		}
	}
	for _, body := range sent {
		b, err := wire.Read(body, f, wire.Limits{})
		if err != nil || len(chat.NewCuts(b.Messages, b.Rules()).Problems) > 0 {
			t.Errorf("%v in\n%s", err, body)
		}
	}
	if len(sent[talks-1]) >= len(bodies[talks-1]) {
		t.Error("the longest call was not cut")
	}
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

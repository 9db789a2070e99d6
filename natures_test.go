package oriel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// talk is an engine with a client that sends calls through it, and a model that answers
// all of them.
type talk struct {
	t        *testing.T
	engine   *oriel.Engine
	client   *http.Client
	url      string
	messages map[string][]json.RawMessage // by what the client names its conversation
	sent     []byte                       // the messages that the model got last
}

func newTalk(t *testing.T, dir string) *talk {
	k := &talk{t: t, messages: map[string][]json.RawMessage{}}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.sent, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w,
			`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop",`+
				`"message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`)
	}))
	t.Cleanup(model.Close)
	waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}
	var err error
	k.engine, err = oriel.Open(call.With(t.Context(), call.Inside{Waits: waits}), oriel.Config{Dir: dir, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.engine.Close() })
	k.url = model.URL
	k.client = &http.Client{Transport: k.engine.Transport(&http.Transport{DisableKeepAlives: true})}
	return k
}

// say sends a call of the conversation that the client calls by this name, and returns the
// header of the answer.
func (k *talk) say(name, text string) http.Header {
	k.t.Helper()
	said, _ := json.Marshal(map[string]string{"role": "user", "content": text})
	k.messages[name] = append(k.messages[name], said)
	list, _ := json.Marshal(k.messages[name])
	body := fmt.Sprintf(`{"model":"gpt-4o","messages":%s}`, list)
	res, answer := post(k.t, k.client, k.url+"/v1/chat/completions", body, "X-Oriel-Conversation", name,
		"X-Oriel-Budget", "2000")
	if res.StatusCode != http.StatusOK {
		k.t.Fatalf("%s: %s", res.Status, answer)
	}
	k.messages[name] = append(k.messages[name], json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	return res.Header
}

func (k *talk) conversation(id string) *oriel.Conversation {
	k.t.Helper()
	c, err := k.engine.Conversation(k.t.Context(), id)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// sentMessages returns how many messages the model got last.
func (k *talk) sentMessages() int {
	k.t.Helper()
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(k.sent, &body); err != nil {
		k.t.Fatal(err)
	}
	return len(body.Messages)
}

func question(n int) string {
	return fmt.Sprintf("Question %d is about harbour number %d. %s", n, n, strings.Repeat("The quay is long. ", 15))
}

// Every method works on a conversation of calls, or refuses with what to use instead; none
// keeps a second account of it.
func TestEveryMethodOnAConversationOfCalls(t *testing.T) {
	ctx := t.Context()
	k := newTalk(t, "")
	plan := ""
	for i := range 40 {
		plan = k.say("talk", question(i)).Get("X-Oriel-Plan")
	}
	if plan == "" {
		t.Fatal("nothing was cut")
	}
	c := k.conversation("talk")

	// What it is.
	status, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := k.sentMessages(); status.Items != n || status.History != 80 || status.Tokens > 2000 || status.Tokens == 0 ||
		status.MaxTokens != 2000 {
		t.Errorf("%+v, and %d messages were sent", status, n)
	}
	list, err := c.Items(ctx, 3)
	if err != nil || len(list) != 3 || list[2].ID != 80 || list[1].Content != question(39) ||
		list[1].Source != items.SourceUser {
		t.Errorf("the newest items are %+v, %v", list, err)
	}
	if all, err := c.Items(ctx, 0); err != nil || len(all) != 80 {
		t.Errorf("%d items, %v", len(all), err)
	}
	if it, err := c.Item(ctx, 5); err != nil || it.ID != 5 || it.Content != question(2) {
		t.Errorf("item 5 is %+v, %v", it, err)
	}
	if _, err := c.Item(ctx, 81); !errors.Is(err, oriel.ErrNoItem) {
		t.Errorf("an item that is still to come: %v", err)
	}
	if hits, err := c.Recall(ctx, "What was said about harbour number 7?", oriel.RecallOptions{}); err != nil ||
		len(hits.Passages) == 0 {
		t.Errorf("recall: %+v, %v", hits, err)
	}
	if _, err := c.Directives(ctx); err != nil {
		t.Errorf("directives: %v", err)
	}
	before, err := c.Plans(ctx, 0)
	if err != nil || len(before) == 0 || before[len(before)-1].Undo != "p"+strconv.Itoa(len(before)) {
		t.Fatalf("plans: %v, and the answer named %q", err, plan)
	}
	if named, err := c.WouldUndo(ctx, plan); err != nil || named.Plan != before[len(before)-1].Undo {
		t.Errorf("the answer named %q, which is %+v, %v", plan, named, err)
	}

	// What it refuses.
	refused := map[string]error{"clear": c.Clear(ctx)}
	_, _, refused["add"] = c.Add(ctx, oriel.Item{Source: "user", Content: "An item."})
	_, refused["context"] = c.Context(ctx, "What was said?", oriel.ContextOptions{})
	_, refused["resize"] = c.Resize(ctx, 500)
	for name, err := range refused {
		var known *oriel.Error
		if !errors.Is(err, oriel.ErrOfCalls) || !errors.As(err, &known) || known.Op == "" ||
			known.Conversation != "talk" || !strings.Contains(known.Hint, "Transport") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := c.Plans(ctx, 0); err != nil || len(after) != len(before) {
		t.Errorf("%d plans became %d: %v", len(before), len(after), err)
	}
	if again, err := c.Status(ctx); err != nil || again != status {
		t.Errorf("%+v became %+v: %v", status, again, err)
	}

	// What changes it: a pin and an undo show in the same methods, and in the next call.
	if err := c.Pin(ctx, 3); err != nil {
		t.Fatal(err)
	}
	if it, err := c.Item(ctx, 3); err != nil || !it.Pinned() {
		t.Errorf("a pinned message is %+v, %v", it, err)
	}
	all, err := c.Items(ctx, 0)
	if pinned := slices.IndexFunc(all, func(it oriel.Item) bool { return it.Pinned() }); err != nil || pinned != 2 {
		t.Errorf("of all items, the pinned one has the index %d: %v", pinned, err)
	}
	k.say("talk", question(40))
	if !strings.Contains(string(k.sent), "Question 1 is") {
		t.Error("the pinned message was not sent")
	}
	if err := c.Unpin(ctx, 3); err != nil {
		t.Fatal(err)
	}
	would, err := c.WouldUndo(ctx, before[0].Undo)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Undo(ctx, before[0].Undo); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(ctx); err != nil || s.Held != len(would.Back) || s.Held == 0 {
		t.Errorf("%d messages are held, %d came back: %v", s.Held, len(would.Back), err)
	}
	k.say("talk", question(41))
	if s, err := c.Status(ctx); err != nil || s.Items != k.sentMessages() || s.History != 84 {
		t.Errorf("%+v, and %d messages were sent: %v", s, k.sentMessages(), err)
	}
	if err := c.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(ctx); err != nil || s.Held != 0 {
		t.Errorf("%d messages are held after a release: %v", s.Held, err)
	}

	// After its deletion the name is free for items.
	if err := k.engine.Delete(ctx, "talk"); err != nil {
		t.Fatal(err)
	}
	if id, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "An item."}); err != nil || id != 1 {
		t.Errorf("item %d after the deletion: %v", id, err)
	}
	if other := k.say("talk", question(42)).Get("X-Oriel-Conversation"); other == "talk" {
		t.Error("a call goes on in a conversation of items")
	}
	if err := k.engine.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if id, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "Another item."}); err != nil || id != 2 {
		t.Errorf("item %d after the deletion: %v", id, err)
	}
}

// A call that names a conversation of items has a conversation of its own, whichever was
// opened first, and neither changes the other.
func TestCallsAndItemsOfOneNameStayApart(t *testing.T) {
	ctx := t.Context()
	for _, when := range []string{"at once", "after another call", "after a restart"} {
		dir := t.TempDir()
		k := newTalk(t, dir)
		if when == "after another call" {
			k.say("notes~2", "Another call.")
		}
		c := k.conversation("notes")
		for i := range 30 {
			if _, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: question(i)}); err != nil {
				t.Fatal(err)
			}
		}
		status, err := c.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if when == "after a restart" {
			if err := k.engine.Close(); err != nil {
				t.Fatal(err)
			}
			k = newTalk(t, dir)
			c = k.conversation("notes")
		}
		other := k.say("notes", "A call.").Get("X-Oriel-Conversation")
		if other == "notes" || !strings.HasPrefix(other, "notes~") {
			t.Errorf("%s, a call is in %q", when, other)
		}
		if next := k.say("notes", "Another one.").Get("X-Oriel-Conversation"); next != other {
			t.Errorf("the next call is in %q, the first in %q", next, other)
		}
		if err := k.engine.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if now, err := c.Status(ctx); err != nil || now != status {
			t.Errorf("%+v became %+v: %v", status, now, err)
		}
		if _, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "One more."}); err != nil {
			t.Error(err)
		}
		if all, err := k.conversation(other).Items(ctx, 0); err != nil || len(all) != 4 {
			t.Errorf("%d messages of calls: %v", len(all), err)
		}
	}
}

// The first write decides, also if it is a call that has begun and is not stored yet.
func TestACallThatHasBegunDecides(t *testing.T) {
	ctx := t.Context()
	k := newTalk(t, "")
	begun := call.Of(k.engine).Begin(context.Background(), &call.Request{ID: "one", Path: "/v1/chat/completions",
		Header: http.Header{"X-Oriel-Conversation": {"talk"}},
		Body:   []byte(`{"model":"gpt-4o","messages":[{"role":"user","content":"A question."}]}`)})
	c := k.conversation("talk")
	if all, err := c.Items(ctx, 0); err != nil || len(all) != 0 {
		t.Errorf("%d items, %v", len(all), err)
	}
	if _, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "An item."}); !errors.Is(err, oriel.ErrOfCalls) {
		t.Errorf("an item beside a call: %v", err)
	}
	begun.Response(200, http.Header{"Content-Type": {"application/json"}})
	begun.End(nil)
	if all, err := c.Items(ctx, 0); err != nil || len(all) != 1 || all[0].Content != "A question." {
		t.Errorf("%+v, %v", all, err)
	}
}

// An earlier version wrote items and calls into one conversation. It counts as one of calls.
func TestAConversationFilledFromBothSidesIsOfCalls(t *testing.T) {
	ctx := t.Context()
	store := memory.New()
	var e *oriel.Engine
	open := func() *oriel.Conversation {
		var err error
		if e, err = oriel.Open(ctx, oriel.Config{Store: store, NoEmbed: true}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		c, err := e.Conversation(ctx, "both")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, _, err := open().Add(ctx, oriel.Item{Source: "user", Content: "An item."}); err != nil {
		t.Fatal(err)
	}
	who := timeline.Record{Kind: "thread", Key: "who", Data: []byte(`{}`)}
	if _, err := store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "both", Stay: true, Now: time.Now(),
		Put: []timeline.Record{who}}); err != nil {
		t.Fatal(err)
	}
	c := open()
	if _, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "Another item."}); !errors.Is(err,
		oriel.ErrOfCalls) {
		t.Errorf("add: %v", err)
	}
	if all, err := c.Items(ctx, 0); err != nil || len(all) != 1 || all[0].Content != "An item." {
		t.Errorf("%+v, %v", all, err)
	}
	if s, err := c.Status(ctx); err != nil || s.History != 1 || s.Items != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

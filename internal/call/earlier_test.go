package call_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// earlierHistory stores a conversation that decided something in a project.
func earlierHistory(t *testing.T, store timeline.Store, tenant, name, project, decision string) {
	t.Helper()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	change := timeline.Change{Conversation: name, Project: project, Now: now}
	say := func(role, text string) {
		raw := fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text)
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
			Format: timeline.FormatAnthropic, Role: role, Time: now})
	}
	say("user", "Which retry policy should the uploader of the shop use?")
	say("assistant", decision)
	for i := range 12 {
		say("user", fmt.Sprintf("Rename the helper number %d in the billing report.", i))
		say("assistant", fmt.Sprintf("Renamed helper %d, and all its callers in the billing report.", i))
	}
	if _, err := store.Apply(t.Context(), tenant, change); err != nil {
		t.Fatal(err)
	}
}

const retryDecision = "We decided: the uploader retries five times with exponential backoff and jitter, and never on status 409."

// claudeCall is a request of an agent in a folder.
func claudeCall(folder string, words ...string) string {
	var messages []string
	for i, w := range words {
		messages = append(messages, fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q}]}`,
			[]string{"user", "assistant"}[i%2], w))
	}
	return fmt.Sprintf(`{"model":"claude-opus-4-1","max_tokens":9,"system":"Working directory: %s","messages":[%s]}`,
		folder, strings.Join(messages, ","))
}

const retryAsked = "What did we decide about the retry policy of the uploader?"

// SPEC D10.
func TestTheFirstCallOfAConversationRecallsFromItsProject(t *testing.T) {
	open := func(reach recall.Reach) (store timeline.Store, say func(folder string, words ...string) string) {
		store = memory.New()
		earlierHistory(t, store, timeline.Local, "uploads", "/src/shop", retryDecision)
		earlierHistory(t, store, "stranger", "theirs", "/src/shop",
			"We decided: the uploader of strangers never retries.")
		earlierHistory(t, store, timeline.Local, "elsewhere", "/src/other",
			"We decided: the uploader elsewhere retries twice.")
		client, url, _, got, _ := through(t,
			oriel.Config{Store: store, Calls: call.Options{RecallReach: reach, RecallWait: time.Minute}}, reply)
		return store, func(folder string, words ...string) string {
			t.Helper()
			post(t, client, url+"/v1/messages", claudeCall(folder, words...))
			all := got()
			return all[len(all)-1].body
		}
	}
	_, say := open(recall.ReachProject)
	first := say("/src/shop", retryAsked)
	for _, want := range []string{"exponential backoff", "earlier conversations in this project",
		"2 March 2026, conversation uploads:", `assistant\u003e We decided`} {
		if !strings.Contains(first, want) && !strings.Contains(first, strings.ReplaceAll(want, `\u003e`, ">")) {
			t.Errorf("the first request has no %q: %s", want, first)
		}
	}
	for _, not := range []string{"strangers", "elsewhere"} {
		if strings.Contains(first, not) {
			t.Errorf("the first request has %q: %s", not, first)
		}
	}
	// It stays as it is.
	prefix := first[strings.Index(first, `"messages":[`):strings.LastIndex(first, "]}")]
	if second := say("/src/shop", retryAsked, "Noted.", "And now?"); !strings.Contains(second, prefix) {
		t.Errorf("the second request does not continue the first:\n%s\n%s", first, second)
	}
	if other := say("/src/empty", retryAsked+" Tell me."); strings.Contains(other, "earlier conversations") {
		t.Errorf("a project without history recalls: %s", other)
	}
	if silent := say("/src/shop", "Translate this poem about the sea into Portuguese."); strings.Contains(silent,
		"earlier conversations") {
		t.Errorf("an unrelated opening recalls: %s", silent)
	}

	if _, say = open(""); strings.Contains(say("/src/shop", retryAsked), "backoff") {
		t.Error("without a scope, a first call recalls")
	}

	// What is private or deleted is left out.
	store, say := open(recall.ReachProject)
	if _, err := store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "uploads", Stay: true,
		Now: time.Now(), Put: []timeline.Record{{Kind: timeline.KindPrivate, Key: timeline.PrivateKey}}}); err != nil {
		t.Fatal(err)
	}
	if first := say("/src/shop", retryAsked); strings.Contains(first, "backoff") {
		t.Errorf("a private conversation is recalled: %s", first)
	}
	store, say = open(recall.ReachProject)
	if first := say("/src/shop", retryAsked); !strings.Contains(first, "backoff") {
		t.Fatal(first)
	}
	if _, err := store.Delete(context.Background(), timeline.Local, "uploads", nil); err != nil {
		t.Fatal(err)
	}
	if first := say("/src/shop", retryAsked+" Please."); strings.Contains(first, "backoff") {
		t.Errorf("a deleted conversation is recalled: %s", first)
	}
}

func TestStandingInstructionsHoldInTheProject(t *testing.T) {
	store := memory.New()
	earlierHistory(t, store, timeline.Local, "uploads", "/src/shop", retryDecision)
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	raw := []byte(`{"role":"user","content":"From now on, always run make lint before you commit."}`)
	_, err := store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "rules", Project: "/src/shop",
		Now: now, Messages: []timeline.Message{
			{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatAnthropic, Role: "user", Time: now},
		}})
	if err != nil {
		t.Fatal(err)
	}
	client, url, _, got, _ := through(t,
		oriel.Config{Store: store, Calls: call.Options{RecallReach: recall.ReachProject, RecallWait: time.Minute}},
		reply)
	say := func(folder, words string) string {
		t.Helper()
		post(t, client, url+"/v1/messages", claudeCall(folder, words))
		all := got()
		return all[len(all)-1].body
	}
	const rule, title = "always run make lint before you commit",
		"said by the user in earlier conversations in this project"
	if first := say("/src/shop", "Translate this poem about the sea into Portuguese."); !strings.Contains(first,
		rule) || !strings.Contains(first, title) || strings.Contains(first, "backoff") {
		t.Errorf("the instruction is not offered alone: %s", first)
	}
	if first := say("/src/other", "Translate this poem about the sea into Spanish."); strings.Contains(first, rule) {
		t.Errorf("another project has it: %s", first)
	}
	dismissed := timeline.Record{Kind: timeline.KindDismissed, Key: "1"}
	if _, err := store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "rules", Stay: true, Now: now,
		Put: []timeline.Record{dismissed}}); err != nil {
		t.Fatal(err)
	}
	if first := say("/src/shop", "Translate this poem about the sea into French."); strings.Contains(first, title) {
		t.Errorf("it was dismissed: %s", first)
	}
}

// A request for a title has no tools and names no folder.
func TestRequestsBesideTheWorkRecallNothing(t *testing.T) {
	for _, c := range []struct {
		tools string
		want  bool
	}{{``, false}, {`,"tools":[{"name":"Read","input_schema":{"type":"object"}}]`, true}} {
		store := memory.New()
		earlierHistory(t, store, timeline.Local, "uploads", "/src/shop", retryDecision)
		client, url, _, got, _ := through(t, oriel.Config{Store: store, Project: "/src/shop",
			Calls: call.Options{RecallReach: recall.ReachProject, RecallWait: time.Minute}}, reply)
		post(t, client, url+"/v1/messages",
			fmt.Sprintf(`{"model":"claude-opus-4-1","max_tokens":9%s,"messages":[{"role":"user","content":%q}]}`,
				c.tools, retryAsked))
		if body := got()[0].body; strings.Contains(body, "backoff") != c.want {
			t.Errorf("tools %q: %s", c.tools, body)
		}
	}
}

// In a short history the answer ranks far below its question, which has the words of the one
// that is asked.
func TestAShortHistoryBringsTheAnswerWithItsQuestion(t *testing.T) {
	store := memory.New()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	change := timeline.Change{Conversation: "uploads", Project: "/src/shop", Now: now}
	for i, text := range []string{"Which retry policy should the uploader of the shop use? Decide it, and say why.",
		retryDecision} {
		role := []string{"user", "assistant"}[i]
		raw := fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text)
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw,
			Format: timeline.FormatAnthropic, Role: role, Time: now})
	}
	if _, err := store.Apply(t.Context(), timeline.Local, change); err != nil {
		t.Fatal(err)
	}
	client, url, _, got, _ := through(t,
		oriel.Config{Store: store, Calls: call.Options{RecallReach: recall.ReachProject, RecallWait: time.Minute}},
		reply)
	post(t, client, url+"/v1/messages", claudeCall("/src/shop", retryAsked))
	if first := got()[0].body; !strings.Contains(first, "exponential backoff") {
		t.Errorf("the first request has no answer: %s", first)
	}
}

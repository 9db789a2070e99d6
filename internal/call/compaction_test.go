package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/window"
)

// An agent asks for a summary, which sees all of the history although the profile has cut it.
// Recall reads the history while the summary is written, so that the first question behind it
// finds what the summary has lost.
//
// SPEC E2, D3; PROXY rule 7
func TestAfterACompactionRecallWorksAtOnce(t *testing.T) {
	profiles, err := window.NewProfiles(window.Profile{Name: "small", Budget: 3000})
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, t.TempDir())
	library := recall.NewLibrary(store, recall.LibraryOptions{})
	k := newTalker(start(t, store, replying, func(o *call.TestOptions) {
		o.Recall = library
		o.Profile, o.Profiles = "small", profiles
	}))
	t.Cleanup(func() { library.Close() }) // before the store
	ready := func() {
		t.Helper()
		if err := library.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	said := func(text string) {
		t.Helper()
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text)))
		k.again()
	}
	said("Hello.")
	for n := range 20 {
		k.list = append(k.list,
			json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[
				{"id":"call_%dx1y2z3a","type":"function","function":{"name":"read","arguments":"{}"}}]}`, n)),
			json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%dx1y2z3a","content":%q}`, n, words(n+1))))
	}
	k.more = `,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]`
	said("Thanks.")
	if k.shows(1) {
		t.Fatal("nothing was cut: the test shows nothing")
	}
	said("Your task is to create a detailed summary of the conversation so far, paying close attention to everything.")
	for n := range 20 {
		if !k.shows(n + 1) {
			t.Errorf("the summary is written without thing %d", n+1)
		}
	}
	ready()
	if library.Stats().Scopes == 0 {
		t.Error("recall has not read the history while the summary was written")
	}
	const summary = "This session is being continued from a previous conversation that ran out of context. " +
		"The conversation is summarized below: twenty things were read about harbours, and all of them were in order."
	k.list = []json.RawMessage{
		json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, summary)),
		json.RawMessage(`{"role":"assistant","content":"Yes."}`),
	}
	said("East of which pier does harbour 7 lie?")
	if !bytes.Contains(k.last, []byte("harbour 7 lies east of pier 49")) {
		t.Errorf("the first question has %s", k.last)
	}
	// The context fills up again at once, and the agent puts the question into the message
	// with the summary.
	k.list = []json.RawMessage{json.RawMessage(fmt.Sprintf(
		`{"role":"user","content":[{"type":"text","text":%q},{"type":"text","text":"East of which pier does harbour 9 lie?"}]}`, summary+" Nothing else was done."))}
	k.again()
	if !bytes.Contains(k.last, []byte("harbour 9 lies east of pier")) {
		t.Errorf("the question behind the second summary has %s", k.last)
	}
}

// A client that names no session asks for a summary, under its own system prompt or another
// one, and goes on with that alone. The summary identifies the conversation, so that recall
// finds what it has lost.
//
// SPEC D3; PROXY rule 7
func TestASummaryIsKnownByItsWords(t *testing.T) {
	const (
		prompt  = "You are a careful agent that reads about harbours, one after another, and answers in few words what it was asked."
		sums    = "You are a helpful assistant tasked with summarizing conversations for other models, and you never call any of the tools."
		summary = "<analysis>\nThe user asked about harbours.\n</analysis>\n<summary>\n## Task\nTwenty things were read about harbours, and all of them were in order.\n" +
			"## Next\nThe user will ask about some of the harbours by their numbers.\n</summary>"
	)
	for name, c := range map[string]struct {
		asks, system string
		next         []string // roles and contents
	}{
		"Anthropic's SDK": {"You have been working on the task described above but have not yet completed it. Write a continuation summary that will allow you to resume.",
			prompt, []string{"user", summary}},
		"Continue": {"Please provide a concise summary of our conversation so far, capturing the key context.",
			prompt, []string{"assistant", "[COMPACTED HISTORY]\n" + summary}},
		"Roo Code": {"Summarize the conversation so far, as described in the prompt instructions.",
			sums, []string{"user", "Hello.", "assistant", summary}},
		"without the analysis": {"Please summarize this conversation.",
			sums, []string{"user", "This is what was done:\n" +
				summary[len("<analysis>\nThe user asked about harbours.\n</analysis>\n"):]}},
	} {
		t.Run(name, func(t *testing.T) {
			profiles, err := window.NewProfiles(window.Profile{Name: "small", Budget: 3000})
			if err != nil {
				t.Fatal(err)
			}
			store := openStore(t, t.TempDir())
			library := recall.NewLibrary(store, recall.LibraryOptions{})
			reply := "Noted."
			k := newTalker(start(t, store,
				func(*fakemodel.Request) fakemodel.Answer {
					return fakemodel.Answer{Text: reply, Input: 100,
						Output: 5}
				}, func(o *call.TestOptions) {
					o.Recall = library
					o.Profile, o.Profiles = "small", profiles
				}))
			k.header = nil
			t.Cleanup(func() { library.Close() }) // before the store
			message := func(role, text string) json.RawMessage {
				return json.RawMessage(fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
			}
			k.list = append(k.list, message("system", prompt), message("user", "Hello."))
			k.again()
			for n := range 20 {
				k.list = append(k.list,
					json.RawMessage(
						fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"id":"c%d","type":"function","function":{"name":"read","arguments":"{}"}}]}`, n)),
					json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, n, words(n+1))))
			}
			k.list = append(k.list, message("user", "Thanks."))
			k.again()
			k.list[0] = message("system", c.system)
			k.list = append(k.list, message("user", c.asks))
			reply = summary
			k.again()
			for n := range 20 {
				if !k.shows(n + 1) {
					t.Errorf("the summary is written without thing %d", n+1)
				}
			}
			if err := library.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			k.list = []json.RawMessage{message("system", prompt)}
			for i := 0; i < len(c.next); i += 2 {
				k.list = append(k.list, message(c.next[i], c.next[i+1]))
			}
			k.list = append(k.list, message("user", "East of which pier does harbour 7 lie?"))
			k.again()
			if calls := k.told(oriel.EventCall); calls[len(calls)-1].Thread != "compacted" {
				t.Errorf("the first call behind the summary is %s", calls[len(calls)-1].Thread)
			}
			if !bytes.Contains(k.last, []byte("harbour 7 lies east of pier 49")) {
				t.Errorf("the first question has %s", k.last)
			}
		})
	}
}

// A client asks Anthropic for the summary of its history with a field of the request, and goes
// on with the block that it got. The summary sees all of the history, and recall finds at once
// what it has lost.
//
// SPEC E2, D3; PROXY rule 7
func TestACompactionOnDemandSeesAllAndIsContinued(t *testing.T) {
	profiles, err := window.NewProfiles(window.Profile{Name: "small", Budget: 3000})
	if err != nil {
		t.Fatal(err)
	}
	const summary = "Twenty things were read about harbours, one after another, and all of them were in order.\n" +
		"The user will ask about some of the harbours by their numbers next."
	store := openStore(t, t.TempDir())
	library := recall.NewLibrary(store, recall.LibraryOptions{})
	k := newTalker(start(t, store, func(r *fakemodel.Request) fakemodel.Answer {
		if r.Body.Compacts {
			return fakemodel.Answer{Compaction: summary, Input: 100, Output: 5}
		}
		return fakemodel.Answer{Text: "Noted.", Input: 100, Output: 5}
	}, func(o *call.TestOptions) {
		o.Recall = library
		o.Profile, o.Profiles = "small", profiles
	}))
	k.claude, k.header = true, nil
	t.Cleanup(func() { library.Close() }) // before the store
	k.list = append(k.list, json.RawMessage(`{"role":"user","content":"Read about the harbours."}`))
	first := k.again().Header.Get("X-Oriel-Conversation")
	for n := range 20 {
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":[
			{"type":"tool_use","id":"toolu_%dx1y2z3a","name":"read","input":{}}]}`, n)),
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"toolu_%dx1y2z3a","content":%q}]}`, n, words(n+1))))
	}
	k.list = append(k.list, json.RawMessage(`{"role":"user","content":"Thanks."}`))
	const tools = `,"tools":[{"name":"read","input_schema":{"type":"object"}}]`
	k.more = tools
	k.again()
	if k.shows(1) {
		t.Fatal("nothing was cut: the test shows nothing")
	}
	k.list = append(k.list, json.RawMessage(`{"role":"user","content":"Bye."}`))
	k.more = tools + `,"compaction":{"type":"summarize"}`
	k.again()
	for n := range 20 {
		if !k.shows(n + 1) {
			t.Errorf("the summary is written without thing %d", n+1)
		}
	}
	if err := library.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	k.more = tools
	k.list = append(k.list[len(k.list)-1:], json.RawMessage(
		`{"role":"user","content":"East of which pier does harbour 7 lie?"}`))
	if now := k.again().Header.Get("X-Oriel-Conversation"); now == first || now == "" {
		t.Errorf("what goes on behind the summary is conversation %q, before it was %q", now, first)
	}
	if !bytes.Contains(k.last, []byte("harbour 7 lies east of pier 49")) {
		t.Errorf("the first question has %s", k.last)
	}
	if !bytes.Contains(k.last, []byte(`"messages":[{"role":"assistant","content":[{"content":"Twenty things`)) {
		t.Errorf("the block does not lead the messages: %s", k.last)
	}
}

package oriel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/oriel-context/oriel"
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
	k := newTalker(start(t, store, replying, func(o *oriel.CallsOptions) {
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
		json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, summary)), json.RawMessage(`{"role":"assistant","content":"Yes."}`),
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

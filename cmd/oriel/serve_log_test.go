package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/token"
)

// One line of the log has what was done to a call, its sizes and its cost.
func TestTheLineOfARecordedCall(t *testing.T) {
	for want, e := range map[string]oriel.Event{
		"id=A model=gpt-4o action=mask+recall before=9000 after=4000 plan=p3 output=10 cost=$0.01": {
			Kind: oriel.EventCall, Call: "A", Model: "gpt-4o", Action: "mask+recall", TokensBefore: 9000, TokensAfter: 4000, Plan: "p3", Usage: &oriel.Usage{Input: 4000, Output: 10}},
		"id=B model=house action=none before=7 after=7 output=1 cost=unknown": {
			Kind: oriel.EventCall, Call: "B", Model: "house", TokensBefore: 7, TokensAfter: 7, Usage: &oriel.Usage{Input: 7, Output: 1}},
		`id=C model=gpt-4o action=none before=7 after=7 error="it broke off"`: {
			Kind: oriel.EventCall, Call: "C", Model: "gpt-4o", Action: "none", TokensBefore: 7, TokensAfter: 7, Error: "it broke\x1b off"},
		"": {Kind: oriel.EventCut, Call: "D"},
	} {
		var b bytes.Buffer
		logRecorded(slog.New(slog.NewTextHandler(&b, nil)), token.Builtin())(e)
		_, got, _ := strings.Cut(strings.TrimSpace(b.String()), "msg=recorded ")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

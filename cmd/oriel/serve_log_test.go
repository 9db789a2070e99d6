package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/token"
)

// One line of the log has what was done to a call, its sizes and its cost.
func TestTheLineOfARecordedCall(t *testing.T) {
	for want, e := range map[string]oriel.Event{
		"id=A model=gpt-4o action=mask+recall before=9000 after=4000 plan=p3 output=10 cost=$0.01": {
			Kind: oriel.EventCall, Call: "A", Model: "gpt-4o", Action: "mask+recall", TokensBefore: 9000,
			TokensAfter: 4000, Plan: "p3", Usage: &event.Usage{Input: 4000, Output: 10}},
		"id=B model=house action=none before=7 after=7 output=1 cost=unknown": {
			Kind: oriel.EventCall, Call: "B", Model: "house", TokensBefore: 7, TokensAfter: 7,
			Usage: &event.Usage{Input: 7, Output: 1}},
		`id=C model=gpt-4o action=none before=7 after=7 error="it broke off"`: {
			Kind: oriel.EventCall, Call: "C", Model: "gpt-4o", Action: "none", TokensBefore: 7, TokensAfter: 7,
			Error: "it broke\x1b off"},
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

// On a terminal a call has one short line, with -q none; what goes wrong is always logged.
func TestTheLogOnATerminalIsShort(t *testing.T) {
	at := time.Date(2026, 11, 18, 12, 41, 7, 0, time.Local)
	cut := oriel.Event{Kind: oriel.EventCall, Time: at, Call: "A", Model: "gpt-4o", TokensBefore: 130_000,
		TokensAfter: 48_000, MS: 900, Plan: "p3", Usage: &event.Usage{Input: 4000, Output: 10}}
	for _, c := range []struct {
		terminal, quiet bool
		event           oriel.Event
		want            string
	}{
		{true, false, cut, "12:41:07  gpt-4o            130k → 48.0k tokens  900ms  $0.01  p3\n"},
		{true, false, oriel.Event{Kind: oriel.EventCall, Time: at, Model: "house", TokensBefore: 7, TokensAfter: 7,
			MS: 1500, Error: "it broke\x1b off"}, "12:41:07  house             7 tokens  1.5s  it broke off\n"},
		{true, false, oriel.Event{Kind: oriel.EventCall, Time: at, Model: "house", TokensBefore: 7, TokensAfter: 7,
			MS:    15,
			Error: "status 429: rate_limit_error: Number of request tokens has exceeded your limit"},
			"12:41:07  house             7 tokens  15ms  status 429: rate_limit_error: Numbe…\n"},
		{true, false, oriel.Event{Kind: oriel.EventCut, Time: at}, ""},
		{true, true, cut, ""},
		{false, true, cut, ""},
	} {
		var b bytes.Buffer
		log := callLog{out: &b, terminal: c.terminal, quiet: c.quiet, models: token.Builtin()}
		log.recorded()(c.event)
		log.log().Info("call", "id", "A")
		if b.String() != c.want {
			t.Errorf("%+v: got %q, want %q", c, b.String(), c.want)
		}
		b.Reset()
		if log.log().Warn("call", "status", 502); !strings.Contains(b.String(), "status=502") {
			t.Errorf("%+v: what goes wrong is not logged: %q", c, b.String())
		}
	}
	var b bytes.Buffer
	log := callLog{out: &b, models: token.Builtin()}
	log.log().Info("call", "id", "A")
	if log.recorded()(cut); strings.Count(b.String(), "\n") != 2 {
		t.Errorf("a program is told %q", b.String())
	}
}

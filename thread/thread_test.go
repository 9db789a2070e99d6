package thread

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

func TestHints(t *testing.T) {
	const id = "0b5c1c8e-1111-2222-3333-444455556666"
	for name, c := range map[string]struct {
		header string
		body   wire.Hints
		want   Hints
	}{
		"nothing":              {},
		"named by its header":  {"mine", wire.Hints{CacheKey: "k", User: "ann"}, Hints{"mine", "ann"}},
		"Claude Code":          {"", wire.Hints{UserID: `{"device_id":"d","session_id":"` + id + `"}`}, Hints{id, ""}},
		"earlier Claude Code":  {"", wire.Hints{UserID: "user_abc_account__session_" + id}, Hints{id, ""}},
		"a user of Anthropic":  {"", wire.Hints{UserID: "ann"}, Hints{"", "ann"}},
		"Codex":                {"", wire.Hints{CacheKey: id}, Hints{id, ""}},
		"OpenAI conversation":  {"", wire.Hints{Conversation: "conv_1", CacheKey: "k"}, Hints{"conv_1", ""}},
		"no name to type":      {"two words", wire.Hints{CacheKey: strings.Repeat("x", 201)}, Hints{}},
		"not the JSON we know": {"", wire.Hints{UserID: `{"session":1`}, Hints{"", `{"session":1`}},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set(HeaderConversation, c.header)
		}
		if got := HintsOf(h, c.body); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	ann, bob, session := Hints{User: "x"}, Hints{User: "y"}, Hints{Session: "x"}
	if ann.space() == bob.space() || ann.space() == session.space() || ann.space() == (space{}) {
		t.Error("two namespaces are one")
	}
}

func TestLanes(t *testing.T) {
	lane := func(texts ...string) Lane {
		var parts []chat.Part
		for _, text := range texts {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: chat.Quote(text)})
		}
		return LaneOf(parts)
	}
	agent := "You are a coding agent. " + strings.Repeat("Read files before you change them, run the tests afterwards, and say what you did. ", 3) + prompt("main", time.Time{})
	title := "Write a title of at most seven words for the conversation that follows. " + prompt("title", time.Time{})
	for name, c := range map[string]struct {
		a, b Lane
		want bool
	}{
		"the same":                    {lane(agent), lane(agent), false},
		"a nonce and a date":          {lane("cch=1", agent), lane("cch=2 it is Monday", agent), false},
		"more rules":                  {lane(agent), lane(agent, "Never touch the folder vendor, and ask before you delete anything at all."), false},
		"another agent":               {lane(agent), lane(title), true},
		"none at all":                 {lane(), lane(), false},
		"none, and a long one":        {lane(), lane(agent), true},
		"too short to tell":           {lane("You are helpful."), lane("Be brief."), false},
		"none, and one that is short": {lane(), lane("Be brief."), false},
	} {
		if got := c.a.Differs(&c.b); got != c.want || c.b.Differs(&c.a) != got {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is remembered is bounded, and what was forgotten is read again.
func TestTheBookIsBounded(t *testing.T) {
	s := newPlay(t)
	s.book = NewBook(s.store, Options{Messages: 200})
	for k := range 40 {
		name := fmt.Sprintf("session-%d", k)
		s.do(fmt.Sprintf("call A session=%s : u%d", name, k))
		s.do(fmt.Sprintf("reply A a%d", k))
		s.do(fmt.Sprintf("call B session=%s : u%d a%d u2", name, k, k))
		s.do("reply B a2")
		if s.book.size > 200 {
			t.Fatalf("%d messages are remembered", s.book.size)
		}
	}
	if n := len(s.book.tenants[timeline.Local].talks); n == 40 || n == 0 {
		t.Errorf("%d conversations are remembered", n)
	}
	for k := range 40 {
		if got, want := s.do(fmt.Sprintf("call C session=session-%d : u%d a%d u2 a2 u3", k, k, k)), "continued, 4 of 5 known"; !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		s.do("fail C")
	}
	s.book.Forget(timeline.Local, "session-1")
	if s.book.tenants[timeline.Local].talks["session-1"] != nil {
		t.Error("a forgotten conversation is remembered")
	}
}

func TestARequestWithoutMessages(t *testing.T) {
	if _, err := NewBook(memory.New(), Options{}).Find(ctx, &Request{Tenant: timeline.Local}); err == nil {
		t.Error("no error")
	}
}

package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/wire"
)

func TestLimits(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	l := new(Limits)
	within := func(window, want int) {
		t.Helper()
		if got := l.within("m", window, 100_000, 0, now); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	within(200_000, 100_000)
	l.Learn("m", 200_000, 50_000, now)
	within(200_000, 50_000)
	within(1_000_000, 100_000) // asked with another window
	l.Learn("m", 200_000, 60_000, now)
	within(200_000, 50_000)
	if l.Took("m", 200_000, 49_000) || !l.Took("m", 200_000, 70_000) || l.Took("m", 1_000_000, 70_000) {
		t.Error("what was taken")
	}
	within(200_000, 70_000)
	now = now.Add(limitAge)
	within(200_000, 100_000)
	l.Learn("m", 200_000, 80_000, now) // more than what was forgotten
	within(200_000, 80_000)
	l.Learn("m", 200_000, -1, now)
	l.LearnBinding("m")

	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	l = new(Limits)
	if err := json.Unmarshal(data, l); err != nil || !l.binds("m") || l.binds("n") {
		t.Errorf("%s, %v", data, err)
	}
	within(200_000, 80_000)
	for i := range 2 * maxLimits {
		l.Learn(fmt.Sprint(i), 200_000, 1000, now.Add(time.Duration(i)))
		l.LearnBinding(fmt.Sprint(i))
	}
	if len(l.known) > maxLimits || len(l.bound) > maxLimits || l.within("0", 200_000, 2000, 0, now) != 2000 || l.within("511", 200_000, 2000, 0, now) != 1000 {
		t.Errorf("%d limits, %d that bind", len(l.known), len(l.bound))
	}
}

// A system prompt that is larger than what the profile allows is no reason to send the
// whole history, wherever it stands.
func TestLongSystemPrompts(t *testing.T) {
	long := func(n int, word string) string { return strings.Repeat(word+" ", n) }
	for _, c := range []struct {
		profile string
		system  int // words
		size    int
	}{{"thrifty", 70_000, 0}, {"chat", 12_000, 8000}} {
		for format, body := range map[wire.Format]string{
			wire.Chat:      `{"model":"gpt-4.1","messages":[{"role":"system","content":%q},%s]}`,
			wire.Responses: `{"model":"gpt-4.1","instructions":%q,"input":[%s]}`,
			wire.Anthropic: `{"model":"claude-sonnet-4-5","max_tokens":1000,"system":%q,"messages":[%s]}`,
		} {
			var list []string
			for i := range 30 {
				list = append(list, fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"yes"}`, fmt.Sprint(i)+long(1500, " harbour")))
			}
			list = append(list, `{"role":"user","content":"and now?"}`)
			s := newStage(t, Options{})
			a := ask{format: format, Input: Input{Profile: c.profile, Size: c.size}}
			r := s.find(fmt.Appendf(nil, body, long(c.system, "be"), strings.Join(list, ",")), a)
			if err := s.show(r, a); err != nil || r.After > r.Budget || !r.New || r.Before < r.After+20_000 || r.After < c.system {
				t.Errorf("%s, %v: %+v, %v", c.profile, format, r.Result, err)
			}
		}
	}
}

// A figure that the reply counts for leaves less for the prompt of who asks for more.
func TestLimitsWithTheReply(t *testing.T) {
	l, now := new(Limits), time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	l.LearnReply("m", 128_000)
	l.Learn("m", 128_000, 16_000, now)
	if got := l.within("m", 128_000, 100_000, 4000, now); got != 16_000 {
		t.Error(got)
	}
	l.LearnReply("m", 128_000)
	for reply, want := range map[int]int{0: 16_000, 4000: 12_000, 15_000: 4000} {
		if got := l.within("m", 128_000, 100_000, reply, now); got != want {
			t.Errorf("beside a reply of %d: %d", reply, got)
		}
	}
}

// Beside a system prompt that takes most of the budget a cut, free or not, leaves some of
// the history.
func TestALongSystemPromptLeavesRoomForTheHistory(t *testing.T) {
	s := newStage(t, Options{})
	long := bytes.Replace(talk(60, "go on"), []byte(`"messages"`), []byte(`"system":"`+strings.Repeat("rule ", 35_000)+`","messages"`), 1)
	for _, cold := range []bool{false, true} {
		a := ask{format: wire.Anthropic, Input: Input{Profile: "thrifty", Cold: cold}}
		c := s.find(long, a)
		if err := s.show(c, a); err != nil {
			t.Fatal(err)
		}
		if n := len(messagesOf(t, wire.Anthropic, c.Body)); n < 10 {
			t.Errorf("cold %v: %d messages of %d tokens are left", cold, n, c.After)
		}
	}
}

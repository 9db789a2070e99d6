package token

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// learnTwice has two conversations find the same limit.
func learnTwice(l *Limits, a Asked, tokens int, now time.Time) {
	for _, a.Conversation = range []string{"one", "two"} {
		l.Learn(a, tokens, false, now)
	}
}

func TestLimits(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	l := new(Limits)
	m := func(window int) Asked { return Asked{"ann", "three", "m", window} }
	within := func(window, want int) {
		t.Helper()
		if got := l.Within(m(window), 100_000, 0, now); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	within(200_000, 100_000)
	learnTwice(l, m(200_000), 50_000, now)
	within(200_000, 50_000)
	within(1_000_000, 100_000) // asked with another window
	if got := l.Within(Asked{"ben", "three", "m", 200_000}, 100_000, 0, now); got != 100_000 {
		t.Errorf("another tenant: %d", got)
	}
	learnTwice(l, m(200_000), 60_000, now)
	within(200_000, 50_000)
	if l.Took(m(200_000), 49_000) || !l.Took(m(200_000), 70_000) || l.Took(m(1_000_000), 70_000) {
		t.Error("what was taken")
	}
	within(200_000, 70_000)
	now = now.Add(LimitAge)
	within(200_000, 100_000)
	learnTwice(l, m(200_000), 80_000, now) // more than what was forgotten
	within(200_000, 80_000)
	l.Learn(m(200_000), -1, false, now)
	l.LearnBinding(Asked{Tenant: "ann", Conversation: "one", Model: "m"})

	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	l = new(Limits)
	if err := json.Unmarshal(data, l); err != nil || !l.Binds(Asked{Tenant: "ann", Conversation: "one", Model: "m"}) ||
		l.Binds(m(0)) {
		t.Errorf("%s, %v", data, err)
	}
	l.LearnBinding(Asked{Tenant: "ann", Conversation: "two", Model: "m"})
	if !l.Binds(m(0)) || l.Binds(Asked{Tenant: "ben", Model: "m"}) {
		t.Error("binding")
	}
	within(200_000, 80_000)
	for i := range 2 * maxLimits {
		learnTwice(l, Asked{"ben", "", fmt.Sprint(i), 200_000}, 1000, now.Add(time.Duration(i)))
		l.LearnBinding(Asked{Tenant: "ben", Model: fmt.Sprint(i)})
	}
	if len(l.known) > maxLimits+1 || len(l.bound) > maxLimits ||
		l.Within(Asked{"ben", "", "0", 200_000}, 2000, 0, now) != 2000 ||
		l.Within(Asked{"ben", "", "511", 200_000}, 2000, 0, now) != 1000 {
		t.Errorf("%d limits, %d that bind", len(l.known), len(l.bound))
	}
	within(200_000, 80_000) // one tenant's names push out nothing of another's
}

// One refusal holds for its conversation, a second one that agrees for all.
func TestLimitsAreConfirmed(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	l := new(Limits)
	in := func(conversation string) Asked { return Asked{"ann", conversation, "m", 200_000} }
	check := func(what string, one, two, other int) {
		t.Helper()
		if a, b, c := l.Within(in("one"), 100_000, 0, now), l.Within(in("two"), 100_000, 0, now),
			l.Within(in("other"), 100_000, 0, now); a != one || b != two || c != other {
			t.Errorf("%s: %d, %d, %d, want %d, %d, %d", what, a, b, c, one, two, other)
		}
	}
	l.Learn(in("one"), 8000, false, now)
	l.Learn(in("one"), 7900, false, now)
	check("one conversation alone", 7900, 100_000, 100_000)
	l.Learn(in("two"), 40_000, false, now)
	check("another figure", 100_000, 40_000, 100_000)
	l.Learn(in("one"), 41_000, false, now)
	check("confirmed", 40_000, 40_000, 40_000)
	l.Learn(in("one"), 9000, false, now)
	check("a smaller one", 9000, 40_000, 40_000)
	if !l.Took(in("other"), 20_000) {
		t.Error("taken")
	}
	check("more was taken", 40_000, 40_000, 40_000)
	if all := l.All(now); len(all) != 1 || all[0].Tokens != 40_000 || all[0].Model != "m" || all[0].Window != 200_000 ||
		all[0].Tenant != "ann" || all[0].Conversation != "" {
		t.Errorf("%+v", all)
	}
}

// A figure that the reply counts for leaves less for the prompt of who asks for more.
func TestLimitsWithTheReply(t *testing.T) {
	l, now := new(Limits), time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	m := Asked{"ann", "one", "m", 128_000}
	l.Learn(m, 16_000, false, now)
	if got := l.Within(m, 100_000, 4000, now); got != 16_000 {
		t.Error(got)
	}
	m.Conversation = "two"
	l.Learn(m, 16_000, true, now)
	for reply, want := range map[int]int{0: 16_000, 4000: 12_000, 15_000: 4000} {
		if got := l.Within(m, 100_000, reply, now); got != want {
			t.Errorf("beside a reply of %d: %d", reply, got)
		}
	}
}

package report_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

var (
	ctx  = context.Background()
	noon = time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)
)

// storeOf returns a store with conversations of one message each, the last one the newest.
// All of them were stored at noon.
func storeOf(t rapid.TB, names ...string) timeline.Store {
	t.Helper()
	s := memory.New()
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() { s.Close() })
	}
	for i, name := range names {
		raw := []byte("message of " + name)
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Now: noon,
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatItem,
				Role: "user", Time: noon.AddDate(0, 0, i-len(names))}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestFindKnowsWhatPeopleMean(t *testing.T) {
	s := storeOf(t, "e4599950-b028", "e4f00000-0000", "1284c080-f9cd", "2", "sub", "sub/agent-1", "sub/agent-2", "-x",
		"6113e919")
	for name, want := range map[string]string{
		"e4599950-b028": "e4599950-b028",
		"e45":           "e4599950-b028",
		"12":            "1284c080-f9cd", // there is no twelfth
		"1":             "6113e919",      // the newest
		"2":             "2",             // a name goes before a row
		"3":             "sub/agent-2",
		"last":          "6113e919",
		"-":             "6113e919",
		"su":            "sub", // sub-agents of one conversation
		"sub/agent-2":   "sub/agent-2",
		"su/agent-2":    "sub/agent-2",
		"6113":          "6113e919", // too long for a row
	} {
		c, err := report.Find(ctx, s, timeline.Local, name)
		if c.Name != want || err != nil {
			t.Errorf("%q means %q, want %q: %v", name, c.Name, want, err)
		}
	}
	for name, want := range map[string]string{
		"e4":    `"e4" is the beginning of "e4599950-b028" and "e4f00000-0000": give more of it`,
		"sub/":  `"sub/" is the beginning of "sub/agent-1" and "sub/agent-2": give more of it`,
		"61119": `no conversation is called "61119": oriel conversations lists them`,
		"-y":    `no conversation is called "-y": did you mean "-x"?`,
		"":      ``,
		"77":    ``,
		"\x1b[": `no conversation is called "\x1b[": oriel conversations lists them`,
	} {
		_, err := report.Find(ctx, s, timeline.Local, name)
		if !errors.Is(err, timeline.ErrNoConversation) || want != "" && err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

func TestFindKnowsSubAgentsByBeginnings(t *testing.T) {
	s := storeOf(t, "e4599950-b028", "e4599950-b028/agent-1", "e4599950-b028/agent-10", "e4599950-b028/agent-a1b2",
		"e4599950-b028~2", "1284c080-f9cd/agent-a1b2")
	for name, want := range map[string]string{
		"e4/agent-1":          "e4599950-b028/agent-1", // the whole of what follows goes before its beginning
		"e4/agent-10":         "e4599950-b028/agent-10",
		"e4/agent-a":          "e4599950-b028/agent-a1b2",
		"12/agent-a":          "1284c080-f9cd/agent-a1b2",
		"e4599950-b028/agent": "", // which one?
		"e4/b":                "",
		"e4~2":                "e4599950-b028~2",
	} {
		if c, err := report.Find(ctx, s, timeline.Local, name); c.Name != want || (err == nil) != (want != "") {
			t.Errorf("%q means %q, want %q: %v", name, c.Name, want, err)
		}
	}
}

func TestFindPassesOnWhatTheStoreFailsWith(t *testing.T) {
	s := storeOf(t, "a")
	s.Close()
	if _, err := report.Find(ctx, s, timeline.Local, "a"); !errors.Is(err, timeline.ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

func TestShortNamesAreFound(t *testing.T) {
	names := []string{"e4599950-b028", "e4599950-c000", "1284c080-f9cd", "c1", "c12", "grüße-aus-köln",
		"grüße-aus-koblenz", "sub", "sub/agent-1", "12345678-a", "a b",
		"028d4430-6983", "028d4430-6983~2", "028d4430-6983~12", "777d4430-6983~2", "777d4430-6983~3", "999d4430~2",
		"999d4430-1~2", "~2", "odd~",
		"555d4430-6983", "555d4430-6983/agent-1", "555d4430-6983/agent-2", "666d4430-6983/agent-1", "888d4430-6983",
		"888d4430-6983/agent-a1b2c3d4", "888d4430-6983/agent-a1ffffff", "team/project/first", "team/project/second"}
	s := storeOf(t, names...)
	short := report.Short(names)
	for _, name := range names {
		if c, err := report.Find(ctx, s, timeline.Local, short[name]); c.Name != name || err != nil {
			t.Errorf("%q is short for %q, but means %q: %v", short[name], name, c.Name, err)
		}
	}
	for name, want := range map[string]string{"1284c080-f9cd": "1284c080", "028d4430-6983": "028d4430",
		"028d4430-6983~12": "028d4430~12", "777d4430-6983~3": "777d4430~3",
		"555d4430-6983": "555d4430", "555d4430-6983/agent-2": "555d4430/agent-2", "666d4430-6983/agent-1": "666d4430",
		"team/project/first":           "team/project/f",
		"888d4430-6983/agent-a1ffffff": "888d4430/agent-a1f"} {
		if short[name] != want {
			t.Errorf("%q is short for %q, want %q", short[name], name, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{1,3}(aaaaaaa)?[ab/~]{0,2}(/[ab]{1,2})?(~[12])?`), 1,
			12, rapid.ID[string]).Draw(t, "names")
		s := storeOf(t, names...)
		for name, short := range report.Short(names) {
			if c, err := report.Find(ctx, s, timeline.Local, short); c.Name != name || err != nil {
				t.Fatalf("%q is short for %q, but means %q: %v", short, name, c.Name, err)
			}
		}
	})
}

func TestConversationsAreListedByTheirLastMessage(t *testing.T) {
	s := storeOf(t, "c", "a", "b")
	list, err := report.Conversations(ctx, s, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, c := range list {
		got = append(got, c.Name)
		if c.Row != i+1 || !c.Said.Equal(noon.AddDate(0, 0, -1-i)) {
			t.Errorf("row %d of %s, said %v", c.Row, c.Name, c.Said)
		}
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlanOfKnowsWhatPeopleMean(t *testing.T) {
	ids := []string{"p2", "p3", "p12"}
	for name, want := range map[string]int{"": 2, "last": 2, "-": 2, "p2": 0, "p12": 2, "p1": -1, "p": -1, "2": -1} {
		got, err := report.PlanOf(ids, name)
		if want < 0 && err == nil || want >= 0 && (got != want || err != nil) {
			t.Errorf("%q: %d, %v, want %d", name, got, err, want)
		}
	}
	if _, err := report.PlanOf(nil, ""); err == nil {
		t.Error("there is a plan where there is none")
	}
}

package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// talksCalled returns a history with conversations of these names, of one message each.
func talksCalled(t rapid.TB, names []string) tenantStore {
	t.Helper()
	s := memory.New()
	now := time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)
	for _, name := range names {
		raw := []byte(`{"role":"user","content":"Why is ` + name + ` so slow, and what can be done about it?"}`)
		_, err := s.Apply(context.Background(), timeline.Local, timeline.Change{Conversation: name, Now: now,
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: timeline.FormatAnthropic,
				Role: "user", Time: now}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tenantStore{s, timeline.Local}
}

// Whatever a screen shows as the id of a conversation is accepted by commands, on any
// terminal and without one.
func TestShownIDsAreAccepted(t *testing.T) {
	ctx := context.Background()
	sessions := rapid.StringMatching(`[ab]{1,2}|[ab]{2}c35cf8-0486-4d17-94d7-7fa36376fa[ab]{2}`)
	parts := rapid.StringMatching(`(/(agent-)?[ab][0-9a-f]{0,15}|-[ab]{1,40})?(~[12])?`)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return sessions.Draw(t,
				"session") + parts.Draw(t, "part")
		}), 1, 12, rapid.ID[string]).Draw(t, "names")
		width := rapid.IntRange(40, 200).Draw(t, "width")
		s, short := talksCalled(t, names), shortIDs(report.Short(names))
		accepted := func(screen, shown, name string) {
			t.Helper()
			if c, err := findConversation(ctx, s, shown); err != nil || c.Name != name {
				t.Fatalf("%s shows %q for %q, which means %q: %v", screen, shown, name, c.Name, err)
			}
		}
		for _, sc := range []struct {
			short shortIDs
			width int
		}{{short, width}, {nil, 0}} {
			var list []report.Conversation
			got := &usage.Report{By: usage.Conversation, Total: usage.Row{Key: "total", Calls: 1}}
			for i, name := range names {
				list = append(list, report.Conversation{ID: name, Row: i + 1})
				got.Rows = append(got.Rows, usage.Row{Key: name, Calls: 1, Input: 1_234_567, Cost: 12.34,
					Without: 23.45})
			}
			usage, err := nameConversations(ctx, s, got, sc.short)
			if err != nil {
				t.Fatal(err)
			}
			listed := strings.Split(string(drawList(list, 0, sc.short, sc.width)), "\n")[1:]
			used := strings.Split(string(usage.draw(term.Style{}, max(sc.width, 60))), "\n")[1:]
			for i, name := range names {
				accepted("conversations", strings.Fields(listed[i])[1], name)
				accepted("usage", strings.Fields(used[i])[0], name)

				window := string(drawContext(&composition.Window{}, sc.short.of(name), term.Style{}, max(sc.width, 80)))
				accepted("context", strings.Fields(window)[0], name)

				d := hitDrawing{screen: term.Screen{Width: sc.width}, short: sc.short,
					titles: map[string]string{name: "A title of a conversation that is long"}}
				text := strings.Repeat("and so on\n", 30)
				if err := d.group(ctx, s, &report.HitGroup{Conversation: name, Day: time.Now(),
					Hits: []report.Hit{{Conversation: name, ID: 1, Text: text}}, More: 3}, 1); err != nil {
					t.Fatal(err)
				}
				ids := regexp.MustCompile(
					`^\d+ \w+ \d+  (\S+)|--conversation (\S+)|oriel show (\S+) 1`).FindAllStringSubmatch(d.b.String(),
					-1)
				if want := map[bool]int{true: 3, false: 2}[sc.width > 0]; len(ids) != want {
					t.Fatalf("%d ids, want %d:\n%s", len(ids), want, d.b.String())
				}
				for _, id := range ids {
					accepted("recall", strings.Trim(id[1]+id[2]+id[3], "'"), name)
				}
			}
		}
	})
}

// A conversation that is deleted while a screen is made loses its title there, and nothing
// else.
func TestScreensOfADeletedConversation(t *testing.T) {
	ctx, s := context.Background(), talksCalled(t, []string{"here"})
	got := &usage.Report{By: usage.Conversation, Rows: []usage.Row{{Key: "gone"}, {Key: "here"}}}
	if r, err := nameConversations(ctx, s, got, nil); err != nil || r.key(0, 80) != "gone" ||
		r.key(1, 20) != "here  Why is here s…" {
		t.Errorf("%+v, %v", r, err)
	}
	groups := []report.HitGroup{{Conversation: "gone",
		Hits: []report.Hit{{Conversation: "gone", ID: 2, Text: "found before"}}}}
	titles, err := titlesOf(ctx, s, groups)
	if err != nil || titles["gone"] != "" {
		t.Fatalf("%q, %v", titles, err)
	}
	d := hitDrawing{screen: plainScreen(80), titles: titles}
	if err := d.group(ctx, s, &groups[0], 3); err != nil || !strings.HasPrefix(d.b.String(), "gone\n") ||
		!strings.Contains(d.b.String(), "found before") {
		t.Errorf("%q, %v", d.b.String(), err)
	}
}

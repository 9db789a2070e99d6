package report_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func TestPlansSayWhatTheyChanged(t *testing.T) {
	s := memory.New()
	var messages [][2]string
	for i := range 10 {
		role, text := "user", fmt.Sprintf("question %d", i+1)
		if i%2 == 1 || i == 2 {
			role, text = "assistant", fmt.Sprintf("answer %d", i+1)
		}
		messages = append(messages, [2]string{role, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text)})
	}
	add(t, s, "c", timeline.FormatOpenAI, messages...)
	c, _ := s.Conversation(ctx, timeline.Local, "c")
	number := int64(0)
	put := func(key, blocks, inserted string) {
		t.Helper()
		data := fmt.Sprintf(`{"policy":"ladder","mode":"hard","model":"m","budget":1000,"tokens_before":2000,"tokens_after":900,"action":"digest","blocks":[%s],"inserted":[%s],"undo":%q,"view":{"v":1,"for":"m openai","covers":10}}`, blocks, inserted, key)
		number++
		r := (&plan.Stored{ID: key, At: c.Head, Time: noon, Data: []byte(data)}).Record()
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true, Now: noon,
			Put: []timeline.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	fold := func(id int) string {
		return fmt.Sprintf(`{"index":%d,"role":"user","tokens":10,"verdict":"fold","reason":"oldest"}`, id)
	}
	mask := func(id int) string {
		return fmt.Sprintf(`{"index":%d,"role":"user","tokens":10,"verdict":"mask","reason":"old"}`, id)
	}
	put("p-A-0", mask(2)+","+mask(4), "")
	put("p-A-1", mask(2)+","+mask(4), `{"kind":"recall","into":9,"tokens":1200,"text":"r"}`)
	put("p-B-0", fold(2)+","+fold(3)+","+fold(5)+","+fold(6)+","+fold(7),
		`{"kind":"recall","into":9,"tokens":1200,"text":"r","block":"2 4 4 other#9 7"}`)
	plans, err := report.Plans(ctx, s, timeline.Local, &c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range plans {
		got = append(got, fmt.Sprintf("%s: %s; left %s (%d), back %s, hidden %d (%d)", p.ID, p.Why, p.Left,
			p.LeftTokens, p.Back, p.Hidden, p.HiddenTokens))
		if !p.Time.Equal(noon) {
			t.Errorf("%s was made at %v", p.ID, p.Time)
		}
	}
	want := []string{
		"p1: 2 results cleared (over 1,000 tokens); left 2,4 (20), back , hidden 2 (20)",
		"p2: 1,200 tokens recalled; left  (0), back , hidden 2 (20)",
		"p3: 5 into the digest, 1 brought back (over 1,000 tokens); left 3,5-7 (40), back 4, hidden 5 (50)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ids := plans[2].Inserted[0].IDs; !slices.Equal(ids, []int64{2, 4, 7}) {
		t.Errorf("recalled from %d", ids)
	}
	var spans []string
	for _, i := range []int{0, 2} {
		all, err := report.Spans(ctx, s, timeline.Local, &c, &plans[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			spans = append(spans, fmt.Sprintf("%s %d-%d: %d %s, %d tokens, %s: %s", plans[i].ID, n.First, n.Last,
				n.Messages, n.Verdict, n.Tokens, n.Role, n.Words))
		}
	}
	want = []string{
		"p1 2-4: 2 mask, 20 tokens, assistant: answer 2", // others stand between them
		"p3 2-3: 2 fold, 20 tokens, assistant: answer 2",
		"p3 5-6: 2 fold, 20 tokens, user: question 5", // a message that is sent, and a person
		"p3 7-7: 1 fold, 10 tokens, user: question 7", // a person
	}
	if diff := cmp.Diff(want, spans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffTellsWhichMessagesChanged(t *testing.T) {
	body := func(system string, messages ...string) []byte {
		list := ""
		for i, m := range messages {
			if i > 0 {
				list += ","
			}
			role := "user"
			if m[0] == 'a' {
				role = "assistant"
			}
			mark := ""
			if m[len(m)-1] == '!' {
				m, mark = m[:len(m)-1], `,"cache_control":{"type":"ephemeral"}`
			}
			list += fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q%s}]}`, role, m, mark)
		}
		return fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":10,"system":%q,"messages":[%s]}`, system,
			list)
	}
	changes, err := report.Diff(body("s", "u1", "a2", "u3", "a4", "u5!"),
		body("t", "u1", "a2", "u3 short", "a4", "u5", "a6", "u7!"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %d-%d %s %s", c.Op, c.First, c.Last, c.Role, c.Text))
	}
	want := []string{"changed 0-0 system t", "same 1-2 user u1", "changed 3-3 user u3 short", "same 4-5 assistant a4",
		"added 6-6 assistant a6", "added 7-7 user u7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A body that is not known is not made up.
func TestSentRefusesWhatIsNotKept(t *testing.T) {
	_, err := report.Sent(ctx, memory.New(), timeline.Local, "c",
		&report.Call{Number: 3, TokensBefore: 200, TokensAfter: 100})
	if !errors.Is(err, report.ErrNotKept) {
		t.Errorf("%v, want ErrNotKept", err)
	}
}

func TestCallOfKnowsWhatPeopleMean(t *testing.T) {
	calls := []report.Call{{ID: "AAB"}, {ID: "AAC"}, {ID: "2XY"}}
	for name, want := range map[string]int{"": 2, "last": 2, "-": 2, "1": 0, "2": 1, "AAC": 1, "2X": 2, "AA": -1,
		"4": -1, "0": -1} {
		got, err := report.CallOf(calls, name)
		if want < 0 && err == nil || want >= 0 && (got != want || err != nil) {
			t.Errorf("%q: %d, %v, want %d", name, got, err, want)
		}
	}
}

package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// The window is that of the newest call that was answered. It is not known if that is of
// another agent, or not on the way to the head.
func TestTheWindowIsThatOfTheNewestCall(t *testing.T) {
	s := memory.New()
	var messages [][2]string
	for i := range 6 {
		messages = append(messages, [2]string{"user", fmt.Sprintf(`{"role":"user","content":"message %d"}`, i+1)})
	}
	add(t, s, "work", timeline.FormatOpenAI, messages...)
	c, err := s.Conversation(ctx, timeline.Local, "work")
	if err != nil {
		t.Fatal(err)
	}
	put := func(r timeline.Record) {
		t.Helper()
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "work", Stay: true, Now: noon,
			Put: []timeline.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() (ids string) {
		t.Helper()
		w, err := report.NewestWindow(ctx, s, timeline.Local, &c)
		if err != nil {
			t.Fatal(err)
		}
		for id := int64(1); id <= c.Head.Depth; id++ {
			if w.Shows(id) {
				ids += fmt.Sprint(id)
			}
		}
		return ids
	}
	if got := shown(); got != "" {
		t.Errorf("no call was recorded, and %s are shown", got)
	}
	at := timeline.Place{Trunk: c.Head.Trunk, Depth: 5}
	put((&plan.Stored{ID: "p-x", At: at, Time: noon,
		Data: []byte(`{"policy":"ladder","blocks":[{"index":1,"verdict":"keep"},{"index":2,"verdict":"evict"},{"index":3,"verdict":"mask"}]}`)}).Record())
	cut := "p-x"
	away, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "work", Stay: true,
		At: timeline.Place{Trunk: c.Head.Trunk, Depth: 1}, Now: noon,
		Messages: []timeline.Message{{Identity: timeline.HashOf([]byte("away")),
			Raw: []byte(`{"role":"user","content":"away"}`), Format: timeline.FormatOpenAI, Role: "user", Time: noon}}})
	if err != nil {
		t.Fatal(err)
	}
	branch := away.Places[0]
	for i, tc := range []struct{ name, plan, fields, want string }{
		{"a whole request", "", `"messages":6,"status":200`, "123456"},
		{"one that was cut", cut, `"messages":5,"status":200`, "1456"},
		{"one of another agent, about the beginning", "", `"thread":"side","messages":1,"status":200`, ""},
		{"one of a branch", "", `"messages":2,"thread":"branched","status":200`, ""},
		{"again one that was cut", cut, `"messages":5,"status":200`, "1456"},
		{"one that was refused", "", `"messages":6,"status":400,"error":"too long"`, "1456"},
		{"one whose client left out its beginning", "", `"messages":2,"before":3,"head":1,"status":200`, "1456"},
		{"one that was cut, and whose client left out its beginning", cut, `"messages":3,"before":2,"status":200`,
			"456"},
		{"one that asks its provider to clear results", "", `"messages":6,"managed":"context_management","status":200`,
			""},
		{"one by a plan that was deleted", "p-y", `"messages":6,"status":200`, ""},
		{"one by a plan that was not stored", "", `"messages":6,"tokens":10,"came":20,"status":200`, ""},
	} {
		began, _ := json.Marshal(noon.Add(time.Duration(i) * time.Minute))
		data := fmt.Sprintf(`{"v":1,"format":"openai","path":"/v1/chat/completions","began":%s,"plan":%q,%s}`, began,
			tc.plan, tc.fields)
		place := at
		switch {
		case strings.Contains(tc.fields, "side"):
			place = timeline.Place{Trunk: c.Head.Trunk, Depth: 1}
		case strings.Contains(tc.fields, "branched"):
			place = branch
		}
		put(timeline.Record{Kind: "call", Key: fmt.Sprintf("c-%d", i), At: place, Time: noon, Data: []byte(data)})
		if got := shown(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

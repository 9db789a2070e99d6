package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func TestCallsAreNumberedInTheOrderInWhichTheyBegan(t *testing.T) {
	s := memory.New()
	add(t, s, "c", timeline.FormatOpenAI, [2]string{"user", `{"role":"user","content":"hello"}`})
	c, _ := s.Conversation(ctx, timeline.Local, "c")
	for _, began := range []int{1, 3, 2} { // in the order in which they were written
		at := noon.Add(time.Duration(began) * time.Second)
		r := timeline.Record{Kind: "call", Key: fmt.Sprintf("call-%d", began), At: c.Head, Time: at,
			Data: fmt.Appendf(nil, `{"v":1,"began":%q}`, at.Format(time.RFC3339Nano))}
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true, Now: noon,
			Put: []timeline.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := report.Calls(ctx, s, timeline.Local, &c)
	if err != nil || len(calls) != 3 {
		t.Fatal(calls, err)
	}
	for i, call := range calls {
		if want := fmt.Sprintf("call-%d", i+1); call.Number != i+1 || call.ID != want {
			t.Errorf("call %d is %s, want %s", call.Number, call.ID, want)
		}
	}
}

package call_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// shared returns the part of a body that another begins with, too.
func shared(before, body []byte) float64 {
	n := 0
	for n < min(len(before), len(body)) && before[n] == body[n] {
		n++
	}
	return float64(n) / float64(len(body))
}

// A call records how much of its prompt the call before had, as they came and as they were
// sent: all of that for a client that goes on, what precedes the change for one that rewrites
// its history, and what precedes the cut where Oriel left something out.
func TestCallsRecordWhatTheyRepeat(t *testing.T) {
	b := start(t, memory.New(), func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Noted."} },
		func(o *call.TestOptions) { o.Profile = "full" })
	var list []string
	say := func(n int) {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"Fact %d. %s"}`, n,
			strings.Repeat(fmt.Sprintf("word%d ", n), 300)))
	}
	calls := 0
	send := func(header ...string) {
		t.Helper()
		calls++
		b.send("/v1/chat/completions",
			fmt.Appendf(nil,
				`{"model":"gpt-4o","messages":[{"role":"system","content":"You take notes of facts."},%s]}`,
				strings.Join(list, ",")), append(header, "X-Oriel-Conversation", "a")...)
		b.settle(calls)
		list = append(list, `{"role":"assistant","content":"Noted."}`)
	}
	for n := range 6 {
		say(n)
		send()
	}
	say(6)
	list[4] = strings.ReplaceAll(list[4], "word2", "changed")
	send()
	say(7)
	send("X-Oriel-Budget", "3000")
	records, err := b.store.Records(ctx, timeline.Local, "a", "call", "")
	if err != nil {
		t.Fatal(err)
	}
	var last *call.Stored
	for i := range records {
		c, err := call.Decode(&records[i])
		if err != nil {
			t.Fatal(err)
		}
		r := c.Repeats
		switch {
		case r == nil:
			t.Fatalf("call %d has no repeats", i+1)
		case i == 0 && (r.Came != 0 || r.Sent != 0):
			t.Errorf("the first call repeats %+v", r)
		case 0 < i && i < 6 && (r.Came != r.Sent || r.Came > last.Came || r.Came < last.Came-5):
			t.Errorf("call %d repeats %+v, the one before has %d tokens", i+1, r, last.Came)
		case i == 6 && (r.Came*2 > c.Came || r.Came < c.Came/5 || r.Sent != r.Came):
			t.Errorf("the call that changed message 5 of 13 repeats %+v of %d", r, c.Came)
		case i == 7 && (r.Came > last.Came || r.Came < last.Came-5 || c.Tokens > 3000 || r.Sent < 5 ||
			float64(r.Sent)/float64(c.Tokens) > shared(b.bodies[6], b.bodies[7])):
			t.Errorf("the cut call repeats %+v; %d came and %d were sent, %d before", r, c.Came, c.Tokens, last.Came)
		}
		last = c
	}
	if len(records) != 8 {
		t.Errorf("%d calls", len(records))
	}
}

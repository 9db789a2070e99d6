package thread

import (
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

// What a model said is read once for a request, and no further than it matters.
func TestWhatAModelSaidIsReadOnce(t *testing.T) {
	r := &Request{Messages: talk("so?", strings.Repeat("It is what it is. ", 20))}
	r.prepare()
	model := &step{assistant: true, model: true}
	want := len(textOf(&r.Messages[1]))
	if allocs := testing.AllocsPerRun(10, func() {
		var v speech
		if v.add(r, model, 1); v.size != want || v.replies != 1 {
			t.Fatalf("%+v, want %d bytes", v, want)
		}
	}); allocs > 0 {
		t.Errorf("reading it again takes %v allocations", allocs)
	}
	r = &Request{Messages: r.Messages}
	r.prepare()
	v := speech{size: leastSaid}
	if allocs := testing.AllocsPerRun(10, func() { v.add(r, model, 1) }); allocs > 0 || v.size != leastSaid ||
		len(r.sizes) > 0 {
		t.Errorf("%d bytes more are read with %v allocations", v.size-leastSaid, allocs)
	}
	called := &Request{Messages: []chat.Message{{Role: chat.Assistant,
		Parts: []chat.Part{{Kind: chat.Call, ID: "toolu_01A09abc4d", Args: []byte(`{}`)}}}}}
	called.prepare()
	if v.add(called, model, 0); !v.called {
		t.Error("a call behind enough words is not noticed")
	}
}

// The search for a history whose beginning is missing is made once for a request.
func TestATrimmedHistoryIsSearchedOnce(t *testing.T) {
	c := newCrowd(t, 1<<20)
	c.long("s", words("w", 50))
	tenant := c.book.tenant(timeline.Local)
	all := append(words("new", 700), "w48")
	count := func(do func(n *namespace, r *Request)) int {
		r := &Request{Tenant: timeline.Local, Hints: Hints{Session: "s"}, Messages: talk(all...), Now: time.Now()}
		r.prepare()
		r.identify(0, len(r.Messages))
		before := tenant.work
		do(tenant.conversations["s"].space, r)
		return tenant.work - before
	}
	once := count(func(n *namespace, r *Request) { tenant.trimmed(n, r, place{}) })
	told := count(func(n *namespace, r *Request) { tenant.retold(n, r, place{}) })
	if found := count(func(n *namespace, r *Request) { tenant.find(n, r, place{}) }); once < 100 ||
		found > once+told+once/2 {
		t.Errorf("a request takes %d steps, the search %d of them and the one for other changes %d", found, once, told)
	}
}

package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/storetest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// counting counts what a store is asked.
type counting struct {
	timeline.Store
	applies, reads int
	messages       int // shown to Apply
}

func (c *counting) Apply(ctx context.Context, tenant string, ch timeline.Change) (timeline.Applied, error) {
	c.applies++
	c.messages += len(ch.Messages)
	return c.Store.Apply(ctx, tenant, ch)
}

func (c *counting) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	c.reads++
	return c.Store.Messages(ctx, tenant, to, first, last, hashes, visit)
}

func (c *counting) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	c.reads++
	return c.Store.Conversation(ctx, tenant, name)
}

// history is n messages, told apart by their number.
func history(n int) []timeline.Resent {
	all := make([]timeline.Resent, n)
	for i := range all {
		all[i] = timeline.Resent{Raw: fmt.Appendf(nil, "message %d", i), Format: "item", Role: "user"}
	}
	return all
}

// asking is the identities of messages, and how often they were asked for. What
// stands behind a tab is no part of what a message says.
type asking struct {
	messages []timeline.Resent
	asked    int
}

func (a *asking) says(i int) timeline.Hash {
	a.asked++
	text, _, _ := cutTab(a.messages[i].Raw)
	return timeline.HashOf(text)
}

func cutTab(b []byte) (before, after []byte, found bool) {
	for i := range b {
		if b[i] == '\t' {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

// SPEC D8: of what is known nobody is asked; the store sees what is new.
func TestLogShowsTheStoreWhatIsNew(t *testing.T) {
	s := &counting{Store: memory.New()}
	log := timeline.NewLog(s, timeline.LogOptions{})
	messages := history(1000)
	send := func(what string, n int, known, varied, fresh, asked, shown, reads int) timeline.Appended {
		t.Helper()
		ask := &asking{messages: messages}
		s.reads, s.messages = 0, 0
		a, err := log.Append(ctx, timeline.Local, "c", messages[:n], ask.says, timeline.Change{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		if a.Known != known || a.Varied != varied || a.New != fresh {
			t.Errorf("%s: %d known, %d varied, %d new", what, a.Known, a.Varied, a.New)
		}
		if ask.asked != asked || s.messages != shown || s.reads != reads {
			t.Errorf("%s: %d identities were asked for, %d messages shown, %d reads; want %d, %d, %d", what, ask.asked,
				s.messages, s.reads, asked, shown, reads)
		}
		return a
	}
	send("first", 990, 0, 0, 990, 990, 990, 1)
	send("two more", 992, 990, 0, 2, 2, 2, 0)
	send("nothing new", 992, 992, 0, 0, 0, 0, 1)
	messages[989].Raw = append(messages[989].Raw, "\tunmarked"...)
	a := send("a mark moved", 994, 991, 1, 2, 3, 5, 1)
	if a.Forms.String() != "0x989,1/0x2,0x3" {
		t.Errorf("forms %v", a.Forms)
	}
	send("the mark stays away", 995, 994, 0, 1, 1, 1, 0)
	a = send("rewound", 500, 500, 0, 0, 0, 0, 0)
	if a.Head.Depth != 500 {
		t.Errorf("head %v", a.Head)
	}
	send("and back", 995, 995, 0, 0, 0, 0, 0)
	if _, err := s.Store.Apply(ctx, timeline.Local,
		timeline.Change{Conversation: "c", Now: noon, Stay: true}); err != nil {
		t.Fatal(err)
	}
	send("somebody else changed the conversation", 996, 995, 0, 1, 2, 2, 1)

	// A second branch, and both in turn: nothing is written or read again.
	other := append(messages[:900:900], timeline.Resent{Raw: []byte("other"), Format: "item"})
	messages, other = other, messages
	send("a branch", 901, 900, 0, 1, 2, 1, 0)
	for range 3 {
		messages, other = other, messages
		send("the one", 996, 996, 0, 0, 1, 0, 0) // where they part
		messages, other = other, messages
		send("the other", 901, 901, 0, 0, 1, 0, 0)
	}
}

func TestLogStartsFromWhatIsStored(t *testing.T) {
	s := &counting{Store: memory.New()}
	messages := history(300)
	ask := &asking{messages: messages}
	if _, err := timeline.NewLog(s, timeline.LogOptions{}).Append(ctx, timeline.Local, "c", messages[:299], ask.says,
		timeline.Change{Now: noon}); err != nil {
		t.Fatal(err)
	}
	ask.asked, s.messages = 0, 0
	a, err := timeline.NewLog(s, timeline.LogOptions{}).Append(ctx, timeline.Local, "c", messages, ask.says,
		timeline.Change{Now: noon})
	if err != nil || a.New != 1 || ask.asked != 1 || s.messages != 1 {
		t.Errorf("%+v, %v; %d asked, %d shown", a, err, ask.asked, s.messages)
	}
}

func TestLogOfNothing(t *testing.T) {
	s := memory.New()
	log := timeline.NewLog(s, timeline.LogOptions{})
	if a, err := log.Append(ctx, timeline.Local, "c", nil, nil, timeline.Change{Now: noon}); err != nil ||
		a.Revision != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	ask := &asking{messages: history(2)}
	a, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says, timeline.Change{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	b, err := log.Append(ctx, timeline.Local, "c", nil, nil,
		timeline.Change{Now: noon, Put: []timeline.Record{{Kind: "k", Key: "1", At: timeline.AtHead()}}})
	if err != nil || b.Head != a.Head || b.Revision != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestLogFailsWithItsChange(t *testing.T) {
	s := memory.New()
	log := timeline.NewLog(s, timeline.LogOptions{})
	ask := &asking{messages: history(2)}
	if _, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says, timeline.Change{Now: noon}); err != nil {
		t.Fatal(err)
	}
	for want, extra := range map[error]timeline.Change{
		timeline.ErrInvalid: {Put: []timeline.Record{{Kind: "k", Key: "1"}}},
		timeline.ErrNoPlace: {Now: noon,
			Put: []timeline.Record{{Kind: "k", Key: "1", At: timeline.Place{Trunk: 99, Depth: 9}}}},
		timeline.ErrNoContent: {Now: noon,
			Put: []timeline.Record{{Kind: "k", Key: "1", Contents: []timeline.Hash{{1}}}}},
	} {
		if _, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says, extra); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := log.Append(done, timeline.Local, "c", ask.messages, ask.says,
		timeline.Change{Now: noon}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// before is a store that calls a function before each change.
type before struct {
	timeline.Store
	do func()
}

func (b *before) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Store.Apply(ctx, tenant, c)
}

// A conversation that is deleted and begins anew in the same moment has the revision
// and the time that were expected.
func TestLogNoticesThatItsPlaceIsGone(t *testing.T) {
	s := &before{Store: memory.New()}
	log := timeline.NewLog(s, timeline.LogOptions{})
	ask := &asking{messages: history(6)}
	if _, err := log.Append(ctx, timeline.Local, "c", ask.messages[:5], ask.says,
		timeline.Change{Now: noon}); err != nil {
		t.Fatal(err)
	}
	s.do = func() {
		if _, err := s.Delete(ctx, timeline.Local, "c", nil); err != nil {
			t.Error(err)
		}
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Now: noon,
			Messages: []timeline.Message{{Raw: []byte("other"), Format: "item"}}})
		if err != nil {
			t.Error(err)
		}
	}
	a, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says, timeline.Change{Now: noon})
	if err != nil || a.New != 6 || a.Revision != 2 || a.Place(6) != a.Head {
		t.Errorf("%+v, %v", a, err)
	}
}

// A conversation that begins anew, at another time, can come to the revision that is
// remembered, and its messages to the places: a trunk that was cut by the deletion
// grows again.
func TestLogNoticesThatAConversationBeganAnew(t *testing.T) {
	s := memory.New()
	log := timeline.NewLog(s, timeline.LogOptions{})
	ask := &asking{messages: history(6)}
	first, err := log.Append(ctx, timeline.Local, "c", ask.messages[:5], ask.says, timeline.Change{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(name string, now time.Time, messages ...timeline.Message) timeline.Applied {
		t.Helper()
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Messages: messages, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var shared []timeline.Message
	for i := range 2 {
		m := ask.messages[i]
		shared = append(shared, timeline.Message{Identity: ask.says(i), Raw: m.Raw, Format: m.Format, Role: m.Role})
	}
	apply("d", noon, shared...) // keeps the beginning
	if _, err := s.Delete(ctx, timeline.Local, "c", nil); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		raw := []byte{'x', byte('0' + i)}
		shared = append(shared, timeline.Message{Identity: timeline.HashOf(raw), Raw: raw, Format: "item"})
	}
	if again := apply("c", noon.Add(time.Second), shared...); again.Head != first.Head ||
		again.Revision != first.Revision {
		t.Fatalf("%+v is told from %+v by its place: the test finds nothing", again, first)
	}
	a, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says, timeline.Change{Now: noon.Add(time.Minute)})
	if err != nil || a.New != 4 || a.Known != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	i := 0
	if err := s.Messages(ctx, timeline.Local, a.Head, 1, 6, false, func(e *timeline.Entry) error {
		if string(e.Raw) != string(ask.messages[i].Raw) {
			t.Errorf("message %d reads %q", i+1, e.Raw)
		}
		i++
		return nil
	}); err != nil || i != 6 {
		t.Errorf("%d messages, %v", i, err)
	}
}

func TestLogRemembersNoMoreThanItMay(t *testing.T) {
	s := &counting{Store: memory.New()}
	log := timeline.NewLog(s, timeline.LogOptions{Messages: 250})
	ask := &asking{messages: history(100)}
	reads := func(name string) int {
		t.Helper()
		s.reads = 0
		if _, err := log.Append(ctx, timeline.Local, name, ask.messages, ask.says,
			timeline.Change{Now: noon, Project: "p"}); err != nil {
			t.Fatal(err)
		}
		return s.reads
	}
	for _, name := range []string{"a", "b", "c", "b", "c"} {
		reads(name)
	}
	if n := reads("b"); n != 0 {
		t.Errorf("one of the latest two takes %d reads", n)
	}
	if n := reads("a"); n == 0 {
		t.Error("the oldest is remembered still")
	}
}

// The known part allocates nothing a message.
func TestLogMatchesWithoutAllocating(t *testing.T) {
	log := timeline.NewLog(memory.New(), timeline.LogOptions{})
	ask := &asking{messages: history(10_000)}
	send := func() {
		if _, err := log.Append(ctx, timeline.Local, "c", ask.messages, ask.says,
			timeline.Change{Now: noon}); err != nil {
			t.Fatal(err)
		}
	}
	send()
	if n := testing.AllocsPerRun(10, send); n > 50 {
		t.Errorf("%v allocations for 10,000 known messages", n)
	}
}

// A request and its reply are one change, also where the last reply comes back in the
// client's form; the record of the request tells where it stands and in which forms.
func TestLogWritesRequestAndReplyInOneChange(t *testing.T) {
	s := memory.New()
	log := timeline.NewLog(s, timeline.LogOptions{})
	ask := &asking{messages: history(12)}
	requests := 0
	send := func(log *timeline.Log, n int) timeline.Appended {
		t.Helper()
		a, err := log.AppendThen(ctx, timeline.Local, "c", nil, timeline.HistoryOf(ask.messages[:n], ask.says), n-1,
			timeline.Change{Now: noon}, func(at *timeline.Appended) (timeline.Change, error) {
				requests++
				return timeline.Change{Now: noon.Add(time.Second),
					Put: []timeline.Record{{Kind: "call", Key: "1", At: at.Place(int64(n) - 1),
						Data: []byte(at.Forms.String())}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	check := func(a timeline.Appended, revision int64, varied, n int, forms string) {
		t.Helper()
		r, err := s.Records(ctx, timeline.Local, "c", "call", "1")
		if err != nil || len(r) != 1 || a.Revision != revision || a.Varied != varied || a.Head.Depth != int64(n) ||
			r[0].At != a.Place(int64(n)-1) || string(r[0].Data) != forms {
			t.Errorf("%+v, %+v (%v), want revision %d and forms %s", a, r, err, revision, forms)
		}
	}
	check(send(log, 4), 1, 0, 4, "0x3")
	ask.messages[3].Raw = []byte("message 3\tas its client says it")
	check(send(log, 6), 2, 1, 6, "0x3,1/0x2")
	check(send(log, 8), 3, 0, 8, "0x3,1/0x2,0x2")
	if requests != 3 {
		t.Errorf("%d times for three calls", requests)
	}
	if c, err := s.Conversation(ctx, timeline.Local, "c"); err != nil || !c.Created.Equal(noon) ||
		!c.Updated.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v, %v", c, err)
	}
	// Another log brings forms that this one has not seen: those that are written are
	// what the store says.
	other := timeline.NewLog(s, timeline.LogOptions{})
	ask.messages[5].Raw = []byte("message 5\tin the first form of another")
	send(other, 8)
	ask.messages[5].Raw = []byte("message 5\tin the second form of another")
	check(send(other, 8), 5, 1, 8, "0x3,1/0x2,2/0x2")
	ask.messages[5].Raw = []byte("message 5\tin a third form")
	check(send(log, 8), 6, 1, 8, "0x3,1/0x2,3/0x2")
	check(send(other, 8), 7, 0, 8, "0x3,1/0x2,3/0x2")
}

// Another conversation that says the same things in other forms is written in one change a
// call, too: what the store refuses tells the forms.
func TestLogWritesOneChangeIntoAnotherConversationOfTheSameWords(t *testing.T) {
	s := &counting{Store: memory.New()}
	log := timeline.NewLog(s, timeline.LogOptions{})
	ask := &asking{messages: history(12)}
	send := func(conversation string, n int) timeline.Appended {
		t.Helper()
		a, err := log.AppendThen(ctx, timeline.Local, conversation, nil,
			timeline.HistoryOf(ask.messages[:n], ask.says), n-1, timeline.Change{Now: noon},
			func(at *timeline.Appended) (timeline.Change, error) {
				return timeline.Change{Now: noon,
					Put: []timeline.Record{{Kind: "call", Key: fmt.Sprint(n), At: at.Place(int64(n) - 1),
						Data: []byte(at.Forms.String())}}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for n := 4; n <= 12; n += 2 {
		send("first", n)
		ask.messages[n-1].Raw = fmt.Appendf(nil, "message %d\tas its client says it", n-1)
	}
	ask.messages = history(12) // another client does not say it so
	wants := map[int]string{4: "0x3", 6: "0x5", 8: "0x5,2/0x2", 10: "0x5,2/0x4", 12: "0x5,2/0x6"}
	for n := 4; n <= 12; n += 2 {
		if n > 4 {
			ask.messages[n-1].Raw = fmt.Appendf(nil, "message %d\tin a third form", n-1)
		}
		s.applies, s.reads = 0, 0
		a := send("second", n)
		if a.Revision != int64(n/2-1) || a.New != 0 || a.Head.Depth != int64(n) {
			t.Errorf("%d messages: %+v", n, a)
		}
		if s.applies > 2 || n > 4 && s.reads > 0 {
			t.Errorf("%d messages: %d changes tried, %d reads", n, s.applies, s.reads)
		}
		r, err := s.Records(ctx, timeline.Local, "second", "call", fmt.Sprint(n))
		if err != nil || len(r) != 1 || string(r[0].Data) != wants[n] || r[0].At != a.Place(int64(n)-1) {
			t.Errorf("%d messages: %+v, %v, want forms %s", n, r, err, wants[n])
		}
		var got []string
		forms, err := timeline.ParseForms(string(r[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		if err := timeline.ReadForms(ctx, s.Store, timeline.Local, r[0].At, forms, func(e *timeline.Entry) error {
			got = append(got, string(e.Raw))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != string(ask.messages[i].Raw) {
				t.Errorf("%d messages: message %d reads %q, not %q", n, i, got[i], ask.messages[i].Raw)
			}
		}
	}
}

func BenchmarkResend100k(b *testing.B) { storetest.BenchmarkResend(b, memory.New(), 100_000) }

// Who sends only the end of a history names what goes before it.
func TestLogAppendsAfterWhatIsOnlyNamed(t *testing.T) {
	s := &counting{Store: memory.New()}
	log := timeline.NewLog(s, timeline.LogOptions{})
	messages := history(12)
	ask := &asking{messages: messages}
	if _, err := log.Append(ctx, timeline.Local, "c", messages[:8], ask.says, timeline.Change{Now: noon}); err != nil {
		t.Fatal(err)
	}
	before := make([]timeline.Hash, 12)
	for i := range before {
		before[i] = ask.says(i)
	}
	after := func(log *timeline.Log, skip, n int, extra timeline.Change) (timeline.Appended, error) {
		extra.Now = noon
		tail := &asking{messages: messages[skip:]}
		return log.AppendAfter(ctx, timeline.Local, "c", before[:skip], messages[skip:n], tail.says, extra)
	}
	a, err := after(log, 5, 10, timeline.Change{})
	if err != nil || a.Known != 8 || a.New != 2 || a.Head.Depth != 10 || a.Forms.Len() != 10 {
		t.Errorf("%+v, %v", a, err)
	}
	// One that has to look it up, on a branch that leaves the head where it is.
	messages[7].Raw = []byte("message 7 is another")
	before[7] = ask.says(7)
	b, err := after(timeline.NewLog(s, timeline.LogOptions{}), 6, 8, timeline.Change{Stay: true})
	if err != nil || b.Known != 7 || b.New != 1 || b.Head != a.Head || b.Place(8).Trunk == a.Place(8).Trunk {
		t.Errorf("%+v, %v", b, err)
	}
	// The branch is known by its own log, and found by another.
	for _, log := range []*timeline.Log{log, timeline.NewLog(s, timeline.LogOptions{})} {
		if c, err := after(log, 8, 8,
			timeline.Change{Stay: true, Put: []timeline.Record{{Kind: "k", Key: "1", At: b.Place(8)}}}); err != nil ||
			c.Place(8) != b.Place(8) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if _, err := after(log, 11, 12, timeline.Change{}); !errors.Is(err, timeline.ErrNoPlace) {
		t.Error(err)
	}
}

// made counts the messages of a history that the log asks for.
type made struct {
	timeline.History
	n int
}

func (m *made) Message(i int) timeline.Resent {
	m.n++
	return m.History.Message(i)
}

// Nothing is made of a message whose bytes are known, except for their sum.
func TestLogAsksForTheMessagesThatItDoesNotKnow(t *testing.T) {
	log := timeline.NewLog(memory.New(), timeline.LogOptions{})
	messages := history(100)
	for i := range messages {
		messages[i].Sum = chat.Sum(messages[i].Raw)
	}
	ask := &asking{messages: messages}
	for _, c := range []struct{ n, most int }{{96, 2 * 96}, {98, 2 * 2}, {98, 0}, {100, 2 * 2}} {
		h := &made{History: timeline.HistoryOf(messages[:c.n], ask.says)}
		a, err := log.AppendThen(ctx, timeline.Local, "c", nil, h, c.n-1, timeline.Change{Now: noon},
			func(at *timeline.Appended) (timeline.Change, error) { return timeline.Change{Now: noon}, nil })
		if err != nil || h.n > c.most || a.Forms.Len() != c.n {
			t.Errorf("%d messages: %d were made, want at most %d; %+v, %v", c.n, h.n, c.most, a, err)
		}
	}
}

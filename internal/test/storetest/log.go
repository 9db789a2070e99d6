package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"pgregory.net/rapid"
)

// sent is a history as a client sends it: the text of each message, and its
// bytes.
type sent []struct{ text, raw string }

func (h sent) resent() []timeline.Resent {
	all := make([]timeline.Resent, len(h))
	for i := range h {
		all[i] = timeline.Resent{Raw: []byte(h[i].raw), Format: "item", Role: "user"}
	}
	return all
}

func (h sent) says(i int) timeline.Hash { return timeline.HashOf([]byte(h[i].text)) }

// readsBack returns an error if a call, read back by its forms, differs from
// what was sent.
func (h sent) readsBack(s timeline.Store, tenant string, a *timeline.Appended) error {
	if a.Head.Depth != int64(len(h)) || a.Known+a.Varied+a.New != len(h) || a.Place(a.Head.Depth) != a.Head {
		return fmt.Errorf("of %d messages: %+v", len(h), *a)
	}
	forms, err := timeline.ParseForms(a.Forms.String())
	if err != nil {
		return err
	}
	i := 0
	err = timeline.ReadForms(ctx, s, tenant, a.Head, forms, func(e *timeline.Entry) error {
		if string(e.Raw) != h[i].raw || e.Place != a.Place(int64(i)+1) {
			return fmt.Errorf("message %d of %d, form by %v, is %q at %v, not %q at %v", i+1, len(h), forms, e.Raw,
				e.Place, h[i].raw, a.Place(int64(i)+1))
		}
		i++
		return nil
	})
	if err == nil && i != len(h) {
		err = fmt.Errorf("%d messages are read back of %d", i, len(h))
	}
	return err
}

// testLog lets clients resend generated histories through two logs over one
// store, as two processes would. Every call must read back byte for byte. SPEC
// D1, D8
func testLog(t *testing.T, open func(t *testing.T) timeline.Store) {
	rapid.Check(t, func(r *rapid.T) {
		s := open(t)
		defer s.Close()
		m := &clients{store: s, now: map[string]sent{}, calls: map[string][]call{}}
		// One of the logs remembers almost nothing.
		m.logs = []*timeline.Log{timeline.NewLog(s, timeline.LogOptions{}),
			timeline.NewLog(s, timeline.LogOptions{Messages: 8})}
		r.Repeat(map[string]func(*rapid.T){
			"go on":      m.goOn,
			"go on more": m.goOn,
			"rewind":     m.rewind,
			"rewrite":    m.rewrite,
			"return":     m.returnTo,
			"edit":       m.edit,
			"again":      func(r *rapid.T) { m.send(r, conversationName(r)) },
			"delete":     m.remove,
			"look back":  m.lookBack,
			"":           func(*rapid.T) {},
		})
		if err := s.Verify(ctx, func(p timeline.Problem) { r.Errorf("verify: %+v", p) }); err != nil {
			r.Fatal(err)
		}
	})
}

// clients is the state of the clients that resend histories.
type clients struct {
	store timeline.Store
	logs  []*timeline.Log
	now   map[string]sent
	calls map[string][]call
	clock time.Duration
}

// call is a finished call.
type call struct {
	sent     sent
	appended timeline.Appended
}

func (m *clients) goOn(r *rapid.T) {
	name := conversationName(r)
	h := slices.Clip(m.now[name])
	for range rapid.IntRange(1, 4).Draw(r, "messages") {
		text := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(r, "says")
		h = append(h, struct{ text, raw string }{text, text + " marked"})
	}
	m.now[name] = h
	m.send(r, name)
}

func (m *clients) rewind(r *rapid.T) {
	name := conversationName(r)
	h := m.now[name]
	m.now[name] = h[:rapid.IntRange(0, len(h)).Draw(r, "left")]
	if rapid.Bool().Draw(r, "and on") {
		m.goOn(r)
	}
}

// rewrite sends some messages in another form, as clients do when they move
// cache marks.
func (m *clients) rewrite(r *rapid.T) {
	name := conversationName(r)
	h := slices.Clone(m.now[name])
	for i := range h {
		if rapid.IntRange(0, 2).Draw(r, "rewritten") == 2 {
			h[i].raw = h[i].text + rapid.SampledFrom([]string{"", " marked", " re-indented"}).Draw(r, "form")
		}
	}
	m.now[name] = h
	m.send(r, name)
}

// returnTo sends an earlier history, of its own or of another conversation.
func (m *clients) returnTo(r *rapid.T) {
	name := conversationName(r)
	if calls := m.calls[conversationName(r)]; len(calls) > 0 {
		m.now[name] = rapid.SampledFrom(calls).Draw(r, "call").sent
		m.send(r, name)
	}
}

func (m *clients) edit(r *rapid.T) {
	name := conversationName(r)
	if h := slices.Clone(m.now[name]); len(h) > 0 {
		i := rapid.IntRange(0, len(h)-1).Draw(r, "which")
		h[i].text, h[i].raw = "edited", "edited"
		m.now[name] = h
		m.send(r, name)
	}
}

func (m *clients) send(r *rapid.T, name string) {
	h := m.now[name]
	if len(h) == 0 {
		return
	}
	m.clock += time.Second
	extra := timeline.Change{Now: noon.Add(m.clock)}
	reply := rapid.Bool().Draw(r, "with a reply")
	if !reply && rapid.Bool().Draw(r, "records") {
		extra.Put = []timeline.Record{{Kind: "call", Key: "latest", At: timeline.AtHead()}}
	}
	log := rapid.SampledFrom(m.logs).Draw(r, "log")
	var a timeline.Appended
	var err error
	if reply {
		a, err = m.ask(r, log, name, h, extra)
	} else {
		a, err = log.Append(ctx, timeline.Local, name, h.resent(), h.says, extra)
	}
	if err != nil {
		r.Fatal(err)
	}
	if err := h.readsBack(m.store, timeline.Local, &a); err != nil {
		r.Fatal(err)
	}
	c, err := m.store.Conversation(ctx, timeline.Local, name)
	if err != nil || c.Head != a.Head || c.Revision != a.Revision {
		r.Fatalf("the conversation is %+v (%v) after %+v", c, err, a)
	}
	if extra.Put != nil {
		records, err := m.store.Records(ctx, timeline.Local, name, "call", "latest")
		if err != nil || len(records) != 1 || records[0].At != a.Head {
			r.Fatalf("the call's record is %+v (%v) after %+v", records, err, a)
		}
	}
	m.calls[name] = append(m.calls[name], call{h, a})
}

// ask sends a history as a request with its reply and a record of the request,
// by which the request can be read back.
func (m *clients) ask(r *rapid.T, log *timeline.Log, name string, h sent,
	extra timeline.Change) (timeline.Appended, error) {
	first := rapid.IntRange(1, len(h)).Draw(r, "request")
	a, err := log.AppendThen(ctx, timeline.Local, name, nil, timeline.HistoryOf(h.resent(), h.says), first, extra,
		func(at *timeline.Appended) (timeline.Change, error) {
			return timeline.Change{Now: extra.Now.Add(time.Second), Put: []timeline.Record{
				{Kind: "request", Key: "latest", At: at.Place(int64(first)), Data: []byte(at.Forms.String())},
				{Kind: "request", Key: "first", At: at.Place(1)},
			}}, nil
		})
	if err != nil {
		return a, err
	}
	records, err := m.store.Records(ctx, timeline.Local, name, "request", "")
	if err != nil || len(records) != 2 || records[0].At != a.Place(int64(first)) || records[1].At != a.Place(1) {
		return a, fmt.Errorf("the records of a request are %+v (%w) after %+v", records, err, a)
	}
	forms, err := timeline.ParseForms(string(records[0].Data))
	if err != nil {
		return a, err
	}
	i := 0
	return a, timeline.ReadForms(ctx, m.store, timeline.Local, records[0].At, forms, func(e *timeline.Entry) error {
		if i++; string(e.Raw) != h[i-1].raw {
			return fmt.Errorf("message %d of a request is %q by %v, not %q", i, e.Raw, forms, h[i-1].raw)
		}
		return nil
	})
}

func (m *clients) remove(r *rapid.T) {
	name := conversationName(r)
	if rapid.IntRange(0, 3).Draw(r, "really") < 3 || len(m.calls[name]) == 0 {
		return
	}
	if _, err := m.store.Delete(ctx, timeline.Local, name, nil); err != nil {
		r.Fatal(err)
	}
	delete(m.calls, name)
}

// lookBack reads an old call back.
func (m *clients) lookBack(r *rapid.T) {
	if calls := m.calls[conversationName(r)]; len(calls) > 0 {
		c := rapid.SampledFrom(calls).Draw(r, "call")
		if err := c.sent.readsBack(m.store, timeline.Local, &c.appended); err != nil {
			r.Fatal(err)
		}
	}
}

// testLogParallel lets many clients resend into few conversations at once.
// Every call must get what it sent, whichever came first.
func testLogParallel(t *testing.T, open func(t *testing.T) timeline.Store) {
	s := open(t)
	defer s.Close()
	logs := []*timeline.Log{timeline.NewLog(s, timeline.LogOptions{}),
		timeline.NewLog(s, timeline.LogOptions{Messages: 100})}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			var h sent
			for turn := range 15 {
				text := fmt.Sprintf("turn %d by %d", turn, random.IntN(2)) // often the same as another's
				h = append(slices.Clip(h),
					struct{ text, raw string }{text, fmt.Sprintf("%s, form %d", text, random.IntN(3))})
				a, err := logs[w%2].Append(ctx, timeline.Local, fmt.Sprintf("shared %d", w%3), h.resent(), h.says,
					timeline.Change{Now: noon})
				if err == nil {
					err = h.readsBack(s, timeline.Local, &a)
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	all.Wait()
	(&fixture{T: t, Store: s}).verify()
}

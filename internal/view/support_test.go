package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

var ctx = context.Background()

var counts = token.NewCache(0)

// tester is what both testing.T and rapid.T can do.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// stage is a proxy without a wire: it finds the conversation, shows, and stores.
type stage struct {
	t      tester
	store  timeline.Store
	log    *timeline.Log
	book   *thread.Index
	viewer *Viewer
	recall *recall.Library
	o      Options
	now    time.Time
	calls  int
	names  int
}

func newStage(t tester, o Options) *stage {
	s := &stage{t: t, store: memory.New(), o: o, now: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
	if s.o.Models == nil {
		s.o.Models = token.Builtin()
	}
	if s.o.Calibration == nil {
		s.o.Calibration = new(token.Calibration)
	}
	s.o.Cache = counts
	s.o.RecallWait = time.Minute // a busy machine is no reason to bring back less
	s.restart()
	return s
}

// library makes what left the views be brought back, found by words alone.
func (s *stage) library() {
	s.recall = recall.NewLibrary(s.store, recall.LibraryOptions{})
	s.restart()
}

// restart is a new process over what was stored.
func (s *stage) restart() {
	s.log = timeline.NewLog(s.store, timeline.LogOptions{})
	s.book = thread.NewIndex(s.store, thread.Options{Suffix: func() string { s.names++; return fmt.Sprint(s.names) },
		Plans: plan.Read})
	o := s.o
	o.Index, o.Recall = s.book, s.recall
	s.viewer = New(o)
}

func (s *stage) close() {
	if s.recall != nil {
		if err := s.recall.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// call is one request on its way.
type call struct {
	*Result
	thread *thread.Thread
	body   *wire.Body
	made   []*plan.Plan
}

// ask is how a request is sent.
type ask struct {
	format  wire.Format
	session string
	retry   bool
	Input
}

func (s *stage) find(data []byte, a ask) *call {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	body, err := wire.Read(data, a.format, wire.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, chain := thread.Chain(body.Messages)
	th, err := s.book.Find(ctx, &thread.Request{
		Tenant: timeline.Local, Hints: thread.Hints{Session: a.session}, Previous: body.Hints.Previous, Retry: a.retry,
		Sketch: thread.SketchOf(thread.Prompt(&body.Request)), Messages: chain, Now: s.now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return &call{thread: th, body: body}
}

// began sends what comes before the last reply of a request, so that the request goes on
// from something.
func (s *stage) began(data []byte, a ask) {
	s.t.Helper()
	body, err := wire.Read(data, a.format, wire.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	n := len(body.Messages) - 2
	before, err := body.Write(body.Whole()[:n])
	if err != nil {
		s.t.Fatal(err)
	}
	s.end(s.find(before, a), body.Messages[n].Raw)
}

// show makes the view of a request whose conversation was found.
func (s *stage) show(c *call, a ask) error {
	s.t.Helper()
	in := a.Input
	s.calls++
	in.ID, in.Body, in.Thread, in.Now = fmt.Sprintf("c%d-%d", s.calls, len(c.made)), c.body, c.thread, s.now
	r, err := s.viewer.Show(ctx, &in)
	if err != nil {
		return err
	}
	c.Result = r
	c.made = append(c.made, r.Made...)
	return nil
}

// end stores a call and what it decided, as the engine does; reply are raw messages.
func (s *stage) end(c *call, reply ...[]byte) {
	s.t.Helper()
	replies := make([]timeline.Resent, 0, len(reply))
	messages := c.body.Messages[:0:0]
	for _, raw := range reply {
		m, err := wire.ReadMessage(c.body.Format, raw)
		if err != nil {
			s.t.Fatal(err)
		}
		messages = append(messages, m)
		replies = append(replies, timeline.Resent{Raw: raw, Format: c.body.Format.String(), Role: string(m.Role),
			Ref: "reply"})
	}
	says := s.book.Done(c.thread, messages, "")
	_, chain := thread.Chain(c.body.Messages)
	var all []timeline.Resent
	for i := range chain[c.thread.From:] {
		m := &chain[c.thread.From+i]
		role := string(m.Role)
		if role == "" {
			role = m.Type
		}
		all = append(all, timeline.Resent{Raw: m.Raw, Format: c.body.Format.String(), Role: role})
	}
	change := timeline.Change{Now: s.now, Stay: c.thread.Stay, Continues: c.thread.Continues}
	if w, ok := c.thread.Record(); ok {
		change.Put = append(change.Put, w)
	}
	at, err := s.log.AppendAfter(ctx, c.thread.Tenant, c.thread.Conversation, c.thread.Before, all,
		func(i int) timeline.Hash { return c.thread.Identities[i] }, change)
	if err != nil {
		s.t.Fatal(err)
	}
	change = timeline.Change{Now: s.now, Stay: c.thread.Stay}
	for _, cut := range c.made {
		p, err := cut.ToStore(s.now)
		if err != nil {
			s.t.Fatal(err)
		}
		p.At = at.Place(int64(cut.Covers))
		change.Put, change.Contents = append(change.Put, p.Record()), append(change.Contents, p.Raw...)
	}
	before := append(c.thread.Before[:len(c.thread.Before):len(c.thread.Before)], c.thread.Identities...)
	if _, err := s.log.AppendAfter(ctx, c.thread.Tenant, c.thread.Conversation, before, replies,
		func(i int) timeline.Hash { return says[i] }, change); err != nil {
		s.t.Fatal(err)
	}
}

// judge is what a vendor says of a body.
func judge(f wire.Format, body []byte) []strict.Problem { return protocols.Of(f).Judge(body) }

// messagesOf are those of a body without their cache marks, each in one form of JSON.
func messagesOf(t tester, f wire.Format, body []byte) []string {
	t.Helper()
	b, err := wire.Read(body, f, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range b.Messages {
		out = append(out, plain(t, f, b.Messages[i].Raw))
	}
	return out
}

// plain is a message without cache marks and with content as a list, if it may be one.
func plain(t tester, f wire.Format, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if m, ok := v.(map[string]any); ok {
		if text, ok := m["content"].(string); ok && f.Protocol().Joint == "" {
			m["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
	}
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "cache_control")
			for _, w := range v {
				clean(w)
			}
		case []any:
			for _, w := range v {
				clean(w)
			}
		}
	}
	clean(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var _ tester = (*testing.T)(nil)

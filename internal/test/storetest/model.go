package storetest

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"pgregory.net/rapid"
)

// Agree applies the same generated changes to timeline/memory, the model, and to other
// stores, and compares every result. Each open returns a new empty store.
func Agree(t *testing.T, open ...func(t *testing.T) timeline.Store) {
	rapid.Check(t, func(r *rapid.T) {
		m := &machine{model: memory.New(), tenants: map[string]*known{}}
		for _, open := range open {
			s := open(t)
			defer s.Close()
			m.peers = append(m.peers, &peer{store: s, trunks: map[int64]int64{}})
		}
		for _, name := range []string{"local", "other"} {
			m.tenants[name] = &known{places: []timeline.Place{{}, {Trunk: nowhere, Depth: 1}}}
		}
		r.Repeat(map[string]func(*rapid.T){
			"change":       m.change,
			"change again": m.change, // twice as often as the others
			"go on":        m.goOn,
			"resend":       m.resend,
			"delete":       m.remove,
			"read":         m.read,
			"look under":   m.under,
			"content":      m.content,
			"keep derived": m.keepDerived,
			"derived":      m.derived,
			"token":        m.token,
			"everything":   m.everything,
			"":             m.touched,
		})
		m.everything(r)
	})
}

// nowhere is the number of a trunk that no store has.
const nowhere = 1 << 40

// machine is the model, the stores and what is known about them.
type machine struct {
	model   timeline.Store
	peers   []*peer
	tenants map[string]*known
	clock   int
	last    struct{ tenant, conversation string }
}

// peer is a store that must agree with the model.
type peer struct {
	store  timeline.Store
	trunks map[int64]int64 // the model's numbers to the store's
}

// known is what operations on a tenant may refer to.
type known struct {
	places []timeline.Place
	hashes []timeline.Hash
}

func (m *machine) now() time.Time {
	m.clock++
	return noon.Add(time.Duration(m.clock) * 1700 * time.Millisecond / 3)
}

// there returns the store's place for a place of the model.
func (s *peer) there(p timeline.Place) timeline.Place {
	if number, ok := s.trunks[p.Trunk]; ok {
		p.Trunk = number
	}
	return p
}

// same fails unless the store's place corresponds to the model's. It learns
// the number of a trunk that it sees for the first time.
func (s *peer) same(r *rapid.T, what string, model, store timeline.Place) {
	r.Helper()
	if _, known := s.trunks[model.Trunk]; !known && model.Trunk > 0 {
		if store.Trunk <= 0 {
			r.Fatalf("%s: place %v where the model has a new trunk", what, store)
		}
		s.trunks[model.Trunk] = store.Trunk
	}
	if s.there(model) != store {
		r.Fatalf("%s: place %v, want %v (the model's %v)", what, store, s.there(model), model)
	}
}

var sentinels = []error{timeline.ErrNoConversation, timeline.ErrNoPlace, timeline.ErrNoContent, timeline.ErrChanged,
	timeline.ErrForms, timeline.ErrInvalid, timeline.ErrNoToken}

// failed fails unless both errors are of the same kind, and reports whether
// there is one.
func (m *machine) failed(r *rapid.T, what string, model, store error) bool {
	r.Helper()
	for _, s := range sentinels {
		if errors.Is(model, s) != errors.Is(store, s) {
			r.Fatalf("%s: error %v, want %v", what, store, model)
		}
	}
	if (model == nil) != (store == nil) {
		r.Fatalf("%s: error %v, want %v", what, store, model)
	}
	return model != nil
}

func (m *machine) equal(r *rapid.T, what string, model, store any) {
	r.Helper()
	if diff := cmp.Diff(model, store); diff != "" {
		r.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

// Draws.

func tenantName(r *rapid.T) string {
	return rapid.SampledFrom([]string{"local", "other"}).Draw(r, "tenant")
}

func conversationName(r *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "conversation")
}

func (m *machine) place(r *rapid.T, tenant string) timeline.Place {
	p := rapid.SampledFrom(m.tenants[tenant].places).Draw(r, "place")
	if rapid.IntRange(0, 15).Draw(r, "shift") == 15 {
		p.Depth++ // may or may not exist
	}
	return p
}

// message draws one of few identities in one of few forms, so that messages
// repeat.
func message(r *rapid.T) timeline.Message {
	text := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(r, "says")
	m := form(text, text+rapid.SampledFrom([]string{"", " ", "\n"}).Draw(r, "form"))
	if rapid.Bool().Draw(r, "bears time") {
		m.Time = noon.Add(-time.Duration(rapid.IntRange(1, 1e9).Draw(r, "ago")))
		m.Ref = "ref"
	}
	return m
}

func messages(r *rapid.T, least, most int) []timeline.Message {
	return rapid.SliceOfN(rapid.Custom(message), least, most).Draw(r, "messages")
}

func (m *machine) record(r *rapid.T, tenant string) timeline.Record {
	n := timeline.Record{
		Kind: rapid.SampledFrom([]string{"pin", "plan"}).Draw(r, "kind"),
		Key:  rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "key"),
		Data: []byte(rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "data")),
	}
	switch rapid.IntRange(0, 4).Draw(r, "where") {
	case 1:
		n.At = timeline.AtHead()
	case 3:
		n.At = timeline.AtDepth(int64(rapid.IntRange(1, 6).Draw(r, "depth")))
	case 2:
		n.At = m.place(r, tenant)
	}
	for range rapid.IntRange(0, 2).Draw(r, "contents") {
		n.Contents = append(n.Contents, timeline.HashOf(contentBytes(r)))
	}
	return n
}

func contentBytes(r *rapid.T) []byte {
	return []byte(rapid.SampledFrom([]string{"content 1", "content 2", "p", "q "}).Draw(r, "bytes"))
}

// Operations.

// change draws a whole change, valid or not.
func (m *machine) change(r *rapid.T) {
	tenant := tenantName(r)
	c := timeline.Change{Conversation: conversationName(r), Now: m.now()}
	switch rapid.IntRange(0, 5).Draw(r, "how") {
	case 0:
		c.Stay = true
	case 1:
		c.At = m.place(r, tenant)
	default:
		c.At = m.place(r, tenant)
		c.Messages = messages(r, 1, 4)
		c.Stay = rapid.IntRange(0, 4).Draw(r, "stays") == 4
		if rapid.IntRange(0, 3).Draw(r, "knows forms") == 3 {
			c.Forms = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 2}), len(c.Messages), len(c.Messages)).Draw(r,
				"forms")
		}
	}
	if rapid.IntRange(0, 7).Draw(r, "began before") == 7 {
		c.Began = c.Now.Add(-time.Minute)
	}
	if rapid.IntRange(0, 3).Draw(r, "expects") == 3 {
		now, _ := m.model.Conversation(ctx, tenant, c.Conversation)
		c.Expect = ptr(now.Revision + int64(rapid.SampledFrom([]int{0, 0, 1, -1}).Draw(r, "wrong by")))
	}
	if rapid.IntRange(0, 4).Draw(r, "labels") == 4 {
		c.Project = rapid.SampledFrom([]string{"", "p1", "p2"}).Draw(r, "project")
		c.Continues = conversationName(r)
	}
	if rapid.Bool().Draw(r, "records") {
		for range rapid.IntRange(0, 2).Draw(r, "contents given") {
			c.Contents = append(c.Contents, contentBytes(r))
		}
		for range rapid.IntRange(0, 2).Draw(r, "puts") {
			c.Put = append(c.Put, m.record(r, tenant))
		}
		for range rapid.IntRange(0, 2).Draw(r, "drops") {
			n := m.record(r, tenant)
			c.Drop = append(c.Drop, timeline.Key{Kind: n.Kind, Key: n.Key})
		}
	}
	m.apply(r, tenant, c)
}

// goOn appends to a conversation's head, as most changes do.
func (m *machine) goOn(r *rapid.T) {
	tenant, name := tenantName(r), conversationName(r)
	now, _ := m.model.Conversation(ctx, tenant, name)
	m.apply(r, tenant, timeline.Change{Conversation: name, At: now.Head, Expect: &now.Revision,
		Messages: messages(r, 1, 5), Now: m.now()})
}

// resend sends a history from its beginning, with some messages in other
// forms.
func (m *machine) resend(r *rapid.T) {
	tenant, name := tenantName(r), conversationName(r)
	all, err := entries(m.model, tenant, m.place(r, tenant), 1, math.MaxInt64, false)
	if err != nil {
		return
	}
	c := timeline.Change{Conversation: name, Now: m.now()}
	for i := range all {
		if rapid.IntRange(0, 7).Draw(r, "otherwise") == 7 {
			all[i].Raw = append(all[i].Raw, '\t')
		}
		c.Messages = append(c.Messages, all[i].Message)
	}
	c.Messages = append(c.Messages, messages(r, 0, 2)...)
	m.apply(r, tenant, c)
}

func (m *machine) apply(r *rapid.T, tenant string, c timeline.Change) {
	m.last.tenant, m.last.conversation = tenant, c.Conversation
	want, err := m.model.Apply(ctx, tenant, c)
	for _, s := range m.peers {
		other := c
		other.At = s.there(c.At)
		other.Put = s.records(c.Put)
		got, err2 := s.store.Apply(ctx, tenant, other)
		if m.failed(r, "apply", err, err2) {
			continue
		}
		m.equal(r, "new", want.New, got.New)
		m.equal(r, "revision", want.Revision, got.Revision)
		m.equal(r, "number of places", len(want.Places), len(got.Places))
		for i, p := range want.Places {
			s.same(r, fmt.Sprintf("place %d", i), p, got.Places[i])
		}
		s.same(r, "head", want.Head, got.Head)
	}
	if err != nil {
		return
	}
	k := m.tenants[tenant]
	for i, p := range want.Places {
		k.places = append(k.places, p)
		k.hashes = append(k.hashes, timeline.HashOf(c.Messages[i].Raw))
	}
}

// records translates records of the model to the store.
func (s *peer) records(of []timeline.Record) []timeline.Record {
	var all []timeline.Record
	for _, n := range of {
		n.At = s.there(n.At)
		all = append(all, n)
	}
	return all
}

func (m *machine) remove(r *rapid.T) {
	if rapid.IntRange(0, 2).Draw(r, "really") > 0 {
		return
	}
	tenant, name := tenantName(r), conversationName(r)
	m.last.tenant, m.last.conversation = tenant, name
	want, err := m.model.Delete(ctx, tenant, name, nil)
	for _, s := range m.peers {
		got, err2 := s.store.Delete(ctx, tenant, name, nil)
		if !m.failed(r, "delete", err, err2) {
			m.equal(r, "deleted", want, got)
		}
	}
	if err == nil {
		m.forget()
	}
}

// forget forgets deleted trunks: a store may reuse their numbers.
func (m *machine) forget() {
	gone := map[int64]bool{}
	for _, k := range m.tenants {
		for _, p := range k.places {
			gone[p.Trunk] = true
		}
	}
	for name, k := range m.tenants {
		var left []timeline.Place
		for _, p := range k.places {
			_, _, err := m.model.Under(ctx, name, p, timeline.Hash{})
			if err == nil {
				delete(gone, p.Trunk)
			}
			if err == nil || p.Trunk == nowhere {
				left = append(left, p)
			}
		}
		k.places = left
	}
	for trunk := range gone {
		for _, s := range m.peers {
			delete(s.trunks, trunk)
		}
	}
}

package storetest

import (
	"bytes"
	"math"
	"slices"

	"github.com/oriel-context/oriel/timeline"
	"pgregory.net/rapid"
)

// read compares a range of a history.
func (m *machine) read(r *rapid.T) {
	tenant := tenantName(r)
	to := m.place(r, tenant)
	first := rapid.Int64Range(-1, to.Depth+2).Draw(r, "first")
	last := rapid.Int64Range(-1, to.Depth+2).Draw(r, "last")
	m.sameMessages(r, tenant, to, first, last, rapid.Bool().Draw(r, "hashes"))
}

func (m *machine) sameMessages(r *rapid.T, tenant string, to timeline.Place, first, last int64, hashes bool) {
	r.Helper()
	want, err := entries(m.model, tenant, to, first, last, hashes)
	for _, s := range m.peers {
		got, err2 := entries(s.store, tenant, s.there(to), first, last, hashes)
		if !m.failed(r, "messages", err, err2) {
			m.sameEntries(r, s, slices.Clone(want), got)
		}
	}
}

func (m *machine) sameEntries(r *rapid.T, s *peer, want, got []timeline.Entry) {
	r.Helper()
	m.equal(r, "number of messages", len(want), len(got))
	for i := range want {
		w, g := &want[i], &got[i]
		s.same(r, "message", w.Place, g.Place)
		w.Place, g.Place = timeline.Place{}, timeline.Place{}
		if !bytes.Equal(w.Raw, g.Raw) || !slices.Equal(w.Variants, g.Variants) || w.Identity != g.Identity ||
			w.Content != g.Content ||
			w.Format != g.Format || w.Role != g.Role || w.Ref != g.Ref || !w.Time.Equal(g.Time) {
			m.equal(r, "message", *w, *g)
		}
	}
}

// under compares the messages after a place.
func (m *machine) under(r *rapid.T) {
	tenant := tenantName(r)
	at, says := m.place(r, tenant), message(r).Identity
	want, found, err := m.model.Under(ctx, tenant, at, says)
	for _, s := range m.peers {
		got, found2, err2 := s.store.Under(ctx, tenant, s.there(at), says)
		if m.failed(r, "under", err, err2) {
			continue
		}
		m.equal(r, "found under", found, found2)
		s.same(r, "under", want, got)
	}
}

func (m *machine) content(r *rapid.T) {
	tenant := tenantName(r)
	hashes := append([]timeline.Hash{timeline.HashOf(contentBytes(r)), {}}, m.tenants[tenant].hashes...)
	h := rapid.SampledFrom(hashes).Draw(r, "hash")
	want, err := m.model.Content(ctx, tenant, h)
	for _, s := range m.peers {
		got, err2 := s.store.Content(ctx, tenant, h)
		if !m.failed(r, "content", err, err2) && !bytes.Equal(want, got) {
			r.Fatalf("content: %q, want %q", got, want)
		}
	}
}

func (m *machine) sameRecords(r *rapid.T, s *peer, want, got []timeline.Record) {
	r.Helper()
	m.equal(r, "number of records", len(want), len(got))
	for i := range want {
		w, g := &want[i], &got[i]
		s.same(r, "record", w.At, g.At)
		if w.Kind != g.Kind || w.Key != g.Key || !w.Time.Equal(g.Time) || !bytes.Equal(w.Data, g.Data) ||
			!slices.Equal(w.Contents, g.Contents) {
			r.Fatalf("record %+v, want %+v", *g, *w)
		}
	}
}

// touched compares what the last operation may have changed.
func (m *machine) touched(r *rapid.T) {
	if m.last.tenant == "" {
		return
	}
	m.sameConversation(r, m.last.tenant, m.last.conversation)
	m.sameStats(r, m.last.tenant)
	m.last.tenant = ""
}

func (m *machine) sameStats(r *rapid.T, tenant string) {
	r.Helper()
	want, err := m.model.Stats(ctx, tenant)
	want.Stored, want.Disk = 0, 0
	for _, s := range m.peers {
		got, err2 := s.store.Stats(ctx, tenant)
		if m.failed(r, "stats", err, err2) {
			continue
		}
		got.Stored, got.Disk = 0, 0
		m.equal(r, "stats", want, got)
	}
}

func (m *machine) sameConversation(r *rapid.T, tenant, name string) {
	r.Helper()
	for _, s := range m.peers {
		m.sameConversationOf(r, s, tenant, name)
	}
}

func (m *machine) sameConversationOf(r *rapid.T, s *peer, tenant, name string) {
	r.Helper()
	want, err := m.model.Conversation(ctx, tenant, name)
	got, err2 := s.store.Conversation(ctx, tenant, name)
	if m.failed(r, "conversation", err, err2) {
		return
	}
	s.same(r, "head", want.Head, got.Head)
	want.Head = got.Head
	m.equal(r, "conversation", want, got)
	heads, err := m.model.Heads(ctx, tenant, name)
	heads2, err2 := s.store.Heads(ctx, tenant, name)
	if m.failed(r, "heads", err, err2) {
		return
	}
	m.equal(r, "number of heads", len(heads), len(heads2))
	for i := range heads {
		s.same(r, "head", heads[i], heads2[i])
	}
	for _, kind := range []string{"pin", "plan"} {
		for _, key := range []string{"", "2"} {
			records, err := m.model.Records(ctx, tenant, name, kind, key)
			records2, err2 := s.store.Records(ctx, tenant, name, kind, key)
			if !m.failed(r, "records", err, err2) {
				m.sameRecords(r, s, records, records2)
			}
		}
		keys, err := m.model.RecordKeys(ctx, tenant, name, kind)
		keys2, err2 := s.store.RecordKeys(ctx, tenant, name, kind)
		if !m.failed(r, "keys of records", err, err2) && !slices.Equal(keys, keys2) {
			r.Fatalf("keys of records of %s: %q and %q", kind, keys, keys2)
		}
	}
}

// everything compares all contents, every branch byte for byte, and has all
// stores verify themselves.
func (m *machine) everything(r *rapid.T) {
	for tenant := range m.tenants {
		want, err := m.model.Conversations(ctx, tenant)
		for _, s := range m.peers {
			got, err2 := s.store.Conversations(ctx, tenant)
			if m.failed(r, "conversations", err, err2) {
				continue
			}
			m.equal(r, "number of conversations", len(want), len(got))
			for i := range want {
				m.equal(r, "name", want[i].Name, got[i].Name)
			}
		}
		for i := range want {
			m.sameConversation(r, tenant, want[i].Name)
			heads, _ := m.model.Heads(ctx, tenant, want[i].Name)
			for _, to := range heads {
				m.sameMessages(r, tenant, to, 1, math.MaxInt64, false)
			}
		}
		m.sameStats(r, tenant)
		for _, kind := range derivedKinds {
			m.sameDerived(r, tenant, kind, m.tenants[tenant].hashes)
		}
	}
	m.sameTokens(r)
	for _, s := range append([]*peer{{store: m.model}}, m.peers...) {
		if err := s.store.Verify(ctx, func(p timeline.Problem) { r.Errorf("%T: %+v", s.store, p) }); err != nil {
			r.Fatalf("verify %T: %v", s.store, err)
		}
	}
}

package storetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/timeline"
	"pgregory.net/rapid"
)

// derivedOf reads the derived data of contents.
func derivedOf(s timeline.Store, tenant, kind string, contents ...timeline.Hash) (map[timeline.Hash]string, error) {
	found := map[timeline.Hash]string{}
	return found, s.Derived(ctx, tenant, kind, contents, func(h timeline.Hash, data []byte) error {
		found[h] = string(data)
		return nil
	})
}

func (f *fixture) keepDerived(tenant, kind, content, data string) {
	f.Helper()
	if err := f.KeepDerived(ctx, tenant, kind,
		[]timeline.Derived{{Content: timeline.HashOf([]byte(content)), Data: []byte(data)}}); err != nil {
		f.Fatal(err)
	}
}

// derives fails unless a content has the given data of a kind; "" means none.
func (f *fixture) derives(tenant, kind, content, want string) {
	f.Helper()
	h := timeline.HashOf([]byte(content))
	found, err := derivedOf(f.Store, tenant, kind, timeline.Hash{}, h, timeline.HashOf([]byte("nowhere")))
	if err != nil {
		f.Fatal(err)
	}
	if got, ok := found[h]; got != want || ok != (want != "") {
		f.Errorf("%s of %q: %q, want %q", kind, content, got, want)
	}
}

var derivedCases = []testCase{
	{"data is kept by kind, and the last of a family stays", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "aa"), form("2", "bb")}})
		f.keepDerived(timeline.Local, "vector/x", "aa", "xa")
		f.keepDerived(timeline.Local, "vector/x", "bb", "xb")
		f.keepDerived(timeline.Local, "summary/x", "aa", "sa")
		f.derives(timeline.Local, "vector/x", "aa", "xa")
		f.derives(timeline.Local, "vector", "aa", "")
		f.derives(timeline.Local, "vector/y", "aa", "")
		f.keepDerived(timeline.Local, "vector/x", "aa", "again")
		f.derives(timeline.Local, "vector/x", "aa", "again")
		f.keepDerived(timeline.Local, "vector/y", "aa", "ya")
		f.derives(timeline.Local, "vector/x", "aa", "")
		f.derives(timeline.Local, "vector/y", "aa", "ya")
		f.derives(timeline.Local, "vector/x", "bb", "xb")
		f.derives(timeline.Local, "summary/x", "aa", "sa")
		st := f.stats()
		f.equal("derived", [2]int64{st.Derived, st.DerivedBytes}, [2]int64{3, 6})
	}},
	{"data goes with its content", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "a", Messages: []timeline.Message{form("1", "same"), form("2", "own")},
			Contents: [][]byte{[]byte("noted")},
			Put:      []timeline.Record{rec("k", "1", "", timeline.HashOf([]byte("noted")))}})
		f.apply(timeline.Change{Conversation: "b", Messages: []timeline.Message{form("other", "same")}})
		for _, content := range []string{"same", "own", "noted", "never there"} {
			f.keepDerived(timeline.Local, "v", content, "of "+content)
		}
		f.equal("derived", f.stats().Derived, int64(3))
		f.apply(timeline.Change{Conversation: "a", Stay: true, Drop: []timeline.Key{{Kind: "k", Key: "1"}}})
		f.derives(timeline.Local, "v", "noted", "")
		f.remove("a")
		f.derives(timeline.Local, "v", "same", "of same")
		f.derives(timeline.Local, "v", "own", "")
		f.equal("derived", f.stats().Derived, int64(1))
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("2", "own")}})
		f.derives(timeline.Local, "v", "own", "")
	}},
	{"tenants do not meet", func(f *fixture) {
		f.keepDerived("nobody", "v", "aa", "lost")
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "aa")}})
		f.applyAs("other", timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "aa")}})
		f.keepDerived(timeline.Local, "v", "aa", "mine")
		f.derives("other", "v", "aa", "")
		f.derives("nobody", "v", "aa", "")
		f.keepDerived("other", "v", "aa", "theirs")
		f.derives(timeline.Local, "v", "aa", "mine")
		f.derives("other", "v", "aa", "theirs")
	}},
	{"what no store can keep is refused", func(f *fixture) {
		for _, kind := range []string{"", "/x", "a\x00", strings.Repeat("k", timeline.MaxName+1)} {
			if err := f.KeepDerived(ctx, timeline.Local, kind, nil); !errors.Is(err, timeline.ErrInvalid) {
				f.Errorf("kind %q: %v", kind, err)
			}
		}
		if err := f.KeepDerived(ctx, "", "v", nil); !errors.Is(err, timeline.ErrInvalid) {
			f.Error(err)
		}
	}},
	{"a visit can be ended", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "aa"), form("2", "bb")}})
		f.keepDerived(timeline.Local, "v", "aa", "1")
		f.keepDerived(timeline.Local, "v", "bb", "2")
		enough, n := errors.New("enough"), 0
		err := f.Derived(ctx, timeline.Local, "v", []timeline.Hash{timeline.HashOf([]byte("aa")),
			timeline.HashOf([]byte("bb"))}, func(timeline.Hash, []byte) error {
			n++
			return enough
		})
		if err != enough || n != 1 {
			f.Errorf("%d visits, %v", n, err)
		}
	}},
}

var derivedKinds = []string{"v/1", "v/2", "w"}

// keepDerived stores data for some contents, which may not exist.
func (m *machine) keepDerived(r *rapid.T) {
	tenant := tenantName(r)
	hashes := append([]timeline.Hash{timeline.HashOf(contentBytes(r)), {}}, m.tenants[tenant].hashes...)
	kind := rapid.SampledFrom(derivedKinds).Draw(r, "kind")
	var data []timeline.Derived
	for range rapid.IntRange(0, 3).Draw(r, "how many") {
		data = append(data, timeline.Derived{
			Content: rapid.SampledFrom(hashes).Draw(r, "content"),
			Data:    []byte(rapid.SampledFrom([]string{"", "d", "dd"}).Draw(r, "data")),
		})
	}
	err := m.model.KeepDerived(ctx, tenant, kind, data)
	for _, s := range m.peers {
		m.failed(r, "keep derived", err, s.store.KeepDerived(ctx, tenant, kind, data))
	}
	m.sameStats(r, tenant)
}

func (m *machine) derived(r *rapid.T) {
	tenant := tenantName(r)
	m.sameDerived(r, tenant, rapid.SampledFrom(derivedKinds).Draw(r, "kind"),
		slices.Concat(m.tenants[tenant].hashes, []timeline.Hash{timeline.HashOf(contentBytes(r))}))
}

func (m *machine) sameDerived(r *rapid.T, tenant, kind string, contents []timeline.Hash) {
	r.Helper()
	want, err := derivedOf(m.model, tenant, kind, contents...)
	for _, s := range m.peers {
		got, err2 := derivedOf(s.store, tenant, kind, contents...)
		if !m.failed(r, "derived", err, err2) {
			m.equal(r, "derived", want, got)
		}
	}
}

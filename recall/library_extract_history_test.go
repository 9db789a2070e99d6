package recall

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// finding counts the extracts that are found.
type finding struct {
	*sqlite.Store
	found atomic.Int64
}

func (f *finding) Extract(ctx context.Context, tenant, kind string, at timeline.Place) (timeline.Extract, bool, error) {
	x, found, err := f.Store.Extract(ctx, tenant, kind, at)
	if found {
		f.found.Add(1)
	}
	return x, found, err
}

// hiding is a store without its extracts.
type hiding struct{ timeline.Store }

// Whatever happens to a history, a search finds the same with extracts and without, in a
// library that lives on and in a new one.
func TestExtractsChangeNoResult(t *testing.T) {
	dir := t.TempDir()
	store := &finding{Store: openSQLite(t, dir, sqlite.Options{})}
	other := &finding{Store: openSQLite(t, dir, sqlite.Options{})} // as another process would have it
	tenant, n, clock := 0, 0, monday
	rapid.Check(t, func(r *rapid.T) {
		tenant++
		h := &extractHistory{T: r, tenant: fmt.Sprint("t", tenant), places: []timeline.Place{{}}, n: &n, clock: &clock}
		options := LibraryOptions{Count: func(text string) int { return len(text)/4 + 1 },
			Report: func(err error) { t.Error(err) }}
		live, plain := NewLibrary(store, options), NewLibrary(hiding{store}, options)
		defer live.Close()
		defer plain.Close()
		for range rapid.IntRange(4, 16).Draw(r, "steps") {
			store, other := store, other
			if rapid.Bool().Draw(r, "another process") {
				store, other = other, store
			}
			switch rapid.IntRange(0, 9).Draw(r, "step") {
			default:
				h.say(store)
			case 5:
				h.delete(store)
			case 6, 7:
				h.same(live, plain, h.where(), true)
			case 8, 9:
				fresh, reads := NewLibrary(store, options), NewLibrary(hiding{other}, options)
				h.same(fresh, reads, h.where(), rapid.Bool().Draw(r, "waits"))
				fresh.Close()
				reads.Close()
			}
		}
		h.same(live, plain, h.where(), true)
		// At the end of each history there is something to keep, and new libraries of both
		// processes find it.
		h.end(store)
		for i, s := range []*finding{store, store, other} {
			before := s.found.Load()
			fresh, reads := NewLibrary(s, options), NewLibrary(hiding{s}, options)
			h.same(fresh, reads, Where{Tenant: h.tenant, Conversation: "end", Reach: ReachUser}, true)
			fresh.Close()
			reads.Close()
			if i > 0 && s.found.Load() == before {
				r.Fatalf("new library %d finds no extract", i)
			}
		}
	})
	if err := store.Verify(t.Context(), func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
}

// extractHistory makes a history and asks about it.
type extractHistory struct {
	*rapid.T
	tenant string
	places []timeline.Place
	n      *int
	clock  *time.Time
}

func (h *extractHistory) name() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(h.T, "name")
}

// say goes on with a conversation, or begins a branch or another one.
func (h *extractHistory) say(store timeline.Store) {
	*h.clock = h.clock.Add(time.Second)
	c := timeline.Change{Conversation: h.name(), Now: *h.clock, At: rapid.SampledFrom(h.places).Draw(h.T, "at")}
	now, err := store.Conversation(h.Context(), h.tenant, c.Conversation)
	if err == nil && rapid.IntRange(0, 3).Draw(h.T, "goes on") > 0 {
		c.At = now.Head
	}
	if err == nil && rapid.IntRange(0, 5).Draw(h.T, "private") == 0 {
		if _, err := store.Apply(h.Context(), h.tenant, now.PrivateChange(rapid.Bool().Draw(h.T, "is private"),
			*h.clock)); err != nil {
			h.Fatal(err)
		}
	}
	c.Project = rapid.SampledFrom([]string{"", "p", "q"}).Draw(h.T, "project")
	c.Continues = rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(h.T, "continues")
	for range rapid.SampledFrom([]int{0, 1, 3, 5, 20, 70}).Draw(h.T, "messages") {
		c.Messages = append(c.Messages, h.message())
	}
	done, err := store.Apply(h.Context(), h.tenant, c)
	if err != nil {
		return // the place is gone
	}
	h.places = append(h.places, done.Places...)
}

// end begins a conversation that is long enough to be kept.
func (h *extractHistory) end(store timeline.Store) {
	*h.clock = h.clock.Add(time.Second)
	c := timeline.Change{Conversation: "end", Now: *h.clock}
	for range 2 * worthKeeping {
		c.Messages = append(c.Messages, h.message())
	}
	if _, err := store.Apply(h.Context(), h.tenant, c); err != nil {
		h.Fatal(err)
	}
}

// delete deletes a conversation. Another one may use its beginning and go on from there.
func (h *extractHistory) delete(store timeline.Store) {
	name, heir := h.name(), h.name()
	c, err := store.Conversation(h.Context(), h.tenant, name)
	if err == nil && heir != name && rapid.Bool().Draw(h.T, "leaves an heir") {
		at := timeline.Place{Trunk: c.Head.Trunk, Depth: c.Head.Depth - rapid.Int64Range(0, 70).Draw(h.T, "less")}
		_, _ = store.Apply(h.Context(), h.tenant, timeline.Change{Conversation: heir, At: at, Now: *h.clock})
	}
	_, _ = store.Delete(h.Context(), h.tenant, name, nil) // if it is there
}

// message returns the next message: words, a call, the result of a call some messages
// before, one that says nothing, one that came before in other bytes.
func (h *extractHistory) message() timeline.Message {
	*h.n++
	n := *h.n
	m := timeline.Message{Format: timeline.FormatAnthropic, Role: "user", Ref: fmt.Sprint("r", n),
		Time: h.clock.Add(time.Duration(n%11*n) * time.Minute)}
	raw := ""
	switch n * 7919 % 13 % 7 {
	case 0:
		raw = fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/common/%d"}}]}`, n%5, n)
	case 1, 2:
		raw = fmt.Sprintf(
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"common result %d"}]}`, n%5,
			n)
	case 3:
		raw = `{"role":"assistant","content":[]}`
		m.Time = time.Time{}
	case 4:
		raw = fmt.Sprintf(`{"role":"user","content":%s"common matter %d, always"}`, strings.Repeat(" ", n%3), n/20)
	case 5:
		raw, m.Format = fmt.Sprintf("common matter of item %d", n), timeline.FormatItem
	default:
		raw = fmt.Sprintf(`{"role":"assistant","content":"common matter %d"}`, n)
	}
	m.Raw, m.Identity = []byte(raw), timeline.HashOf([]byte(strings.ReplaceAll(raw, " ", "")))
	return m
}

// where returns a part of the history, of a conversation as a whole or up to a place.
func (h *extractHistory) where() Where {
	w := Where{Tenant: h.tenant, Conversation: h.name(),
		Reach: rapid.SampledFrom([]Reach{ReachConversation, ReachProject, ReachUser}).Draw(h.T, "reach")}
	if rapid.IntRange(0, 2).Draw(h.T, "at a place") == 0 {
		w.At = rapid.SampledFrom(h.places).Draw(h.T, "place")
	}
	return w
}

// same fails unless two libraries find the same.
func (h *extractHistory) same(with, without *Library, w Where, waits bool) {
	ask := RecallOptions{Floor: -1, Top: -1, Budget: 1 << 20, Mode: Keyword, Directives: -1}
	got, err := with.Recall(h.Context(), w, "common matter", ask)
	want, wantErr := without.Recall(h.Context(), w, "common matter", ask)
	if diff := cmp.Diff(want, got, sameResult); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		h.Fatalf("%+v: %v, %v\n%s", w, err, wantErr, diff)
	}
	if !waits {
		return
	}
	for _, l := range []*Library{with, without} {
		if err := l.Wait(h.Context()); err != nil {
			h.Fatal(err)
		}
	}
}

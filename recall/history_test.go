package recall

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

func item(text string) timeline.Message {
	return timeline.Message{Identity: timeline.TextIdentity("user", text), Raw: []byte(text),
		Format: timeline.FormatItem, Role: "user", Time: monday}
}

// apply makes a change of texts.
func apply(t testing.TB, store timeline.Store, tenant string, c timeline.Change, texts ...string) timeline.Applied {
	t.Helper()
	if c.Now.IsZero() {
		c.Now = monday
	}
	for _, text := range texts {
		c.Messages = append(c.Messages, item(text))
	}
	done, err := store.Apply(t.Context(), tenant, c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// say appends texts to the head of a conversation.
func say(t testing.TB, store timeline.Store, name string, texts ...string) timeline.Applied {
	t.Helper()
	var at timeline.Place
	if c, err := store.Conversation(t.Context(), timeline.Local, name); err == nil {
		at = c.Head
	}
	return apply(t, store, timeline.Local, timeline.Change{Conversation: name, At: at}, texts...)
}

// shown searches for a word that every text has, and returns what the search brings, by block.
func shown(t testing.TB, l *Library, w Where) string {
	t.Helper()
	if w.Tenant == "" {
		w.Tenant = timeline.Local
	}
	r, err := l.Recall(t.Context(), w, "common", RecallOptions{Floor: -1, Top: -1, Budget: 1 << 16, Mode: Keyword,
		Directives: -1})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, p := range r.Passages {
		out = append(out, p.Block+"="+strings.TrimPrefix(p.Text, "common matter "))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

func matters(names ...string) []string {
	for i := range names {
		names[i] = "common matter " + names[i]
	}
	return names
}

func library(t testing.TB, store timeline.Store, o LibraryOptions) *Library {
	t.Helper()
	if o.Count == nil {
		o.Count = func(text string) int { return len(text)/4 + 1 }
	}
	l := NewLibrary(store, o)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// counted counts the messages that are read.
type counted struct {
	timeline.Store
	read int
}

func (c *counted) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	return c.Store.Messages(ctx, tenant, to, first, last, hashes, func(e *timeline.Entry) error {
		if !hashes {
			c.read++
		}
		return visit(e)
	})
}

func TestWhatTwoConversationsShareIsFoundOnce(t *testing.T) {
	store := memory.New()
	defer store.Close()
	a := say(t, store, "a", matters("one", "two")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "b", At: a.Head}, matters("three")...)
	l := library(t, store, LibraryOptions{})
	for range 2 {
		if got := shown(t, l, Where{Conversation: "a", Reach: ReachUser}); got != "1=one 2=two b#3=three" {
			t.Errorf("a sees %q", got)
		}
		// The same scope, seen from elsewhere.
		if got := shown(t, l, Where{Conversation: "b", Reach: ReachUser}); got != "1=one 2=two 3=three" {
			t.Errorf("b sees %q", got)
		}
	}
	if n := l.Stats().Scopes; n != 1 {
		t.Errorf("%d scopes", n)
	}
}

// SPEC D2, D8: only what is new is read, and what is beyond a fork goes.
func TestScopesFollowTheirConversation(t *testing.T) {
	store := &counted{Store: memory.New()}
	defer store.Close()
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("m", i+1))
	}
	first := say(t, store, "c", matters(slices.Clone(names)...)...)
	l := library(t, store, LibraryOptions{})
	w := Where{Conversation: "c"}
	if got := shown(t, l, w); strings.Count(got, "=") != 300 || store.read != 300 {
		t.Fatalf("read %d, found %s", store.read, got)
	}
	say(t, store, "c", matters("new")...)
	if got := shown(t, l, w); !strings.Contains(got, "301=new") || store.read != 301 {
		t.Errorf("read %d, found %s", store.read, got)
	}
	branch := apply(t, store, timeline.Local, timeline.Change{Conversation: "c", At: first.Places[294]},
		matters("other", "more")...)
	got := shown(t, l, w)
	if strings.Contains(got, "m296") || strings.Contains(got, "=new") || !strings.Contains(got, "296=other 297=more") ||
		strings.Count(got, "=") != 297 {
		t.Errorf("found %s", got)
	}
	if store.read > 301+2+leadIn {
		t.Errorf("read %d", store.read)
	}
	// The other branch is still there, at its place.
	if got := shown(t, l, Where{Conversation: "c", At: first.Places[299]}); strings.Contains(got, "other") ||
		strings.Count(got, "=") != 300 {
		t.Errorf("found %s", got)
	}
	if got := shown(t, l, Where{Conversation: "c", At: branch.Places[0]}); !strings.Contains(got, "296=other") ||
		strings.Contains(got, "more") {
		t.Errorf("found %s", got)
	}
	if n := l.Stats().Scopes; n != 1 {
		t.Errorf("%d scopes for branches that share most", n)
	}
	// Branches that share little have a scope each, and going back reads nothing.
	apply(t, store, timeline.Local, timeline.Change{Conversation: "c", At: first.Places[9]}, matters("far")...)
	if got := shown(t, l, w); !strings.Contains(got, "11=far") || strings.Count(got, "=") != 11 {
		t.Errorf("found %s", got)
	}
	read := store.read
	if got := shown(t, l, Where{Conversation: "c", At: branch.Places[0]}); strings.Count(got, "=") != 296 {
		t.Errorf("found %s", got)
	}
	if n := l.Stats().Scopes; n != 2 || store.read != read {
		t.Errorf("%d scopes, %d more read", n, store.read-read)
	}
}

// SPEC D10
func TestScopesReachAsFarAsTheyAreAsked(t *testing.T) {
	store := memory.New()
	defer store.Close()
	say(t, store, "old", matters("old")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "mid", Continues: "old"}, matters("mid")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "c", Continues: "mid", Project: "p"},
		matters("own")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "d", Project: "p"}, matters("same project")...)
	apply(t, store, timeline.Local, timeline.Change{Conversation: "e", Project: "q"}, matters("other project")...)
	apply(t, store, "other", timeline.Change{Conversation: "c", Project: "p"}, matters("other tenant")...)
	// A circle ends.
	apply(t, store, timeline.Local, timeline.Change{Conversation: "old", Stay: true, Continues: "c"})
	l := library(t, store, LibraryOptions{})
	for _, c := range []struct {
		w    Where
		want string
	}{
		{Where{Conversation: "c"}, "1=own mid#1=mid old#1=old"},
		{Where{Conversation: "c", Reach: ReachProject}, "1=own d#1=same project mid#1=mid old#1=old"},
		{Where{Conversation: "d", Reach: ReachProject}, "1=same project c#1=own"},
		{Where{Conversation: "d"}, "1=same project"},
		{Where{Conversation: "mid", Reach: ReachProject}, "1=mid c#1=own old#1=old"}, // of no project
		{Where{Conversation: "e", Reach: ReachUser}, "1=other project c#1=own d#1=same project mid#1=mid old#1=old"},
		{Where{Tenant: "other", Conversation: "c", Reach: ReachUser}, "1=other tenant"},
		{Where{Tenant: "nobody", Conversation: "c"}, `no such conversation: "c"`},
		{Where{Conversation: "c", Reach: "world"}, `recall: "world" is not a reach: use conversation, project or user`},
	} {
		if got := shown(t, l, c.w); got != c.want {
			t.Errorf("%+v: %q, want %q", c.w, got, c.want)
		}
	}
}

// Whatever happens to a history, scopes show what it is at the time, under the names
// that people know.
func TestScopesAreTheHistory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		store := memory.New()
		defer store.Close()
		l := NewLibrary(store, LibraryOptions{Count: func(text string) int { return len(text)/4 + 1 },
			Memory: int64(rapid.SampledFrom([]int{1, 1 << 30}).Draw(r, "memory"))})
		defer l.Close()
		places := []timeline.Place{{}}
		n, clock := 0, monday
		name := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "name") }
		r.Repeat(map[string]func(*rapid.T){
			"say": func(r *rapid.T) {
				clock = clock.Add(time.Second)
				c := timeline.Change{Conversation: name(), Now: clock}
				if now, err := store.Conversation(t.Context(), timeline.Local, c.Conversation); err == nil &&
					rapid.Bool().Draw(r, "goes on") {
					c.At = now.Head
				} else {
					c.At = rapid.SampledFrom(places).Draw(r, "at")
				}
				c.Project = rapid.SampledFrom([]string{"", "", "p", "q"}).Draw(r, "project")
				c.Continues = rapid.SampledFrom([]string{"", "", "", "a", "b"}).Draw(r, "continues")
				for range rapid.IntRange(0, 3).Draw(r, "messages") {
					n++
					c.Messages = append(c.Messages, item(fmt.Sprint("common matter ", n)))
				}
				done, err := store.Apply(t.Context(), timeline.Local, c)
				if err != nil {
					return // the place is gone
				}
				places = append(places, done.Places...)
			},
			"delete": func(r *rapid.T) {
				if rapid.IntRange(0, 3).Draw(r, "really") == 0 {
					_, _ = store.Delete(t.Context(), timeline.Local, name(), nil)
				}
			},
			"": func(r *rapid.T) {
				w := Where{Tenant: timeline.Local, Conversation: name(),
					Reach: rapid.SampledFrom([]Reach{ReachConversation, ReachProject, ReachUser}).Draw(r, "reach")}
				if got, want := shown(t, l, w), expected(t, store, w); got != want {
					r.Fatalf("%+v: %q, want %q", w, got, want)
				}
			},
		})
	})
}

// expected is what shown should be, by the definition.
func expected(t *testing.T, store timeline.Store, w Where) string {
	own, err := store.Conversation(t.Context(), w.Tenant, w.Conversation)
	if err != nil {
		return err.Error()
	}
	names := []string{own.Name}
	for next := own.Continues; next != "" && !slices.Contains(names, next); {
		c, err := store.Conversation(t.Context(), w.Tenant, next)
		if err != nil {
			break
		}
		names, next = append(names, next), c.Continues
	}
	all, err := store.Conversations(t.Context(), w.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if !slices.Contains(names, c.Name) && (w.Reach == ReachUser ||
			w.Reach == ReachProject && own.Project != "" && c.Project == own.Project) {
			names = append(names, c.Name)
		}
	}
	seen := map[timeline.Place]bool{}
	var out []string
	for i, name := range names {
		c, err := store.Conversation(t.Context(), w.Tenant, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Messages(t.Context(), w.Tenant, c.Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
			if seen[e.Place] {
				return nil
			}
			seen[e.Place] = true
			block := fmt.Sprint(e.Place.Depth)
			if i > 0 {
				block = name + "#" + block
			}
			out = append(out, block+"="+strings.TrimPrefix(string(e.Raw), "common matter "))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

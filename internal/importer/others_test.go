package importer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// meddled is a store to which something happens before the changes that an import
// makes.
type meddled struct {
	timeline.Store
	n    int
	then func(n int)
}

func (m *meddled) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	m.n++
	m.then(m.n)
	return m.Store.Apply(ctx, tenant, c)
}

// meanwhile imports, and does something before each change.
func (h *history) meanwhile(path string, then func(n int)) *importer.Report {
	h.t.Helper()
	r, err := importer.Import(h.t.Context(), &meddled{Store: h.store, then: then}, []string{path}, importer.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.verify()
	return r
}

// lines returns n messages of the conversation "c" in the generic format.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"conversation\":\"c\",\"ref\":\"%d\",\"text\":\"number %d\"}\n", i+1, i+1)
	}
	return b.String()
}

// add is what another writer does: it appends to where the conversation is.
func (h *history) add(text string) (id int64) {
	h.t.Helper()
	for {
		c, err := h.store.Conversation(h.t.Context(), timeline.Local, "c")
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
			h.t.Error(err)
			return 0
		}
		a, err := h.store.Apply(h.t.Context(), timeline.Local,
			timeline.Change{Conversation: "c", At: c.Head, Expect: &c.Revision, Now: time.Now(),
				Messages: []timeline.Message{{Identity: timeline.TextIdentity("user", text), Raw: []byte(text),
					Format: "item", Role: "user"}}})
		if err == nil {
			return a.Head.Depth
		}
		if !errors.Is(err, timeline.ErrChanged) {
			h.t.Error(err)
			return 0
		}
	}
}

func (h *history) head() timeline.Place {
	h.t.Helper()
	c, err := h.store.Conversation(context.Background(), timeline.Local, "c")
	if err != nil {
		h.t.Fatal(err)
	}
	return c.Head
}

// lengths are those of the branches, the present one first.
func (h *history) lengths() []int64 {
	h.t.Helper()
	heads, err := h.store.Heads(h.t.Context(), timeline.Local, "c")
	if err != nil {
		h.t.Fatal(err)
	}
	var out []int64
	for _, p := range heads {
		out = append(out, p.Depth)
	}
	return out
}

func TestWhatOthersAddDuringAnImportStays(t *testing.T) {
	for name, had := range map[string]int{"a conversation that begins": 0, "one that was there": 100} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			if had > 0 {
				h.importing(importer.Options{}, h.file("c.jsonl", lines(had)))
			}
			told := map[int64]string{}
			r := h.meanwhile(h.file("c.jsonl", lines(2000)), func(n int) {
				if n > 1 && n <= 3 {
					text := fmt.Sprint("added ", n)
					told[h.add(text)] = text
				}
			})
			h.same(2, len(told))
			entries := h.entries("c")
			for id, text := range told {
				h.same(text, string(entries[id-1].Raw))
			}
			h.same(true, r.Conversations[0].Branch)
			if got := h.lengths(); len(got) != 2 || got[1] != 2000 {
				t.Errorf("branches end at %v", got)
			}
		})
	}
}

// Between the bodies of a file, too.
func TestWhatOthersAddBetweenCallsStays(t *testing.T) {
	h := newHistory(t)
	path := h.file("c.jsonl", `{"messages":[{"role":"user","content":"a"}]}
{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}
{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":"c"}]}
`)
	var id int64
	r := h.meanwhile(path, func(n int) {
		if n == 3 { // the message and the record of the first call are written
			id = h.add("mine")
		}
	})
	h.same(int64(2), id)
	h.same("mine", string(h.entries("c")[1].Raw))
	h.same(true, r.Conversations[0].Branch)
	h.same([]int64{2, 3}, h.lengths())
}

func TestAnOlderCopyAtTheSameTimeTakesNothingAway(t *testing.T) {
	for _, tt := range []struct {
		name         string
		had          int
		first, other int
	}{
		{"older during newer", 0, 3000, 1200},
		{"newer during older", 0, 1200, 3000},
		{"older during newer, of one that was there", 10, 3000, 1200},
		{"newer during older, of one that was there", 10, 1200, 3000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t)
			if tt.had > 0 {
				h.importing(importer.Options{}, h.file("c.jsonl", lines(tt.had)))
			}
			other := h.file("other.jsonl", lines(tt.other))
			r := h.meanwhile(h.file("c.jsonl", lines(tt.first)), func(n int) {
				if n == 2 {
					h.same(false, h.importing(importer.Options{}, other).Conversations[0].Branch)
				}
			})
			h.same(false, r.Conversations[0].Branch)
			h.same(lines(3000), h.export("c"))
		})
	}
}

func TestPinsOfOthersDoNotMakeABranch(t *testing.T) {
	h := newHistory(t)
	r := h.meanwhile(h.file("c.jsonl", lines(2000)), func(n int) {
		if n == 2 || n == 6 { // a batch that leads, and the last step
			_, err := h.store.Apply(t.Context(), timeline.Local,
				timeline.Change{Conversation: "c", Stay: true, Now: noon,
					Put: []timeline.Record{{Kind: "pin", Key: "1"}}})
			if err != nil {
				t.Error(err)
			}
		}
	})
	h.same(false, r.Conversations[0].Branch)
	h.same(lines(2000), h.export("c"))
}

// dies imports a file, and fails before the nth change.
func (h *history) dies(path string, before int) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	_, err := importer.Import(ctx, &meddled{Store: h.store, then: func(n int) {
		if n == before {
			cancel()
		}
	}}, []string{path}, importer.Options{})
	if !errors.Is(err, context.Canceled) {
		h.t.Fatal(err)
	}
	h.verify()
}

func TestAnImportThatDiesLeavesTheConversationWhereItWas(t *testing.T) {
	h := newHistory(t)
	path := h.file("c.jsonl", lines(3000))
	h.importing(importer.Options{}, path)
	edited := strings.Replace(lines(3000), "number 1\"", "NUMBER 1\"", 1)
	h.file("c.jsonl", edited)
	for before := 2; before <= 7; before++ { // the 7th moves the head
		h.dies(path, before)
		h.same(lines(3000), h.export("c"))
	}
	h.same(0, h.importing(importer.Options{}, path).New)
	h.same(edited, h.export("c"))
}

func TestCallsThatDieLeaveTheConversationWhereItWas(t *testing.T) {
	h := newHistory(t)
	calls := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ { // the last message of each is another one in the next
			b.WriteString(`{"messages":[`)
			for j := range i {
				fmt.Fprintf(&b, `{"role":"user","content":"%d"},`, j)
			}
			fmt.Fprintf(&b, "{\"role\":\"user\",\"content\":\"last of %d\"}]}\n", i)
		}
		return b.String()
	}
	h.importing(importer.Options{}, h.file("c.jsonl", calls(1, 5)))
	before := h.head()
	h.dies(h.file("c.jsonl", calls(1, 9)), 5)
	h.same(before, h.head())
	h.dies(h.file("c.jsonl", calls(1, 9)), 12)
	h.same(before, h.head())
	h.importing(importer.Options{}, h.file("c.jsonl", calls(1, 9)))
	h.same(int64(10), h.head().Depth)
	again := h.importing(importer.Options{}, h.file("c.jsonl", calls(1, 9)))
	h.same(0, again.New+again.Variants)
	h.same(int64(10), h.head().Depth)
}

// A history that is the beginning of the one that was there leaves it as it is:
// though its bytes are others, and though another call came before it.
func TestABeginningDoesNotTakeTheConversationBack(t *testing.T) {
	h := newHistory(t)
	h.importing(importer.Options{}, h.file("c.jsonl", lines(5)))
	spaced := strings.ReplaceAll(lines(3), `"text":`, `"text": `)
	h.same(3, h.importing(importer.Options{}, h.file("c.jsonl", spaced)).Variants)
	h.same(5, len(h.entries("c")))
	h.same(spaced+lines(5)[len(lines(3)):], h.export("c"))

	h = newHistory(t)
	body := func(words ...string) string {
		for i := range words {
			words[i] = fmt.Sprintf(`{"role":"user","content":%q}`, words[i])
		}
		return `{"messages":[` + strings.Join(words, ",") + "]}\n"
	}
	h.importing(importer.Options{}, h.file("c.jsonl", body("a", "b", "c", "d")))
	before := h.head()
	h.importing(importer.Options{}, h.file("c.jsonl", body("x")+body("a", "b")))
	h.same(before, h.head())
	h.importing(importer.Options{}, h.file("c.jsonl", body("x")+body("a", "b", "y")))
	h.same(int64(3), h.head().Depth)
}

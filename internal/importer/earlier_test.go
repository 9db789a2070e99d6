package importer_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
)

// earlier is a store as an earlier version fills it, which parsed messages differently: they
// have other identities.
type earlier struct{ timeline.Store }

func (e earlier) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		id := c.Messages[i].Identity
		c.Messages[i].Identity = timeline.HashOf(append([]byte("earlier"), id[:]...))
	}
	return e.Store.Apply(ctx, tenant, c)
}

// earlier imports a file as an earlier version does.
func (h *history) earlier(path string) *importer.Report {
	h.t.Helper()
	r, err := importer.Import(h.t.Context(), earlier{h.store}, []string{path}, importer.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// SPEC D1: the same content is stored once, also if an earlier version of the program parsed
// it differently.
func TestImportingAfterAnUpgradeAddsNothing(t *testing.T) {
	for _, file := range []string{"chatgpt.json", "claude-ai.json", "gemini-cli.json", "gemini-cli/chats/session.jsonl",
		"opencode.json", ".aider.chat.history.md"} {
		t.Run(file, func(t *testing.T) {
			h := newHistory(t)
			path := filepath.Join("testdata", filepath.FromSlash(file))
			had := h.earlier(path)
			if had.New == 0 {
				t.Fatal("nothing is imported")
			}
			name := had.Conversations[0].Name
			heads := h.branches(name)
			for range 2 {
				r := h.importing(importer.Options{}, path)
				h.same([]int{had.Messages, 0, 0}, []int{r.Messages, r.New, r.Variants})
				h.same(heads, h.branches(name))
			}
		})
	}
}

// What a file has more than at the time of an earlier version is added behind it, also where
// the same is said twice, and where branches fork.
func TestFilesThatGrewSinceAnUpgradeAddWhatIsNew(t *testing.T) {
	h := newHistory(t)
	chat := "# aider chat started at 2024-05-01 10:00:00\n\n#### yes  \n\nDone.\n\n#### yes  \n\nDone.\n\n"
	path := h.file("a/.aider.chat.history.md", chat)
	h.same(4, h.earlier(path).New)
	h.file("a/.aider.chat.history.md", chat+"#### yes  \n\nDone.\n\n")
	h.same(2, h.importing(importer.Options{}, path).New)
	h.same(strings.Fields(strings.Repeat("yes Done. ", 3)), h.spoken("a 2024-05-01 10:00:00"))

	nodes := map[string]node{"a": {Message: said("one")}, "b": {Parent: "a", Message: said("two")},
		"c": {Parent: "a", Message: said("three")}}
	path = h.file("chatgpt.json", chatGPT("c", nodes))
	h.same(3, h.earlier(path).New)
	nodes["d"], nodes["e"] = node{Parent: "b", Message: said("four")}, node{Parent: "c", Message: said("five")}
	h.same(2, h.importing(importer.Options{}, h.file("chatgpt.json", chatGPT("e", nodes))).New)
	h.same([]string{"one", "three", "five"}, h.spoken("c"))
	h.same([]int64{3, 3}, h.branches("c"))
}

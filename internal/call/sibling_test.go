package call_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A request recalls what was said on its own branch, and nothing of a sibling, also if the head
// of the conversation is there.
func TestRecallSeesNoSiblingBranch(t *testing.T) {
	store := memory.New()
	library := recall.NewLibrary(store, recall.LibraryOptions{})
	t.Cleanup(func() { library.Close() })
	b := start(t, store, moving(false), func(o *call.TestOptions) { o.Profile, o.Recall = "thrifty", library })
	calls := 0
	ask := func(history []object, question string) []object {
		history = append(history[:len(history):len(history)], object{"role": "user", "content": question})
		body, err := json.Marshal(object{"model": "gpt-4o", "messages": history})
		must(err)
		resp, answer := b.send("/v1/chat/completions", body, "X-Oriel-Budget", fmt.Sprint(moverBudget))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, answer)
		}
		var reply struct {
			Choices []struct{ Message object } `json:"choices"`
		}
		must(json.Unmarshal(answer, &reply))
		calls++
		b.settle(calls)
		must(library.Wait(ctx))
		return append(history, object{"role": "assistant", "content": reply.Choices[0].Message["content"]})
	}
	var common []object
	for k := range 3 {
		common = ask(common, fmt.Sprintf("Explain function number %d of harbour.py.", k))
	}
	one, two := common, common
	for k := 3; k < 16; k++ {
		said := fmt.Sprintf("Explain function number %d of harbour.py.", k)
		if k == 4 {
			said += " The lighthouse fund of project Heron has 8812 crowns."
		}
		one = ask(one, said)
	}
	for k := 3; k < 8; k++ {
		two = ask(two, fmt.Sprintf("Explain function number %d of tides.py. %s", k, fact(k)))
	}
	ask(one, "On which port does the staging database of project Heron listen, and how many crowns has the lighthouse fund?")
	b.mu.Lock()
	defer b.mu.Unlock()
	last := string(b.bodies[len(b.bodies)-1])
	if strings.Contains(last, "6543") {
		t.Errorf("the other branch is recalled: %s", last)
	}
	if !strings.Contains(last, "8812") {
		t.Errorf("its own branch is not recalled: %s", last)
	}
}

package token

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

func historyMessage(role chat.Role, text string) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote(text)}},
		Raw: fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text)}
}

// Requests that grow, go back, branch and change in the middle count the same with what is
// cached of earlier ones as without.
func TestAHistoryCountsTheSameAfterAnother(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	cache := NewCache(0)
	models := []Model{Builtin().Lookup("gpt-4o"), Builtin().Lookup("claude-sonnet-4-5")}
	var history []chat.Message
	add := func() {
		role := []chat.Role{chat.User, chat.Assistant}[len(history)%2]
		history = append(history,
			historyMessage(role, strings.Repeat("some words and more ", rng.IntN(5))+fmt.Sprint(rng.IntN(50))))
	}
	for i := range 120 {
		switch rng.IntN(8) {
		case 0:
			history = append([]chat.Message(nil), history[:rng.IntN(len(history)+1)]...)
		case 1:
			if len(history) > 0 {
				history = append([]chat.Message(nil), history...)
				history[rng.IntN(len(history))] = historyMessage(chat.User, fmt.Sprint("another text ", i))
			}
		default:
			for range rng.IntN(6) {
				add()
			}
		}
		r := &chat.Request{Messages: history}
		for _, m := range models {
			got, want := NewCounter(m, Options{Cache: cache}).Request(r), NewCounter(m, Options{}).Request(r)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("request %d of %d messages: %+v, without a cache %+v", i, len(history), got, want)
			}
		}
	}
}

func TestAResentHistoryIsFoundAsAWhole(t *testing.T) {
	cache := NewCache(0)
	c := NewCounter(Builtin().Lookup("gpt-4o"), Options{Cache: cache})
	var history []chat.Message
	for i := range 3 * minRun {
		history = append(history, historyMessage(chat.User, fmt.Sprint("message ", i)))
	}
	c.Sizes(&chat.Request{Messages: history[:2*minRun]})
	if got := c.newRun(history[:2*minRun+5]).find(); len(got) != 2*minRun {
		t.Errorf("%d messages of %d are found", len(got), 2*minRun)
	}
	c.Sizes(&chat.Request{Messages: history})
	if n := len(cache.runs.known); n != 1 || cache.runs.messages != len(history) {
		t.Errorf("%d histories of %d messages are cached for one that grew to %d", n, cache.runs.messages, len(history))
	}
}

func TestCachedHistoriesAreBounded(t *testing.T) {
	var r runs
	for i := range 2 * maxRuns {
		r.keep(cacheKey{uint64(i), 1}, make([]cacheValue, maxRunMessages/100), cacheKey{})
	}
	if len(r.known) > maxRuns || r.messages > maxRunMessages || r.messages < maxRunMessages/2 {
		t.Errorf("%d histories of %d messages", len(r.known), r.messages)
	}
	sum := cacheKey{2*maxRuns - 1, 1}
	if r.known[sum] == nil {
		t.Error("the newest has left")
	}
}

package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// lengths is a model whose vectors tell how long texts are.
type lengths struct{}

func (lengths) Name() string { return "lengths" }

func (lengths) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 32)
		vectors[i][len(text)%32] = 1
	}
	return vectors, nil
}

// A conversation that has a plan is read and embedded before anybody asks: when a call is
// cut, when a call was recorded, and when a call finds it again after a restart. One
// without a plan is not.
func TestRecallIsPreparedForConversationsWithAPlan(t *testing.T) {
	dir := t.TempDir()
	var answering atomic.Pointer[recall.LibraryStats] // while the model answers: the call is not recorded yet
	ready := func(library *recall.Library) recall.LibraryStats {
		t.Helper()
		if err := library.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		n := library.Stats()
		if n.Embedded != n.Passages {
			t.Errorf("not everything is embedded: %+v", n)
		}
		return n
	}
	begin := func() (*talker, *recall.Library) {
		store := openStore(t, dir)
		library := recall.NewLibrary(store, recall.LibraryOptions{Model: lengths{}})
		k := newTalker(start(t, store, func(r *fakemodel.Request) fakemodel.Answer {
			n := ready(library)
			answering.Store(&n)
			return replying(r)
		}, thrifty, func(o *call.TestOptions) { o.Recall = library }), "X-Oriel-Budget", "3000")
		t.Cleanup(func() { library.Close() }) // before the store
		return k, library
	}
	// Nothing is looked for where this is said.
	silent := func(k *talker) (plan string) {
		t.Helper()
		k.list = append(k.list, json.RawMessage(`{"role":"user","content":"Yes, go on."}`))
		return k.again().Header.Get("X-Oriel-Plan")
	}

	k, library := begin()
	if plan := silent(k); plan != "" || ready(library).Scopes != 0 {
		t.Fatalf("without a plan: %s, %+v", plan, ready(library))
	}
	for n := range 30 {
		k.list = append(k.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(n+1))),
			json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	}
	plan := silent(k)
	if plan == "" {
		t.Fatal("nothing was cut")
	}
	if n := answering.Load(); n.Scopes != 1 {
		t.Errorf("when it was cut: %+v", n)
	}
	all := ready(library)
	if all.Scopes != 1 || all.Passages < 30 {
		t.Errorf("when it was recorded: %+v", all)
	}

	list := k.list
	k, library = begin()
	k.list = list
	if now := silent(k); now != plan {
		t.Fatalf("plan %s, want %s", now, plan)
	}
	if n := answering.Load(); n.Scopes != 1 || n.Passages != all.Passages || n.Made != 0 {
		t.Errorf("after a restart: %+v, before it %+v", n, all)
	}
	ready(library)
	r, err := library.Recall(t.Context(), recall.Where{Tenant: timeline.Local, Conversation: "talk"}, "harbour 3",
		recall.RecallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Mode != recall.Hybrid {
		t.Errorf("the first question goes by %s", r.Mode)
	}
}

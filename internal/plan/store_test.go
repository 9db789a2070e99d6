package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Every plan of a conversation has a number of its own, which later plans do not change, in
// whichever of the forms of earlier programs its key is. No plan overwrites another.
func TestEveryPlanHasANumberOfItsOwn(t *testing.T) {
	ctx := t.Context()
	store := memory.New()
	put := func(keys ...string) {
		t.Helper()
		change := timeline.Change{Conversation: "c", Stay: true, Now: time.Unix(1, 0)}
		for _, key := range keys {
			change.Put = append(change.Put, timeline.Record{Kind: timeline.KindPlan, Key: key, Data: []byte(`{}`)})
		}
		if _, err := store.Apply(ctx, timeline.Local, change); err != nil {
			t.Fatal(err)
		}
	}
	ids := func() (out []string) {
		t.Helper()
		plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "c"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			out = append(out, p.Name()+" "+p.ID)
		}
		return out
	}
	for _, step := range []struct {
		put, want []string
	}{
		{[]string{"p-A-0"}, []string{"p1 p-A-0"}},
		{[]string{"p-A-0r"}, []string{"p1 p-A-0", "p2 p-A-0r"}},
		{[]string{"p3-B-0"}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0"}},
		{[]string{"p3-C-0"}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0"}},
		{[]string{"p5-C-0"}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0"}},
		{[]string{"p6"}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0", "p6 p6"}},
		{[]string{"p-D-0"}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0", "p6 p6", "p7 p-D-0"}},
	} {
		put(step.put...)
		if got := ids(); !slices.Equal(got, step.want) {
			t.Errorf("%q after %q, want %q", got, step.put, step.want)
		}
	}
}

// Ids are read from keys of all versions.
func TestIDsInKeys(t *testing.T) {
	for key, want := range map[string]string{
		"p3": "p3", "p12-CALL-0r": "p-CALL-0r", "p-CALL-0": "p-CALL-0", "p03": "p03", "": "",
		"something-new": "something-new",
	} {
		if id := plan.IDOf(key); id != want {
			t.Errorf("%q: %q, want %q", key, id, want)
		}
	}
}

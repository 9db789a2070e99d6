package timeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Every plan of a conversation has a short id of its own: those of version 1 too, and those
// that two processes gave the same number. No plan overwrites another.
func TestEveryPlanHasAShortIDOfItsOwn(t *testing.T) {
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
		plans, err := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "c"}.Plans(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			out = append(out, p.ID+" "+p.Name)
		}
		return out
	}
	for _, step := range []struct {
		put, want []string
	}{
		{[]string{"p-A-0"}, []string{"p1 p-A-0"}},
		{[]string{"p-A-0r"}, []string{"p1 p-A-0", "p2 p-A-0r"}},
		{[]string{timeline.PlanKey("p3", "p-B-0")}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0"}},
		{[]string{timeline.PlanKey("p3", "p-C-0")}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0"}},
		{[]string{timeline.PlanKey("p5", "p-C-0")}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0"}},
		{[]string{timeline.PlanKey("p6", "")}, []string{"p1 p-A-0", "p2 p-A-0r", "p3 p-B-0", "p4 p-C-0", "p6 "}},
	} {
		put(step.put...)
		if got := ids(); !slices.Equal(got, step.want) {
			t.Errorf("%q after %q, want %q", got, step.put, step.want)
		}
	}
}

func TestPlanKeysAreReadAsWritten(t *testing.T) {
	for key, want := range map[string][2]string{
		"p3":            {"p3", ""},
		"p12-CALL-0r":   {"p12", "p-CALL-0r"},
		"p-CALL-0":      {"", "p-CALL-0"},
		"p03":           {"", "p03"},
		"":              {"", ""},
		"something-new": {"", "something-new"},
	} {
		id, name := timeline.ParsePlanKey(key)
		if [2]string{id, name} != want {
			t.Errorf("%q: %q and %q, want %q", key, id, name, want)
		}
		if id != "" && timeline.PlanKey(id, name) != key {
			t.Errorf("%q is written as %q", key, timeline.PlanKey(id, name))
		}
	}
}

// A process that decides again before it sends anything shares what it sends in the end,
// under the same id.
func TestAPlanThatIsProposedAgainReplacesTheFirst(t *testing.T) {
	ctx := t.Context()
	store := memory.New()
	notes := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "c"}
	if _, err := store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Stay: true, Now: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"first":1}`, `{"second":2}`} {
		id, err := notes.ReservePlan(ctx, timeline.Proposal{Name: "p-call-0", Data: []byte(data), Contents: [][]byte{[]byte(data)}, Now: time.Unix(2, 0)})
		if err != nil || id != "p1" {
			t.Fatalf("the id is %q, %v", id, err)
		}
		plans, err := notes.Reserved(ctx, nil)
		if err != nil || len(plans) != 1 || string(plans[0].Data) != data || !slices.Equal(plans[0].Contents, []timeline.Hash{timeline.HashOf([]byte(data))}) {
			t.Errorf("reserved are %+v, %v instead of %s", plans, err, data)
		}
	}
}

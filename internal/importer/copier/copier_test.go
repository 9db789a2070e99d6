package copier_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/importer/copier"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

var (
	ctx  = context.Background()
	noon = time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)
)

func folder(t *testing.T) timeline.Whole {
	t.Helper()
	s, err := sqlite.Open(ctx, t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func database(t *testing.T) timeline.Whole {
	t.Helper()
	s, err := postgres.Open(ctx, pgtest.URL(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func form(text, raw string, i int) timeline.Message {
	return timeline.Message{Identity: timeline.HashOf([]byte(text)), Raw: []byte(raw), Format: "item", Role: "user",
		Ref: fmt.Sprint("r", i), Time: noon.Add(time.Duration(i) * time.Second)}
}

// fill makes a history of everything that a store keeps: branches, forms, records with
// contents, shared beginnings, derived data, tokens, two tenants.
func fill(t *testing.T, s timeline.Store) {
	t.Helper()
	apply := func(tenant string, c timeline.Change) timeline.Applied {
		t.Helper()
		if c.Now.IsZero() {
			c.Now = noon.Add(time.Hour)
		}
		a, err := s.Apply(ctx, tenant, c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, tenant := range []string{"local", "team"} {
		var long []timeline.Message
		for i := range 600 {
			long = append(long, form(fmt.Sprint(tenant, i), fmt.Sprintf("{%q:%d}", tenant, i), i))
		}
		a := apply(tenant, timeline.Change{Conversation: "long", Messages: long, Began: noon, Project: "p"})
		b := apply(tenant, timeline.Change{Conversation: "long", At: a.Places[299],
			Messages: []timeline.Message{form("other", "another way", 1), form("2", "two", 2)}})
		c := apply(tenant, timeline.Change{Conversation: "short", At: a.Places[9],
			Messages: []timeline.Message{form("s", "short", 1)}, Continues: "long"})
		for i := range 3 {
			apply(tenant, timeline.Change{Conversation: "long", Stay: true, At: a.Places[4],
				Messages: []timeline.Message{form(fmt.Sprint(tenant, 5), fmt.Sprint("form ", i), 9)}})
		}
		for i := range 100 {
			apply(tenant, timeline.Change{Conversation: "long", Stay: true,
				Contents: [][]byte{[]byte("system prompt"), fmt.Append(nil, "field ", i)},
				Put: []timeline.Record{{Kind: "call", Key: fmt.Sprint(i), At: b.Head, Data: fmt.Append(nil, i),
					Time: noon,
					Contents: []timeline.Hash{timeline.HashOf([]byte("system prompt")),
						timeline.HashOf(fmt.Append(nil, "field ", i))}}}})
		}
		apply(tenant, timeline.Change{Conversation: "short", Stay: true,
			Put: []timeline.Record{{Kind: "pin", Key: "1", At: c.Places[0]}, {Kind: "x", Key: "2"}}})
		apply(tenant, timeline.Change{Conversation: "empty"})
		if err := s.KeepDerived(ctx, tenant, "vector/x",
			[]timeline.Derived{{Content: timeline.HashOf(long[7].Raw), Data: []byte("v")},
				{Content: timeline.HashOf([]byte("form 1")), Data: []byte("w")}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tenant := range []string{"a", "b"} {
		if err := s.AddToken(ctx, timeline.AccessToken{Hash: timeline.HashToken(tenant), Tenant: tenant,
			Role: timeline.RoleCall, Created: noon}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeToken(ctx, timeline.HashToken("b"), noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// differences compares two stores.
func differences(t *testing.T, from, to timeline.Whole) (found []string) {
	t.Helper()
	if err := copier.Compare(ctx, from, to, nil, func(d string) { found = append(found, d) }); err != nil {
		t.Fatal(err)
	}
	return found
}

func whole(t *testing.T, from, to timeline.Whole) {
	t.Helper()
	for _, d := range differences(t, from, to) {
		t.Error(d)
	}
	if err := to.Verify(ctx, func(p timeline.Problem) { t.Errorf("verify: %+v", p) }); err != nil {
		t.Error(err)
	}
	tenants, _ := from.Tenants(ctx)
	for _, tenant := range tenants {
		a, err := from.Stats(ctx, tenant)
		b, err2 := to.Stats(ctx, tenant)
		a.Disk, b.Disk, a.Stored, b.Stored = 0, 0, 0, 0
		if err != nil || err2 != nil || a != b {
			t.Errorf("%s: %+v, %v; want %+v, %v", tenant, b, err2, a, err)
		}
	}
}

func TestACopyHasEverythingBothWays(t *testing.T) {
	from, to, back := folder(t), database(t), folder(t)
	fill(t, from)
	if _, err := copier.Copy(ctx, from, to, copier.Options{}); err != nil {
		t.Fatal(err)
	}
	whole(t, from, to)
	if _, err := copier.Copy(ctx, to, back, copier.Options{}); err != nil {
		t.Fatal(err)
	}
	whole(t, from, back)
	done, err := copier.Copy(ctx, from, to, copier.Options{})
	if err != nil || done.Skipped != done.Conversations || done.Messages > 0 {
		t.Errorf("again: %+v, %v", done, err)
	}
}

var errPower = errors.New("the power is gone")

// failing is a store that fails after some changes.
type failing struct {
	timeline.Whole
	left int
}

func (f *failing) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	if f.left--; f.left < 0 {
		return timeline.Applied{}, errPower
	}
	return f.Whole.Apply(ctx, tenant, c)
}

// TestAnInterruptedCopyGoesOn interrupts a copy after every few changes.
func TestAnInterruptedCopyGoesOn(t *testing.T) {
	from, to := folder(t), database(t)
	fill(t, from)
	runs := 0
	for ; ; runs++ {
		_, err := copier.Copy(ctx, from, &failing{to, 4 + 3*runs}, copier.Options{})
		if err == nil {
			break
		}
		if !errors.Is(err, errPower) || runs > 100 {
			t.Fatal(runs, err)
		}
	}
	if runs < 3 {
		t.Errorf("interrupted %d times only", runs)
	}
	whole(t, from, to)
	// What changes in the source is copied by the next run.
	c, err := from.Conversation(ctx, "team", "short")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.Apply(ctx, "team", timeline.Change{Conversation: "short", At: c.Head,
		Messages: []timeline.Message{form("more", "more", 5)}, Now: noon.Add(2 * time.Hour),
		Drop: []timeline.Key{{Kind: "pin", Key: "1"}},
		Put:  []timeline.Record{{Kind: "x", Key: "2", Data: []byte("changed")}}}); err != nil {
		t.Fatal(err)
	}
	if d := differences(t, from, to); len(d) == 0 {
		t.Error("no difference was found")
	}
	if _, err := copier.Copy(ctx, from, to, copier.Options{}); err != nil {
		t.Fatal(err)
	}
	whole(t, from, to)
}

func TestACopyDoesNotTouchWhatWentOn(t *testing.T) {
	from, to := folder(t), folder(t)
	fill(t, from)
	if _, err := copier.Copy(ctx, from, to, copier.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := to.Conversation(ctx, "local", "short")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Apply(ctx, "local", timeline.Change{Conversation: "short", At: c.Head,
		Messages: []timeline.Message{form("new", "new", 1)}, Now: noon.Add(5 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := copier.Copy(ctx, from, to, copier.Options{}); !errors.Is(err, copier.ErrAhead) {
		t.Error(err)
	}
	other := folder(t)
	if _, err := other.Apply(ctx, "local", timeline.Change{Conversation: "long",
		Messages: []timeline.Message{form("x", "x", 1)}, Now: noon.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := copier.Copy(ctx, from, other, copier.Options{}); !errors.Is(err, copier.ErrOther) {
		t.Error(err)
	}
	if d := differences(t, from, other); !slices.ContainsFunc(d, func(s string) bool { return len(s) > 0 }) {
		t.Error("no difference was found")
	}
}

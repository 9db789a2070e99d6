package timeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

var (
	ctx  = context.Background()
	noon = time.Date(2025, 3, 14, 12, 0, 0, 0, time.UTC)
)

// aged is a store with conversations of 100 bytes each that were changed some days
// before noon.
func aged(t *testing.T, days map[string]int) timeline.Store {
	t.Helper()
	s := memory.New()
	for name, n := range days {
		raw := []byte(strings.Repeat(name[:1], 100))
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Now: noon.AddDate(0, 0, -n),
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: "item"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestPruneKeepsWhatThePolicyKeeps(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		policy timeline.Policy
		want   []string
	}{
		{"nothing asked", timeline.Policy{}, nil},
		{"by age", timeline.Policy{OlderThan: 10 * day}, []string{"d40", "c30"}},
		{"just that age stays", timeline.Policy{OlderThan: 30 * day}, []string{"d40"}},
		{"by size", timeline.Policy{MaxBytes: 250}, []string{"d40", "c30"}},
		{"just that size stays", timeline.Policy{MaxBytes: 400}, nil},
		{"by both", timeline.Policy{OlderThan: 35 * day, MaxBytes: 100}, []string{"d40", "c30", "b2"}},
		{"none fits", timeline.Policy{MaxBytes: 50}, []string{"d40", "c30", "b2", "a1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := aged(t, map[string]int{"a1": 1, "b2": 2, "c30": 30, "d40": 40})
			got, err := timeline.Prune(ctx, s, timeline.Local, c.policy, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			left, _ := s.Conversations(ctx, timeline.Local)
			st, _ := s.Stats(ctx, timeline.Local)
			if len(left) != 4-len(c.want) || st.Bytes != int64(100*len(left)) {
				t.Errorf("%d conversations are left, %d bytes", len(left), st.Bytes)
			}
		})
	}
}

// What conversations share goes with the last of them only.
func TestPruneBySizeCountsWhatReallyGoes(t *testing.T) {
	s := aged(t, map[string]int{"x1": 1, "x2": 2, "x3": 3, "y9": 9})
	got, err := timeline.Prune(ctx, s, timeline.Local, timeline.Policy{MaxBytes: 99}, noon)
	if diff := cmp.Diff([]string{"y9", "x3", "x2", "x1"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// busy changes a conversation, or deletes it, at the very moment when it is about to
// be deleted.
type busy struct {
	timeline.Store
	gone string
}

func (b busy) Delete(ctx context.Context, tenant, name string, expect *int64) (timeline.Deleted, error) {
	var err error
	if name == b.gone {
		_, err = b.Store.Delete(ctx, tenant, name, nil)
	} else {
		_, err = b.Store.Apply(ctx, tenant, timeline.Change{Conversation: name, Stay: true, Now: noon,
			Put: []timeline.Record{{Kind: "note", Key: "k", Data: []byte("acknowledged")}}})
	}
	if err != nil {
		return timeline.Deleted{}, err
	}
	return b.Store.Delete(ctx, tenant, name, expect)
}

func TestPruneLeavesWhatChangesMeanwhile(t *testing.T) {
	s := aged(t, map[string]int{"a": 5, "b": 6})
	got, err := timeline.Prune(ctx, busy{s, "a"}, timeline.Local, timeline.Policy{OlderThan: time.Hour}, noon)
	if len(got) != 0 || err != nil {
		t.Errorf("deleted %v, %v", got, err)
	}
	if notes, err := s.Records(ctx, timeline.Local, "b", "note", "k"); err != nil || len(notes) != 1 {
		t.Errorf("an acknowledged change is lost: %v, %v", notes, err)
	}
}

func TestPruneReportsFailure(t *testing.T) {
	s := aged(t, map[string]int{"a": 5})
	s.Close()
	if _, err := timeline.Prune(ctx, s, timeline.Local, timeline.Policy{OlderThan: time.Hour}, noon); !errors.Is(err,
		timeline.ErrClosed) {
		t.Error(err)
	}
}

// An import is as old as its last message, not as the import.
func TestPruneGoesByTheLastMessage(t *testing.T) {
	s := memory.New()
	for name, said := range map[string]time.Time{"old": noon.AddDate(0, -9, 0), "young": noon.AddDate(0, 0, -1),
		"no time": {}, "tomorrow": noon.AddDate(0, 0, 1)} {
		raw := []byte(name)
		_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Now: noon, Began: said,
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: "item", Time: said}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := timeline.Prune(ctx, s, timeline.Local, timeline.Policy{OlderThan: 90 * 24 * time.Hour}, noon)
	if diff := cmp.Diff([]string{"old"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = timeline.Prune(ctx, s, timeline.Local, timeline.Policy{MaxBytes: 16}, noon)
	if diff := cmp.Diff([]string{"young"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A conversation that says today what another said long ago is of today.
func TestPruneKeepsWordsThatAreSaidAgain(t *testing.T) {
	s := memory.New()
	for i, when := range []time.Time{noon.AddDate(0, -9, 0), noon} {
		raw := []byte("good morning")
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: []string{"then", "today"}[i], Now: when,
			Messages: []timeline.Message{{Identity: timeline.HashOf(raw), Raw: raw, Format: "item",
				Time: when}}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := timeline.Prune(ctx, s, timeline.Local, timeline.Policy{OlderThan: 90 * 24 * time.Hour}, noon)
	if diff := cmp.Diff([]string{"then"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

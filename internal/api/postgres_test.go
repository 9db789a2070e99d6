package api_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// The same calls on PostgreSQL have the same answers as in memory, also after a pin and an
// undo.
func TestAnswersAreTheSameOnPostgreSQL(t *testing.T) {
	store, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	worlds := []*world{newWorld(t, nil), newWorld(t, store)}
	for _, w := range worlds {
		w.talk(timeline.Local, "session", 12, nil)
		w.talk("other", "theirs", 1, nil)
	}
	compare := func(path string) {
		t.Helper()
		var found [2]any
		for i, w := range worlds {
			w.get(path, &found[i])
			found[i] = timeless(found[i])
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			t.Errorf("%s differs: %s", path, diff)
		}
	}
	all := []string{
		"conversations", "conversations?search=port", "conversations/session", "conversations/session/strip", "conversations/session/strip?call=3&only=verdicts",
		"conversations/session/messages?from=2&limit=4", "conversations/session/messages/3", "conversations/session/plans", "conversations/session/plans/last",
		"conversations/session/calls", "conversations/session/calls/last/composition", "conversations/session/calls/last/diff?with=came", "usage?by=conversation", "composition?since=24h",
	}
	for _, path := range all {
		compare(path)
	}
	for _, w := range worlds {
		w.want(200, "POST", "conversations/session/pins", `{"id":2}`, nil)
		w.want(200, "DELETE", "conversations/session/pins/2", "", nil)
		w.want(200, "POST", "conversations/session/undo", `{"plan":"p1"}`, nil)
		w.want(404, "GET", "conversations/theirs", "", nil)
	}
	for _, path := range all[2:6] {
		compare(path)
	}
}

// timeless returns an answer without what differs between two runs: times and random ids.
func timeless(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = timeless(x[i])
		}
	case map[string]any:
		for name, member := range x {
			switch name {
			case "ms", "first_ms":
				delete(x, name)
			case "time", "began", "ended", "created", "first", "last", "since", "took_ms", "call", "seconds", "duration", "name":
				if _, text := member.(string); text {
					delete(x, name)
				}
			case "id":
				if s, text := member.(string); text && len(s) > 12 {
					delete(x, name)
				}
			default:
				x[name] = timeless(member)
			}
		}
	case json.Number:
		return x.String()
	}
	return v
}

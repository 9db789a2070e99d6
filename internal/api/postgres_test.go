package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/importer/copier"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// The same history has the same answers on PostgreSQL as on SQLite, also after a pin and an
// undo. It is copied, because what calls record depends on the speed of the machine.
func TestAnswersAreTheSameOnPostgreSQL(t *testing.T) {
	store, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	source, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "data"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	worlds := []*world{newWorld(t, source), newWorld(t, store)}
	worlds[0].talk(timeline.Local, "session", 12, nil)
	worlds[0].talk("other", "theirs", 1, nil)
	if _, err := copier.Copy(t.Context(), source, store, copier.Options{}); err != nil {
		t.Fatal(err)
	}
	compare := func(path string) {
		t.Helper()
		var found [2]any
		for i, w := range worlds {
			w.get(path, &found[i])
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			t.Errorf("%s differs: %s", path, diff)
		}
	}
	all := []string{
		"conversations", "conversations?search=port", "conversations/session", "conversations/session/strip",
		"conversations/session/strip?call=3&only=verdicts",
		"conversations/session/messages?from=2&limit=4", "conversations/session/messages/3",
		"conversations/session/plans",
		"conversations/session/calls", "conversations/session/calls/last/composition",
		"conversations/session/calls/last/diff?with=came", "usage?by=conversation",
	}
	for _, path := range all {
		compare(path)
	}
	for _, change := range [][3]string{
		{"POST", "conversations/session/pins", `{"id":2}`}, {"DELETE", "conversations/session/pins/2", ""},
		{"POST", "conversations/session/pins", `{"id":3}`}, {"POST", "conversations/session/undo", `{"plan":"p1"}`},
		{"GET", "conversations/theirs", ""},
	} {
		statuses := [2]int{}
		for i, w := range worlds {
			statuses[i] = w.do(change[0], change[1], change[2], "Content-Type", "application/json").status
		}
		if statuses[0] != statuses[1] || statuses[0] >= 500 {
			t.Errorf("%v: %v", change, statuses)
		}
	}
	for _, path := range []string{"conversations/session/strip", "conversations/session/messages?from=2&limit=4"} {
		compare(path)
	}
}

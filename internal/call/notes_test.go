package call_test

import (
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// fixture is a data folder that version 1 of the formats wrote: testdata/notes/README.md.
func fixture(t *testing.T, name string) (dir string) {
	t.Helper()
	in, err := os.Open(filepath.Join("testdata", "notes", name+".db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oriel.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// notesOf reads the notes of conversation "talk" while no engine has the folder open.
func notesOf(t *testing.T, dir string) (pins []timeline.Pin, holds []timeline.Hold) {
	t.Helper()
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}
	if pins, err = n.Pins(ctx); err != nil {
		t.Fatal(err)
	}
	if holds, err = n.Holds(ctx); err != nil {
		t.Fatal(err)
	}
	return pins, holds
}

// inTalk opens a folder and its conversation, and returns what was logged.
func inTalk(t *testing.T, dir string, do func(*oriel.Conversation)) string {
	t.Helper()
	var log strings.Builder
	e, err := oriel.Open(ctx, oriel.Config{Dir: dir, MaxTokens: 200, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(ctx, "talk")
	if err != nil {
		t.Fatal(err)
	}
	do(c)
	return log.String()
}

// A folder of items that version 1 wrote keeps its pins, holds, plans and undo.
func TestNotesOfVersion1ItemsAreRead(t *testing.T) {
	dir := fixture(t, "items")
	shown := func(c *oriel.Conversation) (ids []int64) {
		t.Helper()
		all, err := c.Items(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			ids = append(ids, all[i].ID)
		}
		return ids
	}
	log := inTalk(t, dir, func(c *oriel.Conversation) {
		if got := shown(c); !slices.Equal(got, []int64{1, 2, 10, 11, 12}) {
			t.Errorf("items %v are shown", got)
		}
		if s, err := c.Status(ctx); err != nil || s.Held != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		plans, err := c.Plans(ctx, 0)
		if err != nil || len(plans) != 9 || plans[8].Undo != "p9" {
			t.Fatalf("%d plans, %v", len(plans), err)
		}
		if err := c.Undo(ctx, "p3"); err != nil {
			t.Fatal(err)
		}
	})
	if n := strings.Count(log, "conversations are upgraded"); n != 1 ||
		!strings.Contains(log, "conversation=talk from=1 to=2") {
		t.Errorf("the upgrade is logged %d times: %s", n, log)
	}
	pins, holds := notesOf(t, dir)
	if len(pins) != 1 || pins[0].ID != 2 || !pins[0].Settled {
		t.Errorf("pins %+v", pins)
	}
	if len(holds) != 2 || holds[0].Plan != "p3" || holds[0].Held.String() != "3" ||
		holds[1].Plan != timeline.HeldBefore || holds[1].Held.String() != "1" {
		t.Errorf("holds %+v", holds)
	}
	log = inTalk(t, dir, func(c *oriel.Conversation) {
		if s, err := c.Status(ctx); err != nil || s.Held != 2 {
			t.Errorf("%+v, %v", s, err)
		}
		for range 4 { // what is held stays
			if _, _, err := c.Add(ctx, oriel.Item{Content: strings.Repeat("and west of it ", 8)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := shown(c); !slices.Equal(got[:3], []int64{1, 2, 3}) {
			t.Errorf("items %v are shown", got)
		}
		if err := c.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Unpin(ctx, 2); err != nil {
			t.Fatal(err)
		}
	})
	if strings.Contains(log, "upgraded") {
		t.Errorf("nothing is left to upgrade: %s", log)
	}
	if pins, holds := notesOf(t, dir); len(pins)+len(holds) != 0 {
		t.Errorf("pins %+v and holds %+v are left", pins, holds)
	}
}

// A folder that version 1 of the proxy wrote keeps its pins, holds, plans and undo. Its plans
// have short ids now; the long ones stay valid.
func TestNotesOfVersion1CallsAreRead(t *testing.T) {
	const first = "p-HXSD3MSRBUI2HUU4-0"
	dir := fixture(t, "calls")
	inTalk(t, dir, func(c *oriel.Conversation) {
		plans, err := c.Plans(ctx, 0)
		if err != nil || len(plans) != 7 || plans[0].Undo != "p1" || plans[6].Undo != "p7" {
			t.Fatalf("%d plans, %v", len(plans), err)
		}
		for _, id := range []string{"p1", first} { // it is undone
			if u, err := c.WouldUndo(ctx, id); err != nil || len(u.Back) != 0 || u.Plan != "p1" {
				t.Errorf("%s: %+v, %v", id, u, err)
			}
		}
		if err := c.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Pin(ctx, 7); err != nil {
			t.Fatal(err)
		}
	})
	pins, holds := notesOf(t, dir)
	if len(pins) != 2 || pins[0].ID != 5 || pins[1].ID != 7 || len(holds) != 0 {
		t.Errorf("pins %+v, holds %+v", pins, holds)
	}
	inTalk(t, dir, func(c *oriel.Conversation) {
		if err := c.Undo(ctx, first); err != nil && !errors.Is(err, oriel.ErrCannotFit) {
			t.Fatal(err)
		}
		for _, id := range []string{"p0", "p8", "p-HXSD3MSRBUI2HUU4-1"} {
			if err := c.Undo(ctx, id); !errors.Is(err, oriel.ErrNoPlan) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
	if _, holds := notesOf(t, dir); len(holds) != 1 || holds[0].Plan != first || holds[0].Held.String() != "2-25" {
		t.Errorf("holds %+v", holds)
	}

	// An earlier program makes a plan that it calls p1 as well. What is held is the same.
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: "talk"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := plans[len(plans)-1].Record()
	other.Key = "p1-AAAAAAAAAAAAAAAA-0"
	_, err = store.Apply(ctx, timeline.Local, timeline.Change{Conversation: "talk", Stay: true,
		Put: []timeline.Record{other}, Now: time.Now()})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	inTalk(t, dir, func(c *oriel.Conversation) {
		if u, err := c.WouldUndo(ctx, first); err != nil || u.Plan == "p1" || len(u.Back) > 0 {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

package call

import (
	"slices"
	"testing"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// What a call no longer needs is dropped also if the call comes from a spool.
func TestASpooledCallDropsItsNotes(t *testing.T) {
	drop := []timeline.Key{{Kind: timeline.KindDecision, Key: "request"}}
	w := &write{id: "call", change: timeline.Change{Drop: drop},
		history: timeline.HistoryOf(nil, nil),
		plans:   func(*timeline.Appended) ([]plan.Stored, error) { return nil, nil }}
	e, err := w.spooled()
	if err != nil {
		t.Fatal(err)
	}
	read, err := readSpooled(e, nil)
	if err != nil || !slices.Equal(read.change.Drop, drop) {
		t.Errorf("drops %v, %v instead of %v", read.change.Drop, err, drop)
	}
}

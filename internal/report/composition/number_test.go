package composition

import (
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Records come in the order of their keys, and keys say nothing of the time.
func TestACallHasTheNumberOfItsBeginning(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	var records []timeline.Record
	for i, began := range []int{2, 3, 1} {
		at := noon.Add(time.Duration(began) * time.Second)
		records = append(records, timeline.Record{Kind: "call", Key: fmt.Sprint("call-", i), Time: at,
			Data: fmt.Appendf(nil, `{"v":1,"began":%q}`, at.Format(time.RFC3339Nano))})
	}
	for i, want := range []int{2, 3, 1} {
		if at, number, err := numberOf(records, fmt.Sprint("call-", i)); at != i || number != want || err != nil {
			t.Errorf("call %d: at %d, number %d, %v; want number %d", i, at, number, err, want)
		}
	}
	if at, _, err := numberOf(records, "none"); at >= 0 || err != nil {
		t.Errorf("an unknown call is at %d, %v", at, err)
	}
}

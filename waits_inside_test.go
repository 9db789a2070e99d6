package oriel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A store that is stuck stays so until it answers: not until a client hangs up.
func TestAStoreIsStuckUntilItAnswers(t *testing.T) {
	r := &calls{}
	for _, step := range []struct {
		err  error
		want bool
	}{
		{context.Canceled, false},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), true},
		{fmt.Errorf("read: %w", context.Canceled), true},
		{nil, false},
	} {
		if r.noteStore(step.err); r.stuck.Load() != step.want {
			t.Errorf("after %v: stuck is %v", step.err, !step.want)
		}
	}
}

// The first call of a conversation may wait longer for recall than others; the worst case
// has it, also if a setting allows less or more.
func TestTheWorstCaseHasTheWaitForEarlierConversations(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		0: view.EarlierWait, time.Millisecond: view.EarlierWait, 2 * view.EarlierWait: 2 * view.EarlierWait,
	} {
		e, err := Open(t.Context(), Config{Store: memory.New(), NoEmbed: true, Calls: CallOptions{RecallWait: wait, RecallReach: recall.ReachProject}})
		if err != nil {
			t.Fatal(err)
		}
		waits := e.calls.o.Waits
		if got := e.calls.worstWait() - waits.Brief - waits.Store; got < want {
			t.Errorf("RecallWait %v: the worst case has %v for recall, want %v", wait, got, want)
		}
		if e.BeginWait() < e.calls.worstWait() {
			t.Error("BeginWait is less than the worst case")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

package call

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// A store that is stuck stays so until it answers: not until a client hangs up.
func TestAStoreIsStuckUntilItAnswers(t *testing.T) {
	r := &Engine{}
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

// far is a store whose answers take a while.
type far struct {
	timeline.Store
	latency atomic.Int64
}

func (f *far) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	select {
	case <-ctx.Done():
		return timeline.Conversation{}, ctx.Err()
	case <-time.After(time.Duration(f.latency.Load())):
	}
	return f.Store.Conversation(ctx, tenant, name)
}

// A store that is far away does not stay marked as stuck, although calls read more than they
// can wait for. A store that is too slow stays marked until it is faster.
func TestAFarStoreDoesNotStayStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &far{Store: memory.New()}
		r := New(Parts{Store: store}, Options{})
		for _, step := range []struct {
			latency time.Duration
			stuck   bool
		}{{2 * time.Second, true}, {30 * time.Millisecond, false}, {time.Second, true}, {time.Second, true},
			{0, false}} {
			store.latency.Store(int64(step.latency))
			if step.latency >= probeWait {
				r.noteStore(context.DeadlineExceeded)
			}
			time.Sleep(5 * time.Second)
			if r.stuck.Load() != step.stuck {
				t.Errorf("with a latency of %v it is stuck: %v", step.latency, !step.stuck)
			}
		}
		r.noteStore(context.DeadlineExceeded)
		if err := r.Close(t.Context()); err != nil { // the probe ends
			t.Error(err)
		}
	})
}

// The first call of a conversation may wait longer for recall than others; the worst case
// has it, also if a setting allows less or more.
func TestTheWorstCaseHasTheWaitForEarlierConversations(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		0: view.EarlierWait, time.Millisecond: view.EarlierWait, 2 * view.EarlierWait: 2 * view.EarlierWait,
	} {
		e := New(Parts{Store: memory.New()}, Options{RecallWait: wait, RecallReach: recall.ReachProject})
		waits := e.o.Waits
		if got := e.worstWait() - waits.Brief - waits.Store; got < want {
			t.Errorf("RecallWait %v: the worst case has %v for recall, want %v", wait, got, want)
		}
		if e.BeginWait() < e.worstWait() {
			t.Error("BeginWait is less than the worst case")
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

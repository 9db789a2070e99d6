package limit_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
)

func TestWorkThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w limit.Work
		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		n, err := limit.Do(ctx, &w, func(context.Context) (int, error) { <-release; return 1, nil })
		if n != 0 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%d, %v after %v", n, err, time.Since(began))
		}
		close(release)
	})
}

func TestAbandonedWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w limit.Work
		release := make(chan struct{})
		var ran atomic.Int64
		try := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := limit.Do(ctx, &w, func(context.Context) (int, error) { ran.Add(1); <-release; return 1, nil })
			return err
		}
		for range limit.MaxAbandoned + 10 {
			if err := try(); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if n := ran.Load(); n != limit.MaxAbandoned {
			t.Errorf("%d ran", n)
		}
		close(release)
		synctest.Wait()
		if err := try(); err != nil {
			t.Error("after all have ended:", err)
		}
	})
}

func TestPanicsAreErrors(t *testing.T) {
	var w limit.Work
	_, err := limit.Do(t.Context(), &w, func(context.Context) (int, error) { panic("oh") })
	if err == nil || !strings.Contains(err.Error(), "a panic: oh") {
		t.Error(err)
	}
}

// Several pieces of work share one budget.
func TestABudgetIsSpentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w limit.Work
		b := limit.Time{Left: time.Second}
		began := time.Now()
		for range 3 {
			limit.Spend(t.Context(), &w, &b, func(ctx context.Context) (int, error) {
				select {
				case <-time.After(400 * time.Millisecond):
				case <-ctx.Done():
				}
				return 0, ctx.Err()
			})
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

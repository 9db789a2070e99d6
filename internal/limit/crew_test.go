package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
)

// Work that comes after other work, and work inside of work, has a goroutine; what is abandoned
// keeps its own.
func TestACrewGoesOnBesideWorkThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var crew limit.Crew
		var w limit.Work
		ctx := limit.With(t.Context(), &crew)
		release := make(chan struct{})
		double := func(n int) (int, error) {
			return limit.Do(ctx, &w, func(ctx context.Context) (int, error) {
				return limit.Do(ctx, &w, func(context.Context) (int, error) { return 2 * n, nil })
			})
		}
		for n := range 10 {
			if n == 5 {
				short, cancel := context.WithTimeout(ctx, time.Second)
				if _, err := limit.Do(short, &w, func(context.Context) (int, error) {
					<-release
					return 0, nil
				}); err == nil {
					t.Error("work that hangs has ended")
				}
				cancel()
			}
			if got, err := double(n); got != 2*n || err != nil {
				t.Errorf("%d: %d, %v", n, got, err)
			}
		}
		crew.Rest()
		if got, err := double(7); got != 14 || err != nil {
			t.Errorf("after Rest: %d, %v", got, err)
		}
		close(release)
		synctest.Wait() // all goroutines have ended, or the bubble would not
	})
}

// What is kept runs when Run is called, and what comes after that at once.
func TestACrewKeepsWorkForRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var crew limit.Crew
		ran := make(chan int, 4)
		piece := func(n int) {
			crew.Go(func() func() { return func() { ran <- n } })
		}
		crew.Keep()
		piece(1)
		piece(2)
		synctest.Wait()
		if len(ran) != 0 {
			t.Error("it did not wait")
		}
		crew.Run()
		synctest.Wait()
		piece(3)
		synctest.Wait()
		if len(ran) != 3 {
			t.Errorf("%d pieces ran", len(ran))
		}
	})
}

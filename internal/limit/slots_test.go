package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestATenantLeavesASlotToOthersAndTheOneWithTheFewestIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(4, 3)
		var mu sync.Mutex // protects what follows
		var order []string
		leave := map[string][]func(){}
		enter := func(tenant string) {
			go func() {
				f, err := s.Enter(context.Background(), tenant)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order, leave[tenant] = append(order, tenant), append(leave[tenant], f)
			}()
			synctest.Wait()
		}
		release := func(tenant string) {
			mu.Lock()
			f := leave[tenant][0]
			leave[tenant] = leave[tenant][1:]
			mu.Unlock()
			f()
			synctest.Wait()
		}
		entered := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		for range 6 {
			enter("ann")
		}
		enter("bob")
		if want := []string{"ann", "ann", "ann", "bob"}; !slices.Equal(entered(), want) {
			t.Fatalf("%v, want %v", entered(), want)
		}
		enter("bob")
		enter("cid")
		for range 3 {
			release("ann")
		}
		if want := []string{"ann", "ann", "ann", "bob", "cid", "ann", "ann"}; !slices.Equal(entered(), want) {
			t.Errorf("%v, want %v", entered(), want)
		}
		for _, tenant := range []string{"cid", "bob", "ann", "ann", "ann", "bob"} {
			release(tenant)
		}
		if s.free != 4 || len(s.taken) > 0 || len(s.waiting) > 0 {
			t.Errorf("%d free, %v taken, %d wait", s.free, s.taken, len(s.waiting))
		}
	})
}

// Whatever comes, leaves and gives up: the limits hold and no slot is lost.
func TestSlotsAreNeitherLostNorMade(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.IntRange(1, 4).Draw(r, "all")
		each := rapid.IntRange(1, all).Draw(r, "each")
		s := NewSlots(all, each)
		var leave []func()
		for range rapid.IntRange(0, 30).Draw(r, "steps") {
			if len(leave) > 0 && rapid.Bool().Draw(r, "leave") {
				i := rapid.IntRange(0, len(leave)-1).Draw(r, "which")
				leave[i]()
				leave = slices.Delete(leave, i, i+1)
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
			f, err := s.Enter(ctx, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "tenant"))
			cancel()
			if err == nil {
				leave = append(leave, f)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				r.Fatal(err)
			}
			for tenant, n := range s.taken {
				if n > each || n < 1 {
					r.Fatalf("%s has %d of %d", tenant, n, each)
				}
			}
			if s.free != all-len(leave) || len(s.waiting) > 0 {
				r.Fatalf("%d free with %d taken, %d wait", s.free, len(leave), len(s.waiting))
			}
		}
	})
}

package call

import "testing"

// A job may wait for others only if nobody waits for it: otherwise jobs that come faster
// than it waits would pile up.
func TestAJobIsAloneOnlyIfNoneWaits(t *testing.T) {
	q := newQueue(1, 1<<20, func(p any) { t.Error(p) })
	asked, told := make(chan struct{}), make(chan bool)
	if err := q.add(nil, "a", 1, func() {
		for range asked {
			told <- q.noneWaits("a")
		}
	}); err != nil {
		t.Fatal(err)
	}
	alone := func() bool {
		asked <- struct{}{}
		return <-told
	}
	if !alone() {
		t.Error("the only job is not alone")
	}
	if err := q.add(nil, "b", 1, func() {}); err != nil { // waits for the worker
		t.Fatal(err)
	}
	if alone() {
		t.Error("another key waits")
	}
	close(asked)
	if err := q.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := make(chan bool, 2)
	block := make(chan struct{})
	for range 2 {
		if err := q.add(nil, "a", 1, func() {
			<-block
			again <- q.noneWaits("a")
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(block)
	if first, second := <-again, <-again; first || !second {
		t.Errorf("alone: the first of two %t, the last %t", first, second)
	}
}

package cache

import "testing"

func TestCachesKeepWhatIsUsed(t *testing.T) {
	c := New[int, int](10)
	for i := range 1000 {
		c.Put(i, i)
		if v, ok := c.Get(0); !ok || v != 0 {
			t.Fatalf("0 was forgotten at %d", i)
		}
		if n := len(c.young) + len(c.old); n > 20 {
			t.Fatalf("%d are kept", n)
		}
	}
	c.Drop(0)
	if _, ok := c.Get(0); ok {
		t.Error("0 was not dropped")
	}
	c.Reset()
	if _, ok := c.Get(999); ok {
		t.Error("999 was not forgotten")
	}
}

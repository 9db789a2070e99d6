package term

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressIsOneShortLine(t *testing.T) {
	p := &Progress{what: "importing"}
	for _, tc := range []struct {
		done, total int64
		want        string
	}{
		{0, 2_000_000, "importing ························   0%  0 B of 2.0 MB, 0 B/s"},
		{1_000_000, 2_000_000, "importing ████████████············  50%  1.0 MB of 2.0 MB, 500 kB/s"},
		{3_000_000, 2_000_000, "importing ████████████████████████ 100%  2.0 MB of 2.0 MB, 1.0 MB/s"},
		{5, 0, "importing … 2 s"},
	} {
		if diff := cmp.Diff(tc.want, p.line(tc.done, tc.total, 2*time.Second)); diff != "" {
			t.Error(diff)
		}
	}
	// What was done before it began counts neither for the rate nor for the time that is left.
	p = &Progress{what: "embedding", Things: true, from: 9_000}
	want := "embedding ██████████████████████▊·  95%  9,500 of 10,000, 50/s, 10s left"
	if diff := cmp.Diff(want, p.line(9_500, 10_000, 10*time.Second)); diff != "" {
		t.Error(diff)
	}
}

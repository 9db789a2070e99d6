package main

import (
	"testing"

	"github.com/oriel-context/oriel/internal/importer"
)

// A session that is too large for the last line of an import does not take the place of the others.
func TestALargeSessionLeavesRoomForOthers(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int64
		want  int
		whole bool
	}{
		"all":               {[]int64{10, 20, 30}, 3, true},
		"the newest":        {[]int64{50, 40, 30}, 2, true},
		"a large one":       {[]int64{500, 40, 30}, 2, false},
		"nothing that fits": {[]int64{500}, 0, true},
	} {
		var files []importer.File
		for _, n := range c.sizes {
			files = append(files, importer.File{Size: n})
		}
		if some, whole := within(files, 90); len(some) != c.want || whole != c.whole {
			t.Errorf("%s: %d, %v", name, len(some), whole)
		}
	}
}

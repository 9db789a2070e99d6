package protocols_test

import (
	"os"
	"testing"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/wire"
)

// Each protocol has what proves it: a generator and a judge of its bodies, a model that speaks
// it, and recorded bodies and streams.
func TestEveryProtocolHasWhatTestsNeed(t *testing.T) {
	for _, f := range wire.Protocols() {
		k := protocols.Of(f)
		if k.Draw == nil {
			t.Errorf("%s: nothing draws its bodies", f)
		}
		if k.Judge == nil {
			t.Errorf("%s: nothing judges its bodies", f)
		}
		if !fakemodel.Speaks(f) {
			t.Errorf("%s: package fakemodel does not speak it", f)
		}
		for _, file := range []string{"", "streams/"} {
			if _, err := os.Stat("../../../wire/testdata/" + file + f.String() + ".txt"); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}

package oriel

import (
	"context"
	"fmt"
	"testing"
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

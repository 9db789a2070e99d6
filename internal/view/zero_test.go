package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// The zero Options make a viewer that fits requests. Show needs a book and refuses without.
func TestZeroOptionsFit(t *testing.T) {
	long := strings.Repeat("word ", 4000)
	body, err := wire.Read(fmt.Appendf(nil,
		`{"model":"gpt-4o","messages":[{"role":"user","content":%q},{"role":"assistant","content":"ok"},{"role":"user","content":"go on"}]}`, long), wire.Auto, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := New(Options{})
	in := &Input{ID: "c", Body: body, Thread: &thread.Thread{Tenant: timeline.Local}, Profile: "full", Budget: 1000}
	r, err := v.Fit(t.Context(), in)
	if err != nil || r.After > 1000 || r.Before < 4000 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := v.Show(t.Context(), in); err == nil || !strings.Contains(err.Error(), "Options.Index") {
		t.Errorf("%v", err)
	}
}

package oriel_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/window"
)

// What engines have begun ends with them.
func TestMain(m *testing.M) {
	forward.HeadWait = time.Minute // a busy machine is no silent model
	goleak.VerifyTestMain(m)
}

// The same id and the same tenant return the same conversation and engine, also to programs
// that compare them.
func TestTheSameNameReturnsTheSameValue(t *testing.T) {
	e, err := oriel.Open(t.Context(), oriel.Config{NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	one, err := e.Conversation(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Conversation(t.Context(), "one")
	if err != nil || again != one || one.ID() != "one" {
		t.Errorf("%q is another conversation: %v", again.ID(), err)
	}
	if two, err := e.Conversation(t.Context(), "two"); err != nil || two == one {
		t.Errorf("two ids return one conversation: %v", err)
	}
	if ann := e.ForTenant("ann"); ann == e || ann != e.ForTenant("ann") {
		t.Error("a tenant has two engines, or two tenants share one")
	}
}

// Fit does nothing for a caller that has left, and returns why it left.
func TestFitEndsWithItsContext(t *testing.T) {
	cause := errors.New("the caller left")
	ended, end := context.WithCancelCause(t.Context())
	end(cause)
	if _, _, err := oriel.Fit(ended, []byte(`{"messages":[]}`), oriel.FitOptions{}); !errors.Is(err, cause) {
		t.Errorf("fit: %v", err)
	}
}

// SPEC E5: Fit never changes what it is given, so that dropping its plan gives back
// exactly what was there.
func TestFitNeverChangesItsInput(t *testing.T) {
	body, err := os.ReadFile("examples/long-agent-run.json")
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(body)
	for _, policy := range window.Policies() {
		fitted, plan, err := oriel.Fit(t.Context(), body,
			oriel.FitOptions{Policy: policy, Budget: 20_000, Now: time.Date(2025, 7, 10, 12, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Errorf("%s: %v", policy, err)
			continue
		}
		if !bytes.Equal(body, before) {
			t.Fatalf("%s changed its input", policy)
		}
		if plan.TokensBefore > 20_000 && (bytes.Equal(fitted, body) || plan.TokensAfter > 20_000) {
			t.Errorf("%s: %d tokens of %d", policy, plan.TokensAfter, plan.TokensBefore)
		}
		for i := range fitted { // what came back is the caller's
			fitted[i] = 'x'
		}
		if plan.Action != "none" && !bytes.Equal(body, before) {
			t.Fatalf("%s: the fitted body shares bytes with its input", policy)
		}
		copy(body, before)
	}
}

package call

import (
	"testing"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/wire"
)

// A call whose conversation is found while the provider works says then which one it is.
func TestARunningCallIsFoundLate(t *testing.T) {
	var running runningCalls
	c := &Call{request: &Request{ID: "one", Tenant: "ann"}, body: new(wire.Body), found: make(chan struct{})}
	running.begin(c)
	if got := running.of("ann"); len(got) != 1 || got[0].Conversation != "" {
		t.Fatalf("%+v", got)
	}
	c.thread = &thread.Thread{Conversation: "talk"}
	close(c.found)
	if got := running.of("ann"); len(got) != 1 || got[0].Conversation != "talk" {
		t.Fatalf("%+v", got)
	}
}

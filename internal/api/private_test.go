package api_test

import (
	"testing"

	"github.com/oriel-context/oriel/timeline"
)

// A tenant makes a conversation of its own private, and takes it back.
func TestATenantMakesAConversationPrivate(t *testing.T) {
	w := newWorld(t, nil)
	w.tenant = "ann"
	w.talk("ann", "secret", 2, nil)
	for _, private := range []string{"true", "true", "false", "true"} {
		var said struct {
			Conversation string
			Private      bool
		}
		w.want(200, "POST", "conversations/secret/private", `{"private":`+private+`}`, &said)
		is, err := timeline.Notes{Store: w.store, Tenant: "ann", Conversation: "secret"}.Private(t.Context())
		if want := private == "true"; err != nil || is != want || said.Private != want ||
			said.Conversation != "secret" {
			t.Errorf("%s: it is private: %v, %v; said %+v", private, is, err, said)
		}
	}
}

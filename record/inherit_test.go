package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/timeline/memory"
)

// PROXY rule 9: a plan belongs to a message. A conversation of its own that begins with
// the same messages is shown by the same plan, also after a restart.
func TestPlansAreInheritedByTheChainOfMessages(t *testing.T) {
	store := memory.New()
	r := restart(store)
	var examples []json.RawMessage
	for i := range 30 {
		examples = append(examples, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(1000+i))), json.RawMessage(`{"role":"assistant","content":"Yes."}`))
	}
	one := &caller{t: t, n: 1, list: slices.Clone(examples)}
	one.say(r, "thrifty")
	if one.plan == "" {
		t.Fatal("nothing was cut")
	}
	other := &caller{t: t, n: 2, list: slices.Clone(examples)}
	other.say(r, "thrifty")
	// Up to the newest message, which is another.
	same := string(one.sent[:strings.LastIndex(string(one.sent), `{"role":"user"`)])
	if other.plan != one.plan || !strings.HasPrefix(string(other.sent), same) {
		t.Errorf("plan %s, that of the other is %s", one.plan, other.plan)
	}
	must(r.Close(ctx))
	if _, k := calls(t, store); k != 2 {
		t.Errorf("%d conversations", k)
	}
	r = restart(store)
	other.say(r, "thrifty")
	if other.plan != one.plan || !strings.HasPrefix(string(other.sent), same) {
		t.Errorf("plan %s after a restart, was %s", other.plan, one.plan)
	}
	must(r.Close(ctx))
}

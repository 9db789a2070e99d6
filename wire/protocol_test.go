package wire_test

import (
	"reflect"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// mayBeEmpty are the parts for which nothing is an answer.
var mayBeEmpty = map[string]bool{
	"IsCount": true, "Opening": true, "Before": true, "System": true, "Signs": true, "FromText": true, "LacksList": true, "Held": true, "Rules": true,
	"MarksCache": true, "NamesReplies": true, "Unbound": true, "Steady": true,
}

// A protocol without one of its parts is found here, and not by a user.
func TestEveryProtocolIsWhole(t *testing.T) {
	for _, f := range wire.Protocols() {
		p := reflect.ValueOf(f.Protocol()).Elem()
		for i := range p.NumField() {
			if name := p.Type().Field(i).Name; p.Field(i).IsZero() && !mayBeEmpty[name] {
				t.Errorf("%s has no %s", f, name)
			}
		}
	}
}

// A format is found by the name under which its messages are stored, and what is not a
// protocol is not.
func TestProtocolsAreFoundByName(t *testing.T) {
	names := []string{"anthropic", "openai", "responses"}
	all := wire.Protocols()
	if len(all) != len(names) {
		t.Fatalf("%v, want %v", all, names)
	}
	for i, f := range all {
		if got, ok := wire.ByName(names[i]); !ok || got != f || f.String() != names[i] {
			t.Errorf("%s is %v %v, want %v", names[i], got, ok, f)
		}
	}
	for _, name := range []string{"auto", "trajectory", "claude-code", ""} {
		if f, ok := wire.ByName(name); ok {
			t.Errorf("%q is the protocol %v", name, f)
		}
	}
	for _, f := range []wire.Format{wire.Auto, wire.Trajectories, 99} {
		if f.IsProtocol() || f.Protocol() == nil {
			t.Errorf("%v is a protocol", f)
		}
	}
}

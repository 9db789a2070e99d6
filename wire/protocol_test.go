package wire_test

import (
	"reflect"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// mayBeEmpty are the parts for which nothing is an answer.
var mayBeEmpty = map[string]bool{
	"IsCount": true, "System": true, "Signs": true, "FromText": true, "LacksList": true, "Held": true, "Rules": true,
	"Before": true, "FromPath": true, "AsResult": true, "ListsEvents": true, "TooLongCodes": true, "MarksCache": true,
	"Sockets": true, "Steady": true, "AskCache": true, "Between": true, "Opening": true, "NamesReplies": true, "Unbound": true,
	"AskDrop": true, "DropBeta": true, "Streams": true, "Joint": true, "Window": true, "Framed": true, "Accepts": true,
	"CountIn": true, "NamesHeld": true,
}

// holes returns the parts that a protocol lacks.
func holes(f wire.Format) (names []string) {
	p := reflect.ValueOf(f.Protocol()).Elem()
	for i := range p.NumField() {
		name := p.Type().Field(i).Name
		if p.Field(i).IsZero() && !mayBeEmpty[name] && !(name == "TextPart" && f.Protocol().Joint != "") {
			names = append(names, name)
		}
	}
	return names
}

// A protocol without one of its parts is found here, and not by a user.
func TestEveryProtocolIsWhole(t *testing.T) {
	for _, f := range wire.Protocols() {
		for _, hole := range holes(f) {
			t.Errorf("%s has no %s", f, hole)
		}
	}
}

// The test above names each hole: here is a protocol with one for each part.
func TestHolesOfProtocolsAreNamed(t *testing.T) {
	of := reflect.TypeFor[wire.Protocol]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		p := *wire.Anthropic.Protocol()
		reflect.ValueOf(&p).Elem().Field(i).SetZero()
		if got := holes(wire.AddForTest(t, &p)); len(got) > 0 != !mayBeEmpty[name] || len(got) > 0 && got[0] != name {
			t.Errorf("without %s the holes are %v", name, got)
		}
	}
}

// A format is found by the name under which its messages are stored, and what is not a
// protocol is not.
func TestProtocolsAreFoundByName(t *testing.T) {
	names := []string{"anthropic", "openai", "responses", "gemini", "ollama", "interactions", "converse"}
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

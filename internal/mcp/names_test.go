package mcp

import (
	"reflect"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/report"
)

// What an agent is shown of a conversation, a message and an undo has the names that the API and
// the command line have for the same.
func TestAgentsAreShownTheSameNames(t *testing.T) {
	for _, c := range []struct {
		here, there any
		own         string // what only an agent is shown
	}{
		{listed{}, report.Conversation{}, "own"},
		{said{}, report.Message{}, "quote"},
		{undoOutput{}, report.Undo{}, "note"},
	} {
		there := fieldNames(reflect.TypeOf(c.there))
		for name := range fieldNames(reflect.TypeOf(c.here)) {
			if !there[name] && name != c.own {
				t.Errorf("%T has %q, %T has no such field", c.here, name, c.there)
			}
		}
	}
}

// fieldNames returns the names of a type's fields in JSON.
func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = true
		}
	}
	return names
}

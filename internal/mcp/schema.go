package mcp

import (
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/oriel-context/oriel"
)

// Limits of arguments.
const (
	maxQuery   = 4_000
	minBudget  = 64
	maxBudget  = 6_000
	maxList    = 100
	defaultRow = 20
)

// schemas are those of the inputs and outputs, by type: reading types takes longer than an
// answer.
var schemas sync.Map

// schemaOf returns the schema of a type, with the limits of its members.
func schemaOf[T any]() *jsonschema.Schema {
	t := reflect.TypeFor[T]()
	if known, ok := schemas.Load(t); ok {
		return known.(*jsonschema.Schema)
	}
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a type of this package that is not JSON
	}
	notNull(s)
	for name, p := range s.Properties {
		notNull(p)
		switch name {
		case "query":
			p.MinLength, p.MaxLength = new(1), new(maxQuery)
		case "scope":
			p.Enum = []any{"conversation", "project", "user"}
		case "text":
			p.MaxLength = new(oriel.MaxDirective)
		case "conversation", "project", "plan", "since", "until":
			p.MaxLength = new(maxQuery)
		case "budget":
			p.Minimum, p.Maximum = new(float64(minBudget)), new(float64(maxBudget))
		case "limit":
			p.Minimum, p.Maximum = new(1.0), new(float64(maxList))
		case "id", "from", "to":
			p.Minimum = new(1.0)
		case "offset":
			p.Minimum = new(0.0)
		}
	}
	schemas.Store(t, s)
	return s
}

// notNull removes null from the types of a schema: no pointer and no list of an answer is
// nil.
func notNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

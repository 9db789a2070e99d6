package importer

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// endless is a text that never ends, and counts what was read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// An element is refused before more of it is in memory than a store accepts.
func TestElementsThatAreTooLongAreNotRead(t *testing.T) {
	SetMaxLine(t, 1<<17)
	for name, begin := range map[string]string{"list": `[{"a":1},{"b":"` + strings.Repeat("y", 1<<16) + `"},"`,
		"object": `{"a":"`, "space": `[{"a":1},{"b":2}` + strings.Repeat(" ", 1<<10)} {
		tail := &endless{}
		e := elementsOf(io.MultiReader(strings.NewReader(begin), tail),
			map[bool]shape{true: whole, false: list}[name == "object"])
		var err error
		n := 0
		for err == nil && n < 10 {
			if _, err = e.next(); err == nil {
				n++
			}
		}
		if name == "space" { // an x is not JSON
			if err == nil || errors.Is(err, errLongElement) || n != 2 {
				t.Errorf("%s: %d elements, %v", name, n, err)
			}
			continue
		}
		if want := map[string]int{"list": 2, "object": 0}[name]; !errors.Is(err, errLongElement) || n != want {
			t.Errorf("%s: %d elements, %v; want %d and then a refusal", name, n, err, want)
		}
		if most := maxLine + between + 1<<13; tail.read > most {
			t.Errorf("%s: %d bytes were read, want at most %d", name, tail.read, most)
		}
	}
	// What is just short enough is read.
	text := `["` + strings.Repeat("z", maxLine-2) + `","b"]`
	e := elementsOf(strings.NewReader(text), list)
	for i, want := range []int{maxLine, 3} {
		if raw, err := e.next(); err != nil || len(raw) != want {
			t.Errorf("element %d: %d bytes, %v; want %d", i, len(raw), err, want)
		}
	}
	if _, err := e.next(); err != io.EOF {
		t.Error(err)
	}
}

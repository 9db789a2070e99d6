package token

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
)

//go:embed models.json
var builtinJSON []byte

// Builtin returns the table of this package.
func Builtin() *Models { return builtin() }

var builtin = sync.OnceValue(func() *Models {
	ms, err := (&Models{}).merge(builtinJSON, layer{snapshot: builtinSnapshot()})
	if err != nil {
		// Not reachable in a tested build: TestBuiltin loads the same bytes.
		panic("token: built-in models: " + err.Error())
	}
	return ms
})

// ModelError describes a fault in an entry of a model file.
type ModelError struct {
	File  string
	Model string // id of the entry, or its place in the list
	Field string // JSON name of the field; empty when it is the whole entry
	Err   error
}

func (e *ModelError) Error() string {
	s := "models"
	if e.File != "" {
		s += " file " + e.File
	}
	if e.Model != "" {
		s += fmt.Sprintf(": model %q", e.Model)
	}
	if e.Field != "" {
		s += fmt.Sprintf(": field %q", e.Field)
	}
	return s + ": " + e.Err.Error()
}

func (e *ModelError) Unwrap() error { return e.Err }

// LoadModels merges the JSON file at path into the built-in table. An entry
// with the id of a built-in one changes only the fields that it has; any other
// id is a new model, which starts from the entry named by its field "like" or
// else from the cautious figures for unknown models. The error is a *ModelError
// that names the model and the field.
func LoadModels(path string) (*Models, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read models file: %w", err)
	}
	ms, err := Builtin().Merge(data)
	var me *ModelError
	if errors.As(err, &me) {
		me.File = path
	}
	return ms, err
}

// Merge is LoadModels for a file's content over any table.
func (ms *Models) Merge(data []byte) (*Models, error) {
	return ms.merge(data, layer{figures: ownFile})
}

// ownFile is the origin of figures that stand in a file of the user's or in the settings.
const ownFile = "your own"

// layer is how entries are merged.
type layer struct {
	// figures is the origin of the figures that entries have; "" if their source names it.
	figures string
	// snapshot has figures for entries that do not state them, and further models.
	snapshot Snapshot
}

// file is the form of models.json.
type file struct {
	// Comment is for people; it has no effect.
	Comment    string                     `json:"comment"`
	Structures map[string]json.RawMessage `json:"structures"`
	Images     map[string]json.RawMessage `json:"images"`
	Models     []json.RawMessage          `json:"models"`
}

func (ms *Models) merge(data []byte, l layer) (*Models, error) {
	var f file
	if field, err := decode(data, &f); err != nil {
		return nil, &ModelError{Field: field, Err: err}
	}
	out := ms.clone()
	if err := mergeRules(&out.structures, f.Structures, "structures"); err != nil {
		return nil, err
	}
	if err := mergeRules(&out.images, f.Images, "images"); err != nil {
		return nil, err
	}
	rest := slices.Clone(l.snapshot.Models)
	for i, raw := range f.Models {
		var head entryHead
		// Other faults are found and named below.
		if _ = json.Unmarshal(raw, &head); head.ID == "" {
			return nil, &ModelError{Model: fmt.Sprintf("#%d", i+1), Field: "id",
				Err: errors.New("must be a non-empty string")}
		}
		at := slices.IndexFunc(out.entries, func(m Model) bool { return m.ID == head.ID })
		m, err := out.start(head.ID, head.Like, at)
		if err != nil {
			return nil, err
		}
		if n := slices.IndexFunc(rest, func(f Figures) bool { return f.ID == head.ID }); n >= 0 {
			rest[n].lay(&m)
			m.Figures, m.Date = l.snapshot.from(rest[n]), l.snapshot.Date
			rest = slices.Delete(rest, n, n+1)
		}
		if head.figures() {
			m.Figures = l.figures
		}
		head.clearLists(&m)
		if field, err := decode(raw, &m); err != nil {
			return nil, &ModelError{Model: head.ID, Field: field, Err: err}
		}
		if err := out.check(m); err != nil {
			return nil, err
		}
		if at < 0 {
			out.entries = append(out.entries, m)
		} else {
			out.entries[at] = m
		}
	}
	if err := out.index(); err != nil {
		return nil, err
	}
	for _, f := range rest {
		if _, taken := out.names[key(f.ID)]; taken {
			continue // another name of an entry
		}
		m, err := out.vendor(f)
		if err != nil {
			return nil, err
		}
		f.lay(&m) // which ReadSnapshot has checked
		m.Figures, m.Date = l.snapshot.from(f), l.snapshot.Date
		out.names[key(f.ID)] = len(out.entries)
		out.entries = append(out.entries, m)
	}
	if l.snapshot.Date != "" {
		out.snapshot = Snapshot{Source: l.snapshot.Source, Date: l.snapshot.Date, Also: l.snapshot.Also}
	}
	return out, out.index()
}

func (ms *Models) clone() *Models {
	return &Models{
		entries:    slices.Clone(ms.entries),
		names:      ms.names,
		structures: maps.Clone(ms.structures),
		images:     maps.Clone(ms.images),
		snapshot:   ms.snapshot,
	}
}

// entryHead is the part of an entry that must be known before merging it into
// another one: lists replace lists, but decoding alone would mix their
// elements.
type entryHead struct {
	ID, Like       string
	Aliases, Widen json.RawMessage
	Window         json.RawMessage
	Prices         struct{ Input, Output, Tiers json.RawMessage }
	Cache          struct{ TTL json.RawMessage }
}

// figures reports whether the entry itself has a window or a price, the figures that matter most.
func (h *entryHead) figures() bool {
	return h.Window != nil || h.Prices.Input != nil || h.Prices.Output != nil
}

func (h *entryHead) clearLists(m *Model) {
	if h.Aliases != nil {
		m.Aliases = nil
	}
	if h.Widen != nil {
		m.Widen = nil
	}
	if h.Prices.Tiers != nil {
		m.Prices.Tiers = nil
	}
	if h.Cache.TTL != nil {
		m.Cache.TTL = nil
	}
}

// start returns the model into which an entry's fields are merged.
func (ms *Models) start(id, like string, at int) (Model, error) {
	switch {
	case like != "":
		for _, m := range ms.entries {
			if m.ID == like {
				m = m.clone()
				m.Aliases, m.Family, m.Guess = nil, false, false
				return m, nil
			}
		}
		return Model{}, &ModelError{Model: id, Field: "like", Err: fmt.Errorf("no model %q to start from", like)}
	case at >= 0:
		return ms.entries[at].clone(), nil
	}
	m := Model{Multiplier: 1}
	if i, ok := ms.names[defaultID]; ok {
		m = ms.entries[i].clone()
		m.Aliases, m.Guess, m.Source, m.Date = nil, false, "", ""
	}
	return m, nil
}

func mergeRules[R any](into *map[string]R, from map[string]json.RawMessage, field string) error {
	if *into == nil {
		*into = map[string]R{}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		raw := from[name]
		rule := (*into)[name]
		if f, err := decode(raw, &rule); err != nil {
			return &ModelError{Field: field + "." + name + dot(f), Err: err}
		}
		if f, err := notNegative(rule); err != nil {
			return &ModelError{Field: field + "." + name + dot(f), Err: err}
		}
		(*into)[name] = rule
	}
	return nil
}

func dot(f string) string {
	if f == "" {
		return ""
	}
	return "." + f
}

// key returns the form of a name under which the table finds it.
func key(name string) string {
	spelt, _ := normalise(name)
	return dashes.Replace(spelt)
}

// index maps names to entries. Two entries must not claim the same name.
func (ms *Models) index() error {
	ms.names = make(map[string]int, 2*len(ms.entries))
	for i, m := range ms.entries {
		for j, name := range append([]string{m.ID}, m.Aliases...) {
			key := key(name)
			if other, ok := ms.names[key]; ok && other != i {
				field := "aliases"
				if j == 0 {
					field = "id"
				}
				return &ModelError{Model: m.ID, Field: field,
					Err: fmt.Errorf("%q is also a name of %q", name, ms.entries[other].ID)}
			}
			ms.names[key] = i
		}
	}
	return nil
}

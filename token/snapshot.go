package token

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
)

//go:embed snapshot.json
var snapshotJSON []byte

// Snapshot is a dated list of what models take and cost, as a public price file has it. Such
// a file knows nothing of encodings, structural costs, pictures and binding rules: these come
// from the entry of the model or, for a model without one, of its vendor.
type Snapshot struct {
	// Source names the file and its version, Date is the day on which it was published
	// (YYYY-MM-DD).
	Source string `json:"source"`
	Date   string `json:"date"`
	// Also names a second file, from which models come that the first does not have.
	Also   string    `json:"also,omitempty"`
	Models []Figures `json:"models"`
}

// Figures are a snapshot's figures of one model. 0 means that the snapshot does not have one.
type Figures struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	// Second reports that the figures come from the file Also of the snapshot.
	Second    bool   `json:"second,omitempty"`
	Window    int    `json:"window,omitempty"`
	MaxInput  int    `json:"max_input,omitempty"`
	MaxOutput int    `json:"max_output,omitempty"`
	CacheMin  int    `json:"cache_min,omitempty"`
	Prices    Prices `json:"prices,omitzero"`
}

// MaxAge is the age in days from which on a table of prices counts as old.
const MaxAge = 45

// Age returns the number of days from the snapshot's date to now, 0 without a date.
func (s Snapshot) Age(now time.Time) int {
	day, err := time.Parse(time.DateOnly, s.Date)
	if err != nil || now.Before(day) {
		return 0
	}
	return int(now.Sub(day).Hours() / 24)
}

// Ahead reports whether the snapshot's day has not come yet, wherever one is: such a snapshot would
// count as newer than all later ones.
func (s Snapshot) Ahead(now time.Time) bool {
	return s.Date > now.UTC().AddDate(0, 0, 1).Format(time.DateOnly)
}

// BuiltinSnapshot returns the snapshot in this package. Callers must not change its models.
func BuiltinSnapshot() Snapshot { return builtinSnapshot() }

var builtinSnapshot = sync.OnceValue(func() Snapshot {
	s, err := ReadSnapshot(snapshotJSON)
	if err != nil {
		// Not reachable in a tested build: TestBuiltin loads the same bytes.
		panic("token: built-in snapshot: " + err.Error())
	}
	return s
})

// ReadSnapshot reads the JSON form of a snapshot.
func ReadSnapshot(data []byte) (Snapshot, error) {
	var s Snapshot
	if field, err := decode(data, &s); err != nil {
		return Snapshot{}, &ModelError{Field: field, Err: err}
	}
	if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
		return Snapshot{}, &ModelError{Field: "date", Err: fmt.Errorf("must be YYYY-MM-DD, is %q", s.Date)}
	}
	seen := make(map[string]bool, len(s.Models))
	for i, f := range s.Models {
		bad := func(field, format string, args ...any) (Snapshot, error) {
			return Snapshot{}, &ModelError{Model: f.ID, Field: field, Err: fmt.Errorf(format, args...)}
		}
		if field, err := notNegative(f); err != nil {
			return bad(field, "%w", err)
		}
		switch {
		case f.ID == "":
			f.ID = fmt.Sprintf("#%d", i+1)
			return bad("id", "must be a non-empty string")
		case seen[f.ID]:
			return bad("id", "stands twice")
		case f.MaxInput > f.Window:
			return bad("max_input", "%d is more than the window of %d", f.MaxInput, f.Window)
		}
		seen[f.ID] = true
	}
	return s, nil
}

// Encode returns the JSON form of the snapshot, with a line for each model.
func (s Snapshot) Encode() ([]byte, error) {
	models := s.Models
	s.Models = []Figures{}
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := head[:len(head)-len("]}")]
	for i, f := range models {
		line, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), line...)
	}
	return append(out, "\n]}\n"...), nil
}

// from returns the origin of a model's figures.
func (s Snapshot) from(f Figures) string {
	if f.Second {
		return s.Also
	}
	return s.Source
}

// Update returns the table with the figures of a newer snapshot. A figure that stands in the
// built-in snapshot, too, is left as the table has it, because an entry kept by hand may
// deliberately differ from it; whatever is new or has changed since replaces the table's. A
// model that the table does not have starts from its vendor's entry for unknown names.
func (ms *Models) Update(s Snapshot) (*Models, error) {
	out := ms.clone()
	if err := out.index(); err != nil {
		return nil, err
	}
	before := map[string]Figures{}
	for _, f := range BuiltinSnapshot().Models {
		before[f.ID] = f
	}
	for _, f := range s.Models {
		old := before[f.ID]
		at := slices.IndexFunc(out.entries, func(m Model) bool { return m.ID == f.ID && !m.Guess })
		if at < 0 {
			if _, taken := out.names[key(f.ID)]; taken || f.Window == 0 {
				continue // another name of an entry, or too little is known
			}
			m, err := out.vendor(f)
			if err != nil {
				return nil, err
			}
			at, old = len(out.entries), Figures{}
			out.names[key(f.ID)] = at
			out.entries = append(out.entries, m)
		}
		m := out.entries[at].clone()
		if f.since(old).lay(&m) {
			m.Figures, m.Date = s.from(f), s.Date
		}
		if err := out.check(m); err != nil {
			return nil, err
		}
		out.entries[at] = m
	}
	out.snapshot = Snapshot{Source: s.Source, Date: s.Date, Also: s.Also}
	return out, out.index()
}

// since returns the figures that old does not have or has differently.
func (f Figures) since(old Figures) Figures {
	if f.Window == old.Window && f.MaxInput == old.MaxInput {
		f.Window, f.MaxInput = 0, 0
	}
	if f.MaxOutput == old.MaxOutput {
		f.MaxOutput = 0
	}
	if f.CacheMin == old.CacheMin {
		f.CacheMin = 0
	}
	if reflect.DeepEqual(f.Prices, old.Prices) {
		f.Prices = Prices{}
	}
	return f
}

// lay sets the figures that f has and reports whether there was one.
func (f Figures) lay(m *Model) bool {
	if f.Window > 0 {
		m.Window, m.MaxInput = f.Window, f.MaxInput
	}
	if f.MaxOutput > 0 {
		m.MaxOutput = f.MaxOutput
	}
	if f.CacheMin > 0 {
		m.Cache.Min = f.CacheMin
	}
	if f.Prices.Known() {
		m.Prices = f.Prices
		m.Prices.Tiers = slices.Clone(f.Prices.Tiers)
		m.Prices.Service = maps.Clone(f.Prices.Service)
	}
	return f.Window > 0 || f.MaxOutput > 0 || f.CacheMin > 0 || f.Prices.Known()
}

// vendor returns the entry from which a model of a snapshot starts that has none of its own:
// that for unknown names of its provider or, without one, of all.
func (ms *Models) vendor(f Figures) (Model, error) {
	at := slices.IndexFunc(ms.entries, func(m Model) bool { return m.Guess && m.Provider == f.Provider })
	if at < 0 {
		at = slices.IndexFunc(ms.entries, func(m Model) bool { return m.ID == defaultID })
	}
	if at < 0 {
		return Model{}, &ModelError{Model: f.ID, Field: "provider", Err: fmt.Errorf("no entry for %q", f.Provider)}
	}
	m := ms.entries[at].clone()
	m.ID, m.Provider = f.ID, f.Provider
	m.Aliases, m.Family, m.Guess, m.Widen = nil, false, false, nil
	m.MaxInput, m.MaxOutput, m.Prices = 0, 0, Prices{}
	m.Confidence = "reported"
	return m, nil
}

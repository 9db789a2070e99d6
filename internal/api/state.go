package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// healthState is how the server is.
type healthState struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	Store   string `json:"store"`
	// Error is why the history cannot be written; empty if it can.
	Error string `json:"error"`
	// Held is why changed settings are not in use; empty if they are.
	Held    string    `json:"settings_held"`
	Started time.Time `json:"started"`
	// DroppedEvents counts events that slow readers of streams have lost.
	DroppedEvents int64 `json:"dropped_events"`
}

func (q *request) health() (any, error) {
	s := healthState{Status: "ok", Version: q.Version, Store: "ok", Held: q.Held(), Started: q.started.UTC(), DroppedEvents: q.Hub.Dropped()}
	if err := q.Health(q.Context()); err != nil {
		s.Status, s.Store, s.Error = "degraded", "failed", clip.To(err.Error(), clip.Text)
	}
	if s.Held != "" {
		s.Status = "degraded"
	}
	return s, nil
}

// settingsState is the settings in effect. Its settings are those of oriel config --json.
type settingsState struct {
	File     string           `json:"file"`
	Profile  string           `json:"profile"`
	Held     string           `json:"held"`
	Settings []settings.Value `json:"settings"`
}

func (q *request) settings() (any, error) {
	s := settingsState{Settings: []settings.Value{}, Held: q.Held()}
	if l := q.Settings(); l != nil {
		s.File, s.Profile, s.Settings = l.File, l.Profile, slices.DeleteFunc(l.Values(), q.ofOthers)
	}
	return s, nil
}

// ofOthers reports whether a setting is a limit of another tenant, whose name is not for
// everybody. The machine's own user sees all.
func (q *request) ofOthers(v settings.Value) bool {
	if q.tenant == timeline.Local || !strings.HasPrefix(v.Key, "tenants.") {
		return false
	}
	for _, name := range []string{q.tenant, "*"} {
		if strings.HasPrefix(v.Key, toml.Key{"tenants", name}.String()+".") {
			return false
		}
	}
	return true
}

// modelState is the model table, and what was learnt about providers.
type modelState struct {
	Models      []token.Model       `json:"models"`
	Limits      []token.FoundLimit  `json:"limits"`
	Calibration []token.LearntScale `json:"calibration"`
}

// limits returns the limits that the tenant's providers taught.
func (q *request) limits(learnt *token.Learnt) []token.FoundLimit {
	out := []token.FoundLimit{}
	if learnt == nil {
		return out
	}
	for _, f := range learnt.Limits.All(q.Now()) {
		if f.Tenant == q.tenant {
			out = append(out, f)
		}
	}
	return out
}

func (q *request) modelTable() (any, error) {
	s := modelState{Models: q.models().All(), Limits: []token.FoundLimit{}, Calibration: []token.LearntScale{}}
	slices.SortStableFunc(s.Models, func(a, b token.Model) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.ID, b.ID))
	})
	learnt, err := q.Learnt()
	if err != nil || learnt == nil {
		return s, err
	}
	s.Limits = q.limits(learnt)
	for _, c := range learnt.Scales() {
		if c.Tenant == q.tenant {
			s.Calibration = append(s.Calibration, c)
		}
	}
	return s, nil
}

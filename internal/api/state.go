package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// operates reports whether a request comes from the machine's own user, who runs the server.
// Only that user sees what belongs to the server as a whole: the sums of all tenants, paths,
// and errors, which may name both.
func (q *request) operates() bool { return q.tenant == timeline.Local }

// storeError returns why the history cannot be written, or "".
func (q *request) storeError(ctx context.Context) string {
	switch err := q.Health(ctx); {
	case err == nil:
		return ""
	case q.operates():
		return clip.To(err.Error(), clip.Text)
	}
	return "the history cannot be written"
}

// settingsHeld returns why changed settings are not in use, or "".
func (q *request) settingsHeld() string {
	why := q.Held()
	if why != "" && !q.operates() {
		return "the settings have a mistake"
	}
	return why
}

// healthState is how the server is.
type healthState struct {
	// It is degraded if the history cannot be written, changed settings are not in use, or calls of a
	// newer version wait in the spool.
	Status  string `json:"status"`
	Version string `json:"version"`
	Store   string `json:"store"`
	// Error is why the history cannot be written; empty if it can.
	Error string `json:"error"`
	// Held is why changed settings are not in use; empty if they are.
	Held    string    `json:"settings_held"`
	Started time.Time `json:"started"`
	// DroppedEvents counts events that slow readers of streams have lost; only the tenant local sees
	// it.
	DroppedEvents *int64 `json:"dropped_events,omitempty"`
}

func (q *request) health() (*healthState, error) {
	s := &healthState{Status: "ok", Version: q.Version, Store: "ok", Error: q.storeError(q.Context()),
		Held: q.settingsHeld(), Started: q.started.UTC()}
	if q.operates() {
		dropped := q.Hub.Dropped()
		s.DroppedEvents = &dropped
	}
	if s.Error != "" {
		s.Status, s.Store = "degraded", "failed"
	}
	if s.Held != "" || call.Of(q.Engine).Spool().Newer > 0 { // as /oriel/healthz
		s.Status = "degraded"
	}
	return s, nil
}

// settingsState is the settings in effect. Its settings are those of oriel config --json.
type settingsState struct {
	// File is the file of settings; only the tenant local sees it.
	File    string `json:"file"`
	Profile string `json:"profile"`
	// Why changed settings are not in use; empty if they are.
	Held     string           `json:"held"`
	Settings []settings.Value `json:"settings"`
}

func (q *request) settings() (*settingsState, error) {
	s := &settingsState{Settings: []settings.Value{}, Held: q.settingsHeld()}
	l := q.Settings()
	switch {
	case l == nil:
	case q.operates():
		s.File, s.Profile, s.Settings = l.File, l.Profile, l.Values()
	default:
		s.Profile, s.Settings = l.Profile, slices.DeleteFunc(l.Values(), q.ofOthers)
		for i := range s.Settings {
			s.Settings[i].Where = ""
		}
	}
	return s, nil
}

// ofOthers reports whether a setting is not for a tenant: it is the server's own, or a limit
// of another tenant, whose name is not for everybody.
func (q *request) ofOthers(v settings.Value) bool {
	if !strings.HasPrefix(v.Key, "tenants.") {
		return v.Server
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
	Models []token.Model `json:"models"`
	// What was learnt from refusals of providers.
	Limits []token.FoundLimit `json:"limits"`
	// What was learnt from the usage that providers reported.
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

func (q *request) modelTable() (*modelState, error) {
	s := &modelState{Models: q.models().All(), Limits: []token.FoundLimit{}, Calibration: []token.LearntScale{}}
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

package api_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// A tenant does not learn from the settings who the others are.
func TestSettingsNameNoOtherTenant(t *testing.T) {
	w := newWorld(t, nil)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("[tenants.ann]\ncalls_per_minute = 77\n[tenants.\"ben b\"]\ncalls_per_minute = 88\n[tenants.\"*\"]\ncalls_per_minute = 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := settings.Load(settings.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	h := api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub, Settings: func() *settings.Loaded { return l },
		Tenant: func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) }})
	for tenant, want := range map[string]string{"ann": "77 99", "ben b": "88 99", "an": "99", timeline.Local: "77 88 99"} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequestWithContext(context.WithValue(t.Context(), asTenant{}, tenant), "GET", api.Prefix+"settings", nil))
		var got []string
		for _, limit := range []string{"77", "88", "99"} {
			if strings.Contains(out.Body.String(), `"value":`+limit+`,`) {
				got = append(got, limit)
			}
		}
		if strings.Join(got, " ") != want || out.Code != 200 {
			t.Errorf("%s: %d, limits %v, want %s", tenant, out.Code, got, want)
		}
	}
}

// What waits on disk and what providers taught is part of the overview, for its tenant.
func TestTheOverviewHasWhatWasLearnt(t *testing.T) {
	w := newWorld(t, nil)
	learnt, err := token.OpenLearnt(filepath.Join(t.TempDir(), "learnt.json"))
	if err != nil {
		t.Fatal(err)
	}
	for tenant, tokens := range map[string]int{"ann": 77_000, "ben": 88_000} {
		learnt.Limits.Learn(token.Asked{Tenant: tenant, Model: "gpt-4o", Window: 128_000}, tokens, false, noon)
	}
	h := api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub, Learnt: func() (*token.Learnt, error) { return learnt, nil },
		Tenant: func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) }, Now: func() time.Time { return noon }})
	d := w.description()
	for tenant, want := range map[string]string{
		"ann":          `"spool":{"calls":0,"bytes":0,"newer":0,"lost":0},"limits":[{"tenant":"ann","model":"gpt-4o","window":128000,"tokens":77000,`,
		timeline.Local: `"limits":[],`,
	} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequestWithContext(context.WithValue(t.Context(), asTenant{}, tenant), "GET", api.Prefix+"overview", nil))
		if !strings.Contains(out.Body.String(), want) {
			t.Errorf("%s: no %s in %s", tenant, want, out.Body)
		}
		d.conform(t, "overview of "+tenant, json.RawMessage(`{"$ref":"#/components/schemas/Overview"}`), out.Body.Bytes())
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/call/spool"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

// A tenant does not learn from the settings who the others are.
func TestSettingsNameNoOtherTenant(t *testing.T) {
	w := newWorld(t, nil)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file,
		[]byte("[tenants.ann]\ncalls_per_minute = 77\n[tenants.\"ben b\"]\ncalls_per_minute = 88\n[tenants.\"*\"]\ncalls_per_minute = 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := settings.Load(settings.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	h := api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub,
		Settings: func() *settings.Loaded { return l },
		Tenant:   func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) }})
	for tenant, want := range map[string]string{"ann": "77 99", "ben b": "88 99", "an": "99",
		timeline.Local: "77 88 99"} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequestWithContext(context.WithValue(t.Context(), asTenant{}, tenant), "GET",
			api.Prefix+"settings", nil))
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

// What the server has of all tenants, and where it has it, is for the machine's own user. A
// tenant sees of no route what others do, nor a path of the server.
func TestWhatTenantsSeeDoesNotDependOnOthers(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "history"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := newWorld(t, store)
	file, prompt := filepath.Join(dir, "config.toml"), filepath.Join(dir, "prompt.txt")
	if err := os.WriteFile(prompt, []byte("Summarise this."), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file,
		fmt.Appendf(nil,
			"data = %q\nspool = %q\nprofile = \"thrifty\"\n[condense]\nurl = \"http://127.0.0.1:1\"\nmodel = \"small\"\nprompt = %q\n[profiles.team]\nbudget = 70000\n", dir, dir, prompt), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := settings.Load(settings.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = api.New(api.Options{
		Engine: w.engine, Store: w.store, Hub: w.hub, Now: func() time.Time { return noon },
		Settings: func() *settings.Loaded { return l },
		Tenant:   func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) },
		Held:     func() string { return file + ":3: a mistake" },
		Health:   func(context.Context) error { return errors.New(dir + ": the disk is full") },
	})
	d := w.description()
	see := func(tenant string) map[string]string {
		w.tenant = tenant
		seen := map[string]string{}
		for path, operations := range d.Paths {
			o, ok := operations["get"]
			if !ok || strings.Contains(path, "{conversation}") || o.OperationID == "events" { // TestEventsAreStreamed
				continue
			}
			a := w.do("GET", strings.TrimPrefix(path, "/"), "")
			seen[path] = fmt.Sprintf("%d %s", a.status, a.body)
			d.conform(t, path+" of "+tenant, o.Responses["200"].Content["application/json"].Schema, a.body)
		}
		return seen
	}
	for _, tenant := range []string{"ben", timeline.Local} {
		w.hub.PublishTo(tenant, oriel.Event{Kind: oriel.EventOpen, Reason: event.OpenStore,
			Error: dir + ": the disk is full"})
	}
	ben, operator := see("ben"), see(timeline.Local)
	w.talk("ann", "annsecret", 4, nil)
	for range 300 { // more than are kept: a reader who is behind loses some
		w.hub.PublishTo("ann", oriel.Event{Kind: oriel.EventOpen, Reason: event.OpenStore})
	}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), asTenant{}, "ann"))
	cancel()
	w.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", api.Prefix+"events?after=0",
		nil))
	if diff := cmp.Diff(ben, see("ben")); diff != "" || len(ben) < 8 {
		t.Errorf("after calls of ann, ben sees of %d routes:\n%s", len(ben), diff)
	}
	changed := see(timeline.Local)
	for _, path := range []string{"/overview", "/health"} {
		if changed[path] == operator[path] {
			t.Errorf("%s does not show the machine's own user what all tenants have: %s", path, changed[path])
		}
	}
	for path, text := range ben {
		if strings.Contains(text, dir) {
			t.Errorf("%s shows ben a path of the server: %s", path, text)
		}
	}
	if !strings.Contains(ben["/settings"], `"key":"profiles.team.budget","value":70000,"source":"file"`) ||
		!strings.Contains(operator["/settings"], dir) {
		t.Errorf("ben sees %.300s, the machine's own user %.300s", ben["/settings"], operator["/settings"])
	}
	if !strings.Contains(ben["/overview"], `"reason":"store: the server's log has the cause"`) ||
		!strings.Contains(operator["/overview"], dir) {
		t.Errorf("ben sees %s, the machine's own user %s", ben["/overview"], operator["/overview"])
	}
	if !strings.Contains(ben["/health"], `"degraded"`) || !strings.Contains(operator["/health"], dir) {
		t.Errorf("ben sees %s, the machine's own user %s", ben["/health"], operator["/health"])
	}
}

// Calls that wait for a newer version are a state that all who ask about health are told.
func TestHealthIsDegradedWhileCallsOfANewerVersionWait(t *testing.T) {
	dir := t.TempDir()
	left := spool.Open(dir, spool.Options{})
	if err := errors.Join(left.Append(spool.Entry{Meta: []byte(`{"v":2,"id":"call-x"}`),
		Blobs: [][]byte{[]byte("a message")}}), left.Close()); err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: store, NoEmbed: true, Spool: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	w := newWorld(t, store)
	w.handler = api.New(api.Options{Engine: engine, Store: store, Hub: w.hub,
		Tenant: func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) }})
	for _, w.tenant = range []string{timeline.Local, "ann"} {
		var got struct{ Status, Store, Error string }
		if w.get("health", &got); got.Status != "degraded" || got.Store != "ok" || got.Error != "" {
			t.Errorf("%s is told %+v", w.tenant, got)
		}
	}
}

// What providers taught is part of the overview, for its tenant.
func TestTheOverviewHasWhatWasLearnt(t *testing.T) {
	w := newWorld(t, nil)
	learnt, err := token.OpenLearnt(filepath.Join(t.TempDir(), "learnt.json"))
	if err != nil {
		t.Fatal(err)
	}
	for tenant, tokens := range map[string]int{"ann": 77_000, "ben": 88_000} {
		learnt.Limits.Learn(token.Asked{Tenant: tenant, Model: "gpt-4o", Window: 128_000}, tokens, false, noon)
	}
	h := api.New(api.Options{Engine: w.engine, Store: w.store, Hub: w.hub,
		Learnt: func() (*token.Learnt, error) { return learnt, nil },
		Tenant: func(ctx context.Context) string { return ctx.Value(asTenant{}).(string) },
		Now:    func() time.Time { return noon }})
	d := w.description()
	for tenant, want := range map[string]string{
		"ann":          `"limits":[{"tenant":"ann","model":"gpt-4o","window":128000,"tokens":77000,`,
		timeline.Local: `"spool":{"calls":0,"bytes":0,"newer":0,"lost":0},"limits":[],`,
	} {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequestWithContext(context.WithValue(t.Context(), asTenant{}, tenant), "GET",
			api.Prefix+"overview", nil))
		if !strings.Contains(out.Body.String(), want) {
			t.Errorf("%s: no %s in %s", tenant, want, out.Body)
		}
		d.conform(t, "overview of "+tenant, json.RawMessage(`{"$ref":"#/components/schemas/Overview"}`),
			out.Body.Bytes())
	}
}

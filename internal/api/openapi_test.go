package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/oriel-context/oriel/timeline"
)

// description is openapi.json as far as the tests read it.
type description struct {
	OpenAPI string `json:"openapi"`
	Paths   map[string]map[string]operation
	// Components holds the schemas, whose references are those of JSON Schema.
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]struct{ Content map[string]media }
		Schemas    map[string]json.RawMessage
	}
	validators map[string]*jsonschema.Resolved
}

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []parameter
	RequestBody *struct{ Content map[string]media }
	Responses   map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]media
	}
}

type parameter struct {
	Ref, Name, In string
	Example       any
}

func (p *parameter) UnmarshalJSON(data []byte) error {
	var v struct {
		Ref      string `json:"$ref"`
		Name, In string
		Example  any
	}
	err := json.Unmarshal(data, &v)
	*p = parameter{strings.TrimPrefix(v.Ref, "#/components/parameters/"), v.Name, v.In, v.Example}
	return err
}

type media struct {
	Schema  json.RawMessage
	Example json.RawMessage
}

func (w *world) description() *description {
	w.t.Helper()
	d := new(description)
	w.get("openapi.json", d)
	return d
}

// validator returns the schema with all others beside it.
func (d *description) validator(t *testing.T, schema json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	if r := d.validators[string(schema)]; r != nil {
		return r
	}
	all, err := json.Marshal(d.Components.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"allOf":[%s],"$defs":%s}`, schema, all)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.validators == nil {
		d.validators = map[string]*jsonschema.Resolved{}
	}
	d.validators[string(schema)] = r
	return r
}

// conform reports whether JSON is as the description says.
func (d *description) conform(t *testing.T, what string, schema json.RawMessage, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := d.validator(t, schema).Validate(v); err != nil {
		t.Errorf("%s: %v\n%.600s", what, err, data)
	}
}

// requests are requests to each operation whose answers must be as described.
var requests = map[string][]string{
	"openapi": {"openapi.json"}, "health": {"health"}, "settings": {"settings"}, "models": {"models"},
	"overview": {"overview", "overview?zone=Asia/Tokyo"},
	"usage": {"usage", "usage?by=hour&since=24h", "usage?by=model",
		"usage?by=conversation&conversation=settle&zone=Europe/Berlin"},
	"dayComposition": {"composition", "composition?since=7d"},
	"cache":          {"cache", "cache?since=7d"},
	"conversations": {"conversations", "conversations?limit=1", "conversations?search=port",
		"conversations?project=none"},
	"conversation": {"conversations/settle", "conversations/a%2Fb", "conversations/last"},
	"export":       {"conversations/settle/export", "conversations/imported/export"},
	"strip": {"conversations/settle/strip", "conversations/settle/strip?call=3",
		"conversations/settle/strip?only=verdicts", "conversations/imported/strip"},
	"messages": {"conversations/settle/messages", "conversations/settle/messages?from=2&to=9&limit=3",
		"conversations/imported/messages?call=last"},
	"message": {"conversations/settle/messages/2", "conversations/settle/messages/1?call=2",
		"conversations/imported/messages/1"},
	"plans": {"conversations/settle/plans", "conversations/imported/plans"},
	"plan":  {"conversations/settle/plans/last", "conversations/settle/plans/p1"},
	"calls": {"conversations/settle/calls", "conversations/settle/calls?order=asc&limit=2",
		"conversations/imported/calls"},
	"call":        {"conversations/settle/calls/1", "conversations/settle/calls/last"},
	"sent":        {"conversations/settle/calls/last/sent", "conversations/settle/calls/last/sent?body=came"},
	"composition": {"conversations/settle/calls/last/composition"},
	"diff": {"conversations/settle/calls/last/diff", "conversations/settle/calls/1/diff",
		"conversations/settle/calls/last/diff?with=came", "conversations/settle/calls/2/diff?with=5"},
	"pin":        {`conversations/settle/pins {"id":1}`},
	"unpin":      {"conversations/settle/pins/1"},
	"setPrivate": {`conversations/settle/private {"private":false}`},
	"undo": {`conversations/settle/undo {"preview":true}`,
		`conversations/settle/undo {"plan":"p1","preview":true}`, `conversations/settle/undo {"plan":"p1"}`},
	"release": {"conversations/settle/release {}", "conversations/settle/release "},
	"recall": {`recall {"query":"which port does service 2 listen on?","explain":true}`,
		`recall {"query":"port","conversation":"settle","scope":"project","mode":"keyword","budget":300,"top":2,"floor":0.2,"explain":true}`},
	"fit":    {`fit {"body":{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]},"budget":8000}`},
	"events": nil, // TestEventsAreStreamed
}

// addImported adds a conversation that came by no call.
func (w *world) addImported() {
	w.t.Helper()
	change := timeline.Change{Conversation: "imported", Now: noon}
	for _, m := range []string{`{"role":"user","content":"Which picture?"}`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8gd29ybGQ="}}]}`,
		`not JSON at all`} {
		change.Messages = append(change.Messages, timeline.Message{Identity: timeline.HashOf([]byte(m)), Raw: []byte(m),
			Format: timeline.FormatOpenAI, Role: "user", Time: noon})
	}
	if _, err := w.store.Apply(w.t.Context(), timeline.Local, change); err != nil {
		w.t.Fatal(err)
	}
}

func TestEveryAnswerIsAsDescribed(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	w := newWorld(t, nil)
	w.addImported()
	messages := w.talk(timeline.Local, "settle", 14, nil)
	w.budget = 20_000 // room for an undo
	w.talk(timeline.Local, "settle", 2, messages)
	w.talk(timeline.Local, "a/b", 1, nil)
	d := w.description()
	seen := map[string]bool{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			for _, request := range requests[o.OperationID] {
				target, body, _ := strings.Cut(request, " ")
				a := w.do(strings.ToUpper(method), target, body)
				kind := a.header.Get("Content-Type")
				described, ok := o.Responses["200"].Content[kind]
				if a.status != 200 || !ok {
					t.Errorf("%s %s: %d, %s: %s", method, request, a.status, kind, a.body)
				} else if kind == "application/json" {
					d.conform(t, request, described.Schema, a.body)
				}
			}
			if _, ok := requests[o.OperationID]; !ok {
				t.Errorf("no request to %s %s (%s)", method, path, o.OperationID)
			}
			seen[o.OperationID] = true
			for kind, m := range o.requestBody() {
				d.conform(t, "the example of "+o.OperationID, m.Schema, m.Example)
				if kind != "application/json" {
					t.Errorf("%s takes %s", o.OperationID, kind)
				}
			}
		}
	}
	for id := range requests {
		if !seen[id] {
			t.Errorf("operation %s is not described", id)
		}
	}
}

func (o *operation) requestBody() map[string]media {
	if o.RequestBody == nil {
		return nil
	}
	return o.RequestBody.Content
}

func TestEverySchemaIsClosedAndDescribed(t *testing.T) {
	d := newWorld(t, nil).description()
	if d.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI %q", d.OpenAPI)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		var o struct {
			AdditionalProperties *bool
			Description          string
		}
		if err := json.Unmarshal(d.Components.Schemas[name], &o); err != nil || o.AdditionalProperties == nil ||
			*o.AdditionalProperties || o.Description == "" {
			t.Errorf("schema %s allows members that are not described, or is not described itself: %v", name, err)
		}
	}
}

func TestErrorsAreProblemsWithAHint(t *testing.T) {
	w := newWorld(t, nil)
	w.talk(timeline.Local, "settle", 6, nil)
	d := w.description()
	problem := d.Components.Responses["404"].Content["application/problem+json"].Schema
	for _, c := range []struct {
		status       int
		method, path string
		body, detail string
	}{
		{404, "GET", "nothing", "", "nothing at this path"},
		{404, "GET", "conversations/", "", "nothing at this path"},
		{404, "GET", "conversations//strip", "", "nothing at this path"},
		{405, "POST", "health", "{}", "POST"},
		{405, "DELETE", "conversations/settle", "", "DELETE"},
		{400, "GET", "health?x=1", "", `"x"`},
		{400, "GET", "conversations?limit=1&limit=2", "", `"limit"`},
		{400, "GET", "conversations?limit=0", "", `"limit"`},
		{400, "GET", "conversations?limit=501", "", `"limit"`},
		{400, "GET", "conversations?cursor=nonsense", "", `"cursor"`},
		{400, "GET", "conversations?limit=1;x=2", "", "semicolon"},
		{400, "GET", "overview?zone=Mars", "", `"zone"`},
		{400, "GET", "overview?zone=../../etc/passwd", "", `"zone"`},
		{400, "GET", "usage?by=minute", "", `"by"`},
		{400, "GET", "usage?since=whenever", "", `"since"`},
		{404, "GET", "usage?conversation=none", "", "conversation"},
		{404, "GET", "conversations/none", "", "conversation"},
		{404, "GET", "conversations/" + strings.Repeat("x", 2000), "", "conversation"},
		{404, "GET", "conversations/settle/strip?call=99", "", "call"},
		{400, "GET", "conversations/settle/strip?only=x", "", `"only"`},
		{400, "GET", "conversations/settle/messages?from=x", "", `"from"`},
		{404, "GET", "conversations/settle/messages/0", "", "message"},
		{404, "GET", "conversations/settle/messages/99999999999999999999", "", "message"},
		{404, "GET", "conversations/settle/plans/p99", "", "plan"},
		{404, "GET", "conversations/settle/calls/99/sent", "", "call"},
		{404, "POST", "conversations/settle/pins", `{"id":999}`, "message"},
		{400, "POST", "conversations/settle/pins", `{"id":"x"}`, `"id"`},
		{400, "POST", "conversations/settle/private", `{}`, `"private"`},
		{400, "POST", "conversations/settle/pins", `{}`, `"id"`},
		{400, "POST", "conversations/settle/pins", `{"id":1,"more":2}`, "more"},
		{400, "POST", "conversations/settle/pins", `{"ID":1}`, "ID"},
		{400, "POST", "conversations/settle/pins", `{"id":null}`, `"id"`},
		{400, "POST", "conversations/settle/release", `null`, "object"},
		{400, "POST", "conversations/settle/pins", `[]`, "body"},
		{400, "POST", "conversations/settle/pins", `{"id":1} x`, "body"},
		{413, "POST", "conversations/settle/pins", strings.Repeat(" ", 300<<10), "bytes"},
		{404, "DELETE", "conversations/settle/pins/x", "", "message"},
		{404, "POST", "conversations/settle/undo", `{"plan":"p99"}`, "plan"},
		{400, "POST", "recall", `{}`, `"query"`},
		{400, "POST", "recall", `{"query":"x","scope":"project"}`, `"scope"`},
		{400, "POST", "recall", `{"query":"x","budget":0}`, `"budget"`},
		{404, "POST", "recall", `{"query":"x","conversation":"none"}`, "conversation"},
		{400, "POST", "fit", `{"body":[]}`, `"body"`},
		{400, "POST", "fit", `{"body":{}}`, ""},
		{400, "POST", "fit", `{"body":{"messages":[]},"pins":[null]}`, `"pins"`},
		{400, "POST", "fit", `{"body":{"messages":[{"role":"user","content":"x"}]},"pins":[7]}`, "7"},
		{400, "POST", "fit", `{"body":{"messages":[{"role":"user","content":"x"}]},"policy":"best"}`, "best"},
		{422, "POST", "fit",
			`{"body":{"model":"gpt-4o","messages":[{"role":"user","content":"Hello, it is me again"}]},"budget":1}`,
			"1"},
		{400, "GET", "events?after=x", "", `"after"`},
	} {
		a := w.do(c.method, c.path, c.body)
		if a.status != c.status || a.header.Get("Content-Type") != "application/problem+json" ||
			!bytes.Contains(a.body, []byte(strings.Trim(fmt.Sprintf("%q", c.detail), `"`))) {
			t.Errorf("%s %.60s %.60s: %d %s, want %d and %q: %s", c.method, c.path, c.body, a.status,
				a.header.Get("Content-Type"), c.status, c.detail, a.body)
			continue
		}
		d.conform(t, c.path, problem, a.body)
		var p struct{ Hint string }
		if json.Unmarshal(a.body, &p); p.Hint == "" {
			t.Errorf("%s %.60s has no hint: %s", c.method, c.path, a.body)
		}
	}
}

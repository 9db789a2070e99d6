package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// openapi.json is made of the routes, the types of bodies and answers, and their comments.
// After a change of any of them: go test ./internal/api -run TestTheDescriptionIsCurrent -update
func TestTheDescriptionIsCurrent(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(describe(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(b.Bytes(), openAPI) {
		t.Error("openapi.json is not what the routes and types say: run this test with -update")
	}
}

// object is a JSON object. Its members are written in the order of their names.
type object map[string]any

// about describes the API as a whole.
const about = "The JSON API of `oriel serve` and `oriel run`. Everything is of the tenant of the token; the ids of " +
	"others are unknown ids. Requests that change something need the header `Content-Type: application/json` or " +
	"`X-Oriel-Console: 1`. Unknown query parameters and members are refused. Figures of tokens are those of the " +
	"model's tokenizer unless they are called reported; money is in US dollars."

// statuses are those of errors, and what they mean.
var statuses = map[int]string{
	400: "A parameter or the body is not valid.",
	401: "A token is missing or not known.",
	403: "The request may come from another web page, or the token may only read.",
	404: "There is no such thing.",
	409: "It cannot be done as things are.",
	413: "The body is too large.",
	422: "The request cannot be fitted.",
	429: "Too many requests, or wrong tokens.",
	503: "The history is not available, or too much is asked at the same time.",
}

// describe returns the description of the API.
func describe(t *testing.T) object {
	schemas := newSchemas(t)
	problems := object{}
	for status, means := range statuses {
		problems[strconv.Itoa(status)] = object{"description": means,
			"content": content("application/problem+json", schemas.of(reflect.TypeFor[problem]()))}
	}
	parameters := object{}
	for _, p := range inPaths {
		parameters[p.name] = p.describe("path")
	}
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		path := "/" + r.path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.method)] = r.describe(schemas)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Oriel", "version": "1", "description": about,
			"summary": "What Oriel keeps of conversations, what it sends of them, and why.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":  []object{{"url": strings.TrimSuffix(Prefix, "/")}},
		"security": []object{{}, {"token": []string{}}, {"bearer": []string{}}, {"browser": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": schemas.made, "responses": problems, "parameters": parameters,
			"securitySchemes": object{
				"token": object{"type": "apiKey", "in": "header", "name": "X-Oriel-Token",
					"description": "Where the server has tokens."},
				"bearer": object{"type": "http", "scheme": "bearer", "description": "The same token."},
				"browser": object{"type": "apiKey", "in": "cookie", "name": "oriel",
					"description": "The cookie that a browser gets when it signs in. Its name ends with the port."},
			},
		},
	}
}

func content(kind string, schema *jsonschema.Schema) object {
	return object{kind: object{"schema": schema}}
}

// describe returns the description of a route.
func (r *route) describe(schemas *schemas) object {
	answer := object{"description": "It is answered."}
	switch {
	case r.stream != "":
		answer["content"] = content(r.stream, &jsonschema.Schema{Type: "string"})
	case r.answer == reflect.TypeFor[*raw]():
		answer["content"] = content("application/json", &jsonschema.Schema{Type: "object"})
	default:
		answer["content"] = content("application/json", schemas.of(r.answer))
	}
	responses := object{"200": answer}
	errors := slices.Concat([]int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusTooManyRequests, http.StatusServiceUnavailable}, r.errors)
	if r.body > 0 {
		errors = append(errors, http.StatusRequestEntityTooLarge)
	}
	for _, status := range errors {
		responses[strconv.Itoa(status)] = object{"$ref": fmt.Sprintf("#/components/responses/%d", status)}
	}
	out := object{"operationId": r.id, "summary": r.summary, "responses": responses}
	if r.about != "" {
		out["description"] = r.about
	}
	if r.body > 0 {
		body := content("application/json", schemas.of(r.order))
		body["application/json"].(object)["example"] = r.example
		out["requestBody"] = object{"required": true, "content": body}
	}
	var parameters []object
	for _, p := range inPaths {
		if strings.Contains(r.path, "{"+p.name+"}") {
			parameters = append(parameters, object{"$ref": "#/components/parameters/" + p.name})
		}
	}
	for _, p := range r.query {
		parameters = append(parameters, p.describe("query"))
	}
	if r.method == http.MethodDelete {
		parameters = append(parameters, object{"name": "X-Oriel-Console", "in": "header", "required": true,
			"schema":      object{"type": "string", "enum": []string{"1"}},
			"description": "Shows that no page of another origin sent the request. Content-Type: application/json does, too."})
	}
	if parameters != nil {
		out["parameters"] = parameters
	}
	return out
}

// describe returns the description of a parameter in a path or a query.
func (p *parameter) describe(in string) object {
	schema := object{"type": "string"}
	if p.whole {
		schema = object{"type": "integer", "minimum": p.least}
	}
	if p.most > 0 {
		schema["maximum"] = p.most
	}
	if p.values != nil {
		schema["enum"] = p.values
	}
	if p.byDefault != nil {
		schema["default"] = p.byDefault
	}
	out := object{"name": p.name, "in": in, "schema": schema, "description": p.about}
	if in == "path" {
		out["required"] = true
		if !p.whole {
			schema["minLength"] = 1
		}
	}
	if p.example != nil {
		out["example"] = p.example
	}
	return out
}

// Each type has a name of its own, and each operation.
func TestNamesInTheDescriptionAreUnique(t *testing.T) {
	ids := map[string]bool{}
	for i := range routes {
		if ids[routes[i].id] || routes[i].id == "" {
			t.Errorf("%s %s has the id %q of another", routes[i].method, routes[i].path, routes[i].id)
		}
		ids[routes[i].id] = true
	}
	named := map[string]bool{}
	for _, name := range slices.Collect(maps.Values(newSchemas(t).names)) {
		if named[name] {
			t.Errorf("two types are called %s", name)
		}
		named[name] = true
	}
}

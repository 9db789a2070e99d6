package token

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// tool counts a definition, using the cache if possible: definitions are large
// and are sent with every request.
func (c *Counter) tool(t *chat.ToolDef) raw {
	if len(t.Raw) == 0 {
		return raw{text: c.enc.Count(t.Name), fixed: c.model.structure.Tool, rough: true}
	}
	if c.cache == nil {
		return c.toolDef(t.Raw)
	}
	k := c.cache.key(c.rules, t.Raw, shapeTool)
	if r, ok := c.cache.get(k); ok {
		return r
	}
	r := c.toolDef(t.Raw)
	c.cache.put(k, r)
	return r
}

// toolDef is the union of the protocols' forms of a definition.
type toolDef struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Function    *toolDef        `json:"function"`             // OpenAI Chat
	Parameters  json.RawMessage `json:"parameters"`           // OpenAI
	InputSchema json.RawMessage `json:"input_schema"`         // Anthropic
	JSONSchema  json.RawMessage `json:"parametersJsonSchema"` // Gemini
	Spec        *toolDef        `json:"toolSpec"`             // Converse
	Schema      struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"` // Converse
}

// toolDef counts by OpenAI's cookbook ("How to count tokens with tiktoken",
// section 7): a line "name:description" for the function and
// "name:type:description" for each property, without full stops at the end,
// plus fixed costs. Other vendors' costs use the same places. The rule covers
// flat schemas; anything beyond makes the count an estimate.
func (c *Counter) toolDef(def []byte) raw {
	s := &c.model.structure
	var t toolDef
	if err := json.Unmarshal(def, &t); err != nil {
		return raw{text: c.enc.CountBytes(def), fixed: s.Tool, rough: true}
	}
	if t.Function != nil {
		t = *t.Function
	}
	if t.Spec != nil {
		t = *t.Spec
	}
	params := t.Parameters
	if len(params) == 0 {
		params = t.Schema.JSON
	}
	if len(params) == 0 {
		params = t.InputSchema
	}
	if len(params) == 0 {
		params = t.JSONSchema
	}
	if len(params) == 0 {
		// The provider's own tool, a grammar, or no parameters.
		r := raw{text: c.enc.CountBytes(def), fixed: s.Tool, rough: true}
		if t.Type != "" && t.Type != "function" && t.Type != "custom" {
			r.fixed += s.Hosted
		}
		return r
	}
	r := raw{
		text:  c.enc.Count(t.Name + ":" + strings.TrimSuffix(t.Description, ".")),
		fixed: s.Tool,
	}
	if t.Description != "" {
		r.fixed += s.Description
	}
	r.add(c.schema(params, 0))
	return r
}

// schemaDepth is how deep a schema is walked; below it JSON is counted as
// text.
const schemaDepth = 16

// quiet are the keywords of a schema that cost nothing: the cookbook omits
// them, or counts them in another way.
var quiet = map[string]bool{
	"type": true, "description": true, "properties": true, "enum": true, "items": true,
	"required": true, "additionalProperties": true, "$schema": true, "strict": true,
}

// schema counts an object's properties.
func (c *Counter) schema(object json.RawMessage, depth int) raw {
	s := &c.model.structure
	var o map[string]json.RawMessage
	if depth > schemaDepth || json.Unmarshal(object, &o) != nil {
		return raw{text: c.enc.CountBytes(object), rough: true}
	}
	r := c.extras(o)
	var props map[string]json.RawMessage
	if p, ok := o["properties"]; ok && json.Unmarshal(p, &props) != nil {
		r.add(raw{text: c.enc.CountBytes(p), rough: true})
	}
	if len(props) == 0 {
		return r
	}
	r.fixed += s.Properties
	for _, name := range slices.Sorted(maps.Keys(props)) {
		r.fixed += s.Property
		r.add(c.property(name, props[name], depth+1))
	}
	return r
}

// property counts one property, or the items of an array (name empty).
func (c *Counter) property(name string, def json.RawMessage, depth int) raw {
	s := &c.model.structure
	var o map[string]json.RawMessage
	if depth > schemaDepth || json.Unmarshal(def, &o) != nil {
		return raw{text: c.enc.Count(name) + c.enc.CountBytes(def), rough: true}
	}
	kind, desc := text(o["type"]), strings.TrimSuffix(text(o["description"]), ".")
	r := raw{text: c.enc.Count(name + ":" + kind + ":" + desc)}
	// The cookbook's rule assumes a plain type and a description.
	r.rough = o["description"] == nil || !strings.HasPrefix(string(o["type"]), `"`)
	if e, ok := o["enum"]; ok {
		r.fixed += s.Enum
		var items []json.RawMessage
		if json.Unmarshal(e, &items) != nil {
			items = []json.RawMessage{e}
		}
		for _, item := range items {
			r.fixed += s.EnumItem
			r.text += c.json(item)
		}
	}
	r.add(c.extras(o))
	if o["properties"] != nil {
		r.fixed += s.Nested
		r.rough = true
		r.add(c.schema(without(o), depth))
	}
	if items := o["items"]; items != nil {
		r.rough = true
		r.add(c.property("", items, depth+1))
	}
	return r
}

// extras counts what the walk has no rule for (default, minimum, anyOf, $defs)
// as JSON text.
func (c *Counter) extras(o map[string]json.RawMessage) raw {
	var r raw
	for key, v := range o {
		if !quiet[key] {
			r.add(raw{text: c.enc.Count(key) + c.enc.CountBytes(v), rough: true})
		}
	}
	return r
}

// without returns only an object's properties, because the rest was counted.
func without(o map[string]json.RawMessage) json.RawMessage {
	b := append([]byte(`{"properties":`), o["properties"]...)
	return append(b, '}')
}

// text returns a JSON string's value, and other JSON unchanged.
func text(v json.RawMessage) string {
	if len(v) > 0 && v[0] == '"' {
		return chat.String(v).String()
	}
	return string(v)
}

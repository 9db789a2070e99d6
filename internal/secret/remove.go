package secret

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Remove returns a JSON text without its credentials, or the same slice if it has none.
// The value of a member with a credential's name ("authorization", "api_key", "token",
// "headers", …) is replaced with "not kept" in a value of the same kind and shape; true,
// false and null stay. URLs under names such as "server_url", and all URLs with a
// credential, are reduced to scheme and host. A schema that describes such a member
// stays, without its examples and defaults.
//
// A text that is not JSON is replaced as a whole.
func Remove(raw []byte) []byte { return remove(raw, false, nested) }

// RemoveFromItem is Strip for an item of a conversation. Its texts, calls and results stay
// unchanged.
func RemoveFromItem(raw []byte) []byte { return remove(raw, true, nested) }

// nested is how deeply JSON may be nested inside strings.
const nested = 4

func remove(raw []byte, item bool, nested int) []byte {
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return quoted(NotKept)
	}
	s := stripper{raw: raw, item: item, nested: nested}
	s.value(doc.Root(), "", false)
	if s.done == 0 {
		return raw
	}
	return append(s.out, raw[s.done:]...)
}

// stripper copies a text up to done, with replacements.
type stripper struct {
	raw    []byte
	out    []byte
	done   int
	item   bool
	nested int
}

func (s *stripper) replace(v rawjson.Value, by []byte) {
	start, end := v.Span()
	s.out = append(append(s.out, s.raw[s.done:start]...), by...)
	s.done = end
}

// value searches a value for credentials; its name is not a credential's.
func (s *stripper) value(v rawjson.Value, name string, element bool) {
	switch v.Kind() {
	case rawjson.Object:
		named := credentialName(first(v, "name", "key", "header"))
		proof := plainName(name) == "authentication" || !v.Has("value") && !v.Has("values") // otherwise a key is a name
		for k, member := range v.Members() {
			switch name := k.Str(); {
			case s.item && said[name]:
			case credentialName(name), named && plainName(name) == "value", proof && plainName(name) == "key",
				plainName(name) == "keyid":
				s.credential(member)
			default:
				s.value(member, name, false)
			}
		}
	case rawjson.Array:
		asked := false // the element before names a credential, as in ["--api-key", "x"]
		for e := range v.Elems() {
			if asked && e.Kind() == rawjson.String {
				s.credential(e)
			} else {
				s.value(e, name, true)
			}
			asked = e.Kind() == rawjson.String && strings.HasPrefix(e.Str(), "-") && credentialName(e.Str())
		}
	case rawjson.String:
		s.text(v, name, element)
	}
}

// first returns the text of the first existing member among names.
func first(v rawjson.Value, names ...string) string {
	for _, name := range names {
		if m := v.Get(name); m.Kind() == rawjson.String {
			return m.Str()
		}
	}
	return ""
}

// said lists the members of an item that hold texts, calls and results.
var said = map[string]bool{
	"content": true, "text": true, "arguments": true, "input": true, "output": true, "summary": true,
	"encrypted_content": true,
	"action":            true, "result": true, "results": true, "code": true, "error": true,
}

// text looks at a string.
func (s *stripper) text(v rawjson.Value, name string, element bool) {
	const longest = 8 << 10 // longer ones are neither arguments nor URLs
	if raw := v.Raw(); !element && bytes.IndexByte(raw, '\\') < 0 &&
		!bytes.ContainsAny(raw[:min(len(raw), 2)], "{[ ") && !bytes.Contains(raw, []byte("://")) {
		return // words
	}
	text := v.Str()
	if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && s.nested > 0 {
		if _, err := rawjson.Parse([]byte(text), rawjson.Limits{}); err == nil {
			if in := remove([]byte(text), s.item, s.nested-1); string(in) != text {
				s.replace(v, quoted(string(in)))
			}
			return
		}
	}
	if len(text) <= longest || urlName(name) {
		if host, ok := hostOnly(text, urlName(name)); ok {
			s.replace(v, quoted(host))
			return
		}
	}
	if element && len(text) <= longest && assigns(text) {
		s.replace(v, quoted(NotKept))
	}
}

// assigns reports whether an argument or header line contains a credential:
// "Authorization: Bearer x", "--api-key=x", "Bearer x".
func assigns(text string) bool {
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "bearer ") || strings.HasPrefix(lower, "basic ") {
		return true
	}
	i := strings.IndexAny(text, ":=")
	if i < 0 {
		return false
	}
	name := strings.TrimLeft(text[:i], "-")
	return !strings.ContainsAny(name, " \t\n") && credentialName(name)
}

// hostOnly returns what to keep of a URL; ok is false if that is the text itself. named
// reports that its member's name is a URL's.
func hostOnly(text string, named bool) (host string, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" || strings.ContainsAny(scheme, " \t\n\"'") {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil {
		// For example a password with an unescaped special character.
		return NotKept, named || strings.Contains(rest, "@")
	}
	secret := u.User != nil
	for pair := range strings.SplitSeq(strings.ReplaceAll(u.RawQuery+"&"+u.Fragment, ";", "&"), "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		secret = secret || credentialHeader(name)
	}
	base := u.Scheme + "://" + u.Host
	if !secret && (!named || strings.TrimSuffix(text, "/") == base) {
		return "", false
	}
	return base + "/not-kept", true
}

// urlName reports whether a member with this name holds a server's address.
func urlName(name string) bool {
	name = plainName(name)
	for _, end := range []string{"url", "uri", "endpoint", "href"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// credential replaces the value of a credential's member.
func (s *stripper) credential(v rawjson.Value) {
	switch v.Kind() {
	case rawjson.Object:
		if isSchema(v) {
			s.schema(v)
		} else {
			s.replace(v, []byte(`{"not":"kept"}`))
		}
	case rawjson.Array:
		s.replace(v, []byte(`["`+NotKept+`"]`))
	case rawjson.String, rawjson.Number:
		s.replace(v, quoted(NotKept))
	}
}

// isSchema reports whether an object describes a value, as in JSON Schema, instead of
// being one.
func isSchema(v rawjson.Value) bool {
	kind := v.Get("type")
	if kind.Kind() == rawjson.Array {
		kind = kind.First()
	}
	switch kind.Str() {
	case "string", "object", "array", "number", "integer", "boolean", "null":
		return true
	}
	return !kind.Exists() && (v.Has("$ref") || v.Has("anyOf") || v.Has("oneOf") || v.Has("allOf"))
}

// schema keeps what a schema describes, but no values.
func (s *stripper) schema(v rawjson.Value) {
	for k, member := range v.Members() {
		switch k.Str() {
		case "type", "description", "title", "format", "pattern", "required", "$ref":
			if !isText(member) {
				s.credential(member)
			}
		case "properties", "$defs", "definitions", "patternProperties":
			for _, p := range member.Members() {
				s.credential(p)
			}
			if member.Kind() != rawjson.Object {
				s.credential(member)
			}
		case "anyOf", "oneOf", "allOf":
			for e := range member.Elems() {
				s.credential(e)
			}
			if member.Kind() != rawjson.Array {
				s.credential(member)
			}
		default:
			s.credential(member)
		}
	}
}

// isText reports whether a value is a string or a list of strings.
func isText(v rawjson.Value) bool {
	for e := range v.Elems() {
		if e.Kind() != rawjson.String {
			return false
		}
	}
	return v.Kind() == rawjson.String || v.Kind() == rawjson.Array
}

// credentialName reports whether a member of that name holds a credential.
func credentialName(name string) bool {
	name = plainName(name)
	for _, word := range []string{"authorization", "apikey", "secret", "password", "passwd", "passphrase", "credential",
		"bearer", "cookie",
		"privatekey", "accesskey", "subscriptionkey", "authkey", "connectionstring"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	switch {
	case strings.HasSuffix(name, "headers"), strings.HasSuffix(name, "auth"), strings.HasSuffix(name, "jwt"):
		return true
	case strings.HasSuffix(name, "token"):
		return !vocabulary[strings.TrimSuffix(name, "token")]
	case strings.HasSuffix(name, "key") && name != "key":
		return !keyVocabulary[strings.TrimSuffix(name, "key")]
	}
	switch name {
	case "env", "envvars", "environmentvariables", "pass", "pwd", "pat", "githubpat", "gitlabpat", "creds":
		return true
	}
	return false
}

// keyVocabulary lists words before "key" in names of what is no credential.
var keyVocabulary = map[string]bool{
	"promptcache": true, "cache": true, "primary": true, "foreign": true, "partition": true, "sort": true,
	"public": true, "idempotency": true,
	"group": true, "object": true, "index": true, "field": true, "answer": true, "hot": true, "dedup": true,
	"routing": true, "row": true,
}

// vocabulary lists words before "token" in names of settings about a model's tokens.
var vocabulary = map[string]bool{
	"max": true, "min": true, "num": true, "n": true, "bos": true, "eos": true, "pad": true, "unk": true, "sep": true,
	"cls": true, "mask": true,
	"stop": true, "image": true, "audio": true, "special": true, "per": true, "first": true, "last": true,
}

func quoted(text string) []byte {
	out, _ := json.Marshal(text) // a string never fails
	return out
}

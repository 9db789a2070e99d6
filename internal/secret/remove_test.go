package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// key stands for a credential that must not be kept.
const key = "sk-LEAK-7f3a91c0"

func TestStripTakesCredentialsOut(t *testing.T) {
	for _, text := range []string{
		`{"authorization":"KEY"}`, `{"authorization_token":"KEY"}`, `{"\u0061uthorization":"KEY"}`,
		`{"Proxy-Authorization":["KEY"]}`,
		`{"api_key":"KEY"}`, `{"apiKey":"KEY"}`, `{"X-API-Key":"KEY"}`, `{"x-goog-api-key":"KEY"}`, `{"token":"KEY"}`,
		`{"access_token":"KEY"}`,
		`{"secret":"KEY"}`, `{"client_secret":{"value":"KEY"}}`, `{"bearer":"KEY"}`,
		`{"credentials":{"a":[{"b":"KEY"}]}}`, `{"password":"KEY"}`,
		`{"auth":{"type":"bearer","value":"KEY"}}`, `{"cookie":"KEY"}`, `{"env":{"SOME":"KEY"}}`,
		`{"token":7391048261733}`,
		`{"headers":{"A":"{KEY}"}}`, `{"headers":{"A":{"b":{"c":"KEY"}}}}`, `{"headers":["A: KEY"]}`,
		`{"headers":"A: KEY"}`, `{"http_headers":{"X":"KEY"}}`, `{"extraHeaders":{"X":"KEY"}}`,
		`{"x":[{"name":"Authorization","value":"KEY"}]}`, `{"x":[{"value":{"a":"KEY"},"key":"api-key"}]}`,
		`{"server_url":"https://h.example/mcp?api_key=KEY"}`, `{"url":"https://h.example/sse?token=KEY"}`,
		`{"url":"https://user:KEY@h.example/"}`,
		`{"server_url":"https://h.example/s/KEY/mcp"}`, `{"server_url":"https:\/\/h.example\/KEY"}`,
		`{"uri":"https://h.example/#access_token=KEY"}`,
		`{"anything":"https://h.example/x?sig=KEY"}`, `{"anything":"postgres://me:KEY@db.example/x"}`,
		`{"url":"https://me:p%zz@h.example/KEY"}`,
		`{"args":["--header","Authorization: Bearer KEY"]}`, `{"args":["--api-key=KEY"]}`, `{"args":["Bearer KEY"]}`,
		`{"args":["x","https://u:KEY@h.example"]}`,
		`{"config":"{\"token\":\"KEY\"}"}`, `{"config":"[{\"config\":\"{\\\"token\\\":\\\"KEY\\\"}\"}]"}`,
		`{"input_schema":{"properties":{"token":{"type":"string","default":"KEY"}}}}`,
		`{"properties":{"auth":{"type":"object","properties":{"user":{"type":"string","const":"KEY"}}}}}`,
		`{"token":{"type":"string","example":"KEY"}}`, `{"token":{"type":"string","examples":["KEY"]}}`,
		`{"token":{"anyOf":[{"const":"KEY"}]}}`,
		`[{"a":[{"authorization":"KEY"}]}]`, `{"authorization":"x","authorization":"KEY"}`,
		`{"data_sources":[{"type":"azure_search","parameters":{"authentication":{"type":"api_key","key":"KEY"}}}]}`,
		`{"authentication":{"type":"key_and_key_id","key":"x","key_id":"KEY"}}`,
		`{"authentication":{"type":"connection_string","connection_string":"KEY"}}`,
		`{"authentication":{"key":"KEY","value":"x"}}`, `{"pat":"KEY"}`, `{"key":"KEY"}`, `{"server":{"keyId":"KEY"}}`,
		`{"account_key":"KEY"}`, `{"x":{"signingKey":"KEY"}}`, `{"environment_variables":{"SOME":"KEY"}}`,
		`{"env_vars":["A=KEY"]}`, `{"args":["--api-key","KEY"]}`, `{"creds":"KEY"}`,
		`{"broken":"KEY"`,
	} {
		text = strings.ReplaceAll(text, "KEY", key)
		got := Remove([]byte(text))
		if strings.Contains(string(got), key) || strings.Contains(string(got), "7391048261733") || !json.Valid(got) {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

func TestStripKeepsTheRest(t *testing.T) {
	for text, want := range map[string]string{
		`{"model":"m","max_tokens":5,"stream":true,"metadata":{"user_id":"u"},"bos_token":"<s>","prompt_cache_key":"k","cache_key":"c","args":["--key-file","k","-x","y"],"sort_key":"s"}`:                    "",
		`[{"name":"fetch","input_schema":{"type":"object","properties":{"token":{"type":"string","description":"the token"},"headers":{"type":"object","additionalProperties":true}},"required":["token"]}}]`: "",
		`[{"type":"mcp","server_label":"x","server_url":"https://h.example","require_approval":"never","authorization":null}]`:                                                                                "",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","description":"Authorization: see https://h.example/docs?page=2"}`:                                                                         "",
		`{"filters":{"type":"eq","key":"region","value":"us"},"properties":{"key":{"type":"string"},"key_id":{"type":"integer"}}}`:                                                                            "",
		`{"required":["token","password"],"enum":["basic","bearer"]}`:                                                                                                                                         "",
		`{"mcp_servers":[{"type":"url","url":"https://h.example:8443/sse","name":"n","authorization_token":"x"}]}`:                                                                                            `{"mcp_servers":[{"type":"url","url":"https://h.example:8443/not-kept","name":"n","authorization_token":"not kept"}]}`,
		`{ "headers" : { "a" : "b" } , "headers":["x"],"token":true }`:                                                                                                                                        `{ "headers" : {"not":"kept"} , "headers":["not kept"],"token":true }`,
	} {
		if want == "" {
			want = text
		}
		if got := Remove([]byte(text)); string(got) != want {
			t.Errorf("%s\n%s, want\n%s", text, got, want)
		}
	}
}

// What was said in an item of a conversation stays; what names a server does not.
func TestStripItem(t *testing.T) {
	text := `{"type":"mcp_call","server_label":"x","authorization":"KEY","server_url":"https://h.example/?key=KEY","arguments":"{\"token\":\"mine\"}","output":"token: mine","content":[{"token":"mine"}]}`
	want := `{"type":"mcp_call","server_label":"x","authorization":"not kept","server_url":"https://h.example/not-kept","arguments":"{\"token\":\"mine\"}","output":"token: mine","content":[{"token":"mine"}]}`
	if got := RemoveFromItem([]byte(text)); string(got) != want {
		t.Errorf("%s", got)
	}
}

// A secret at any place under a credential's name is not kept, whatever the shape of the
// JSON around it, and what is kept is JSON.
func TestStripPropertyNoShapeHidesACredential(t *testing.T) {
	names := []string{"authorization", "Authorization", "authorization_token", "api_key", "x-api-key", "token",
		"secret", "bearer", "credentials", "headers", "password", "cookie", "auth"}
	others := []string{"a", "tools", "mcp_servers", "parameters", "properties", "value", "name", "config", "é", "items",
		"input_schema", "default"}
	rapid.Check(t, func(t *rapid.T) {
		// spell writes a name or a text with some of its characters escaped.
		spell := func(s string) string {
			var b strings.Builder
			for _, r := range s {
				if r < 128 && rapid.IntRange(0, 3).Draw(t, "escape") == 0 {
					fmt.Fprintf(&b, `\u%04x`, r)
				} else {
					b.WriteRune(r)
				}
			}
			return `"` + b.String() + `"`
		}
		var around func(depth int, leaf func() string, names []string) string
		around = func(depth int, leaf func() string, names []string) string {
			if depth == 0 {
				return leaf()
			}
			inner := around(depth-1, leaf, names)
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				return `[1,` + inner + `,{"b":[]}]`
			case 1:
				return ` { "z" : null , ` + spell(rapid.SampledFrom(names).Draw(t, "name")) + " :\n" + inner + ` } `
			case 2:
				if text := string(quoted(inner)); depth < 3 && strings.HasPrefix(strings.TrimSpace(inner), "{") {
					return text // JSON in a string
				}
			}
			return `{` + spell(rapid.SampledFrom(names).Draw(t, "name")) + `:` + inner + `}`
		}
		leaf := func() string {
			return around(rapid.IntRange(0, 3).Draw(t, "inside"), func() string { return spell(key) }, others)
		}
		text := around(rapid.IntRange(0, 3).Draw(t, "outside"), func() string {
			return `{"q":1,` + spell(rapid.SampledFrom(names).Draw(t, "credential")) + `:` + leaf() + `}`
		}, others)
		got := Remove([]byte(text))
		if !json.Valid(got) {
			t.Fatalf("not JSON: %s\nof %s", got, text)
		}
		var v any
		_ = json.Unmarshal(got, &v)
		if strings.Contains(plain(v), key) {
			t.Fatalf("kept: %s\nof %s", got, text)
		}
	})
}

// plain is all the text of a value, JSON in strings decoded.
func plain(v any) string {
	switch v := v.(type) {
	case map[string]any:
		out := ""
		for name, m := range v {
			out += name + "\n" + plain(m)
		}
		return out
	case []any:
		out := ""
		for _, e := range v {
			out += plain(e)
		}
		return out
	case string:
		var in any
		if strings.HasPrefix(strings.TrimSpace(v), "{") && json.Unmarshal([]byte(v), &in) == nil {
			return v + plain(in)
		}
		return v + "\n"
	}
	return fmt.Sprintln(v)
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte(`{"a":[{"token":{"type":"string"}}],"url":"https://u:p@h/x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Remove(raw)
		if json.Valid(raw) && !json.Valid(got) {
			t.Fatalf("%s of %s", got, raw)
		}
		if again := Remove(got); string(again) != string(got) {
			t.Fatalf("%s, again %s", got, again)
		}
	})
}

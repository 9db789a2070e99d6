package token

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
)

func txt(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: chat.Quote(s)} }

func msg(role chat.Role, parts ...chat.Part) chat.Message {
	return chat.Message{Role: role, Parts: parts}
}

func counter(model string) *Counter { return NewCounter(Builtin().Lookup(model), Options{}) }

func enc(t testing.TB, name string) *bpe.Encoding {
	t.Helper()
	e, err := bpe.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// SPEC B6: exact for OpenAI's encodings. OpenAI's cookbook ("How to count
// tokens with tiktoken") gives these totals, as reported by the API.
func TestOpenAIMessagesAreExact(t *testing.T) {
	named := func(name, s string) chat.Message {
		m := msg(chat.System, txt(s))
		m.Name = name
		return m
	}
	r := &chat.Request{Messages: []chat.Message{
		msg(chat.System,
			txt("You are a helpful, pattern-following assistant that translates corporate jargon into plain English.")),
		named("example_user", "New synergies will help drive top-line growth."),
		named("example_assistant", "Things working well together will increase revenue."),
		named("example_user",
			"Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."),
		named("example_assistant", "Let's talk later when we're less busy about how to do better."),
		msg(chat.User, txt("This late pivot means we don't have time to boil the ocean for the client deliverable.")),
	}}
	for model, want := range map[string]int{"gpt-3.5-turbo": 129, "gpt-4": 129, "gpt-4-0613": 129, "gpt-4o": 124,
		"gpt-4o-mini": 124} {
		b := counter(model).Request(r)
		if b.Total != want || b.Accuracy != Exact {
			t.Errorf("%s: %d, %s; want %d, exact", model, b.Total, b.Accuracy, want)
		}
	}
}

const weatherTool = `{"type":"function","function":{"name":"get_current_weather","description":"Get the current weather in a given location","parameters":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},"unit":{"type":"string","description":"The unit of temperature to return","enum":["celsius","fahrenheit"]}},"required":["location"]}}}`

// SPEC B6; the cookbook's example with a tool.
func TestOpenAIToolsAreExactWhereTheyAreFlat(t *testing.T) {
	r := &chat.Request{
		Tools: []chat.ToolDef{{Name: "get_current_weather", Raw: []byte(weatherTool)}},
		Messages: []chat.Message{
			msg(chat.System, txt("You are a helpful assistant that can answer to questions about the weather.")),
			msg(chat.User, txt("What's the weather like in San Francisco?")),
		},
	}
	for model, want := range map[string]int{"gpt-3.5-turbo": 105, "gpt-4": 105, "gpt-4o": 101, "gpt-4o-mini": 101} {
		b := counter(model).Request(r)
		if b.Total != want || b.Accuracy != Exact {
			t.Errorf("%s: %d, %s; want %d, exact", model, b.Total, b.Accuracy, want)
		}
	}
}

func TestToolFormsOfAllProtocols(t *testing.T) {
	const flat = `{"name":"read","description":"Read a file.","%s":{"type":"object","properties":{"path":{"type":"string","description":"Where"}}}}`
	anthropic := strings.Replace(flat, "%s", "input_schema", 1)
	responses := strings.Replace(flat, "%s", "parameters", 1)
	wrapped := `{"type":"function","function":` + responses + `}`
	c := counter("gpt-4o")
	want := c.Tool(&chat.ToolDef{Raw: []byte(wrapped)})
	// 7 + "read:Read a file" + 3 + 3 + "path:string:Where"
	e := enc(t, "o200k_base")
	if n := 7 + e.Count("read:Read a file") + 3 + 3 + e.Count("path:string:Where"); want != (Count{n, Exact}) {
		t.Errorf("%+v, want %d", want, n)
	}
	for _, raw := range []string{anthropic, responses} {
		if got := c.Tool(&chat.ToolDef{Raw: []byte(raw)}); got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
	for _, raw := range []string{
		`{"type":"web_search_20250305","name":"web_search","max_uses":3}`,
		`{"name":"n","input_schema":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}`,
		`{"name":"n","input_schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}`,
		`{"name":"n","input_schema":{"properties":7}}`, `{"name":"n","input_schema":[]}`, `{`, `null`,
		`{"name":"n","input_schema":` + strings.Repeat(`{"properties":{"p":`, 400) + `1` + strings.Repeat(`}}`, 400) +
			`}`,
	} {
		got := c.Tool(&chat.ToolDef{Name: "n", Raw: []byte(raw)})
		if got.Tokens < 1 || got.Accuracy != Estimate {
			t.Errorf("%.80s: %+v", raw, got)
		}
	}
}

func TestOnlyTheProvidersOwnToolsCostTheirHosting(t *testing.T) {
	c, e := counter("gpt-4o"), enc(t, "o200k_base")
	for raw, hosted := range map[string]int{
		`{"type":"function","name":"now","description":"The time."}`: 0,
		`{"type":"custom","name":"grep","description":"A pattern."}`: 0,
		`{"name":"now"}`: 0,
		`{"type":"web_search_preview","search_context_size":"low"}`:           300,
		`{"type":"function","function":{"name":"now","description":"Time."}}`: 0,
	} {
		want := e.Count(raw) + 7 + hosted
		if got := c.Tool(&chat.ToolDef{Raw: []byte(raw)}); got.Tokens != want {
			t.Errorf("%s: %d, want %d", raw, got.Tokens, want)
		}
	}
}

// Below a depth that no tool has, a schema is counted as the text that it is.
func TestDeepSchemasAreText(t *testing.T) {
	c, e := counter("gpt-4o"), enc(t, "o200k_base")
	deep := func(n int) string { return strings.Repeat(`{"properties":{"p":`, n) + `1` + strings.Repeat(`}}`, n) }
	tool := func(n int) int {
		return c.Tool(&chat.ToolDef{Raw: []byte(`{"name":"n","input_schema":` + deep(n) + `}`)}).Tokens
	}
	if got, want := tool(400)-tool(200), e.Count(deep(400))-e.Count(deep(200)); got < want*9/10 || got > want*11/10 {
		t.Errorf("200 levels more cost %d tokens, their text has %d", got, want)
	}
}

// The structural costs of Claude: 366 for having tools, 53 a tool, 5 for a
// description, 13 for the first property and 12 for the next, 9 for an enum.
func TestClaudeStructure(t *testing.T) {
	c, e := counter("claude-sonnet-4-5"), enc(t, "o200k_base")
	words := e.Count("get_current_weather:Get the current weather in a given location") +
		e.Count("location:string:The city and state, e.g. San Francisco, CA") +
		e.Count("unit:string:The unit of temperature to return") + e.Count("celsius") + e.Count("fahrenheit")
	r := &chat.Request{
		System:   []chat.Part{txt("Be brief.")},
		Tools:    []chat.ToolDef{{Raw: []byte(weatherTool)}},
		Messages: []chat.Message{msg(chat.User, txt("hello there")), msg(chat.Assistant)},
	}
	b := c.Request(r)
	if want := scale(words, 1.28) + 366 + 53 + 5 + 13 + 12 + 9; b.Tools != want {
		t.Errorf("tools %d, want %d", b.Tools, want)
	}
	if want := scale(e.Count("Be brief."), 1.28); b.System != want {
		t.Errorf("system %d, want %d", b.System, want)
	}
	if b.Overhead != 6+2*2 || b.Messages[1] != 0 || b.Accuracy != Estimate {
		t.Errorf("%+v", b)
	}
}

// SPEC B6: empty content is 0.
func TestEmptyContentIsZero(t *testing.T) {
	for _, model := range []string{"gpt-4o", "claude-opus-5", "unheard-of"} {
		c := counter(model)
		for _, m := range []chat.Message{
			{}, msg(chat.User), msg(chat.User, txt("")), msg(chat.User, chat.Part{Kind: chat.Text}),
			msg(chat.User, chat.Part{Kind: chat.Unknown}), msg(chat.Assistant, chat.Part{Kind: chat.Thinking}),
		} {
			if n := c.Message(&m).Tokens; n != 0 {
				t.Errorf("%s: %+v is %d tokens", model, m, n)
			}
		}
		if n := c.Text("").Tokens; n != 0 {
			t.Errorf("%s: no text is %d tokens", model, n)
		}
	}
}

// SPEC B6: tool calls and results and mixed content.
func TestParts(t *testing.T) {
	e := enc(t, "o200k_base")
	c := counter("gpt-4o")
	text := func(s string) int { return e.Count(s) }
	for name, tc := range map[string]struct {
		part chat.Part
		want Count
	}{
		"text":    {txt("tokens \"and\" é\n"), Count{text("tokens \"and\" é\n"), Exact}},
		"refusal": {chat.Part{Kind: chat.Refusal, Text: chat.Quote("no")}, Count{text("no"), Exact}},
		"call, literal": {chat.Part{Kind: chat.Call, Name: "run", Args: []byte(`"{\"cmd\":\"ls\"}"`)},
			Count{text("run") + text(`{"cmd":"ls"}`) + 8, Estimate}},
		"call, object": {chat.Part{Kind: chat.Call, Name: "run", Args: []byte(`{"cmd":"ls"}`)},
			Count{text("run") + text(`{"cmd":"ls"}`) + 8, Estimate}},
		"result": {chat.Part{Kind: chat.Result, Text: chat.Quote("a file")}, Count{text("a file"), Exact}},
		"result, list": {chat.Part{Kind: chat.Result,
			Parts: []chat.Part{txt("a"), {Kind: chat.Image, Media: &chat.Media{Detail: "low"}}}},
			Count{text("a") + 85, Exact}},
		"thinking": {chat.Part{Kind: chat.Thinking, Text: chat.Quote("hm, well")},
			Count{text("hm, well"), Estimate}},
		"redacted": {chat.Part{Kind: chat.Thinking, Signed: true, Raw: make([]byte, 1600)}, Count{300, Estimate}},
		"signed, hidden": {chat.Part{Kind: chat.Thinking, Signed: true, Text: chat.Quote("x"), Raw: make([]byte, 1603)},
			Count{300, Estimate}},
		"compaction": {chat.Part{Kind: chat.Compaction, Text: chat.Quote("so far")},
			Count{text("so far"), Estimate}},
		"unknown": {chat.Part{Kind: chat.Unknown, Raw: []byte(`{"type":"odd","n":1}`)},
			Count{text(`{"type":"odd","n":1}`), Estimate}},
		"reference": {chat.Part{Kind: chat.Reference, Raw: []byte(`{"type":"item_reference"}`)},
			Count{text(`{"type":"item_reference"}`), Estimate}},
		"document, text": {chat.Part{Kind: chat.Document, Media: &chat.Media{Text: chat.Quote("page one")}},
			Count{text("page one"), Exact}},
		"document, pdf": {chat.Part{Kind: chat.Document,
			Media: &chat.Media{Type: "application/pdf", Data: make([]byte, 160_000)}},
			Count{3 * 1500, Estimate}}, // 120,000 bytes at 40,000 a page
		"document, url": {chat.Part{Kind: chat.Document, Media: &chat.Media{URL: "u"}}, Count{5 * 1500, Estimate}},
		"audio, wav": {chat.Part{Kind: chat.Audio, Media: &chat.Media{Type: "audio/wav", Data: make([]byte, 128_000)}},
			Count{30, Estimate}}, // 96,000 bytes are 3 seconds at 10 tokens
		"audio, unseen": {chat.Part{Kind: chat.Audio}, Count{600, Estimate}},
	} {
		if got := c.Part(&tc.part); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestUnknownEncodingStillCounts(t *testing.T) {
	c := NewCounter(Model{Encoding: "none such", Exact: true}, Options{})
	if got := c.Text("sevenchr"); got != (Count{3, Estimate}) {
		t.Errorf("%+v", got)
	}
}

func TestCountingMakesNoGarbage(t *testing.T) {
	c := NewCounter(Builtin().Lookup("gpt-4o"), Options{Cache: NewCache(0)})
	plain := msg(chat.User, txt(strings.Repeat("plain words ", 100)))
	escaped := msg(chat.User, txt(strings.Repeat("a line\n", 100)))
	cached := msg(chat.User, txt("again"))
	cached.Raw = []byte(`{"role":"user","content":"again"}`)
	for name, m := range map[string]*chat.Message{"plain": &plain, "escaped": &escaped, "cached": &cached} {
		c.Message(m)
		if raceEnabled {
			continue // the race detector drops pooled buffers on purpose
		}
		if n := testing.AllocsPerRun(100, func() { c.Message(m) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

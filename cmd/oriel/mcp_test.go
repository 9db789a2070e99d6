//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// scriptedAgent is an agent whose model is scripted: it runs the tools that the model calls,
// Oriel's over MCP.
type scriptedAgent struct {
	base     string
	session  *sdk.ClientSession
	list     []string // messages
	steps    int
	recalled []string // the results of Oriel's tools
}

const agentTools = `[{"name":"Bash","input_schema":{"type":"object"}},{"name":"mcp__oriel__recall","input_schema":{"type":"object"}},{"name":"mcp__oriel__read","input_schema":{"type":"object"}}]`

// turn sends the conversation and runs what the model calls; it returns what it said.
func (a *scriptedAgent) turn(t *testing.T) string {
	t.Helper()
	body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":%s,"messages":[%s]}`, agentTools,
		strings.Join(a.list, ","))
	r, err := http.NewRequest("POST", a.base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "k")
	r.Header.Set("X-Oriel-Budget", "4000")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s %v", res.Status, data, err)
	}
	var reply struct {
		Content []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		t.Fatal(err)
	}
	said := ""
	var parts, results []string
	for _, p := range reply.Content {
		if p.Type == "text" {
			said += p.Text
			parts = append(parts, fmt.Sprintf(`{"type":"text","text":%q}`, p.Text))
			continue
		}
		parts = append(parts, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, p.ID, p.Name, p.Input))
		result := a.run(t, p.Name, p.Input)
		quoted, _ := json.Marshal(result)
		results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%s}`, p.ID, quoted))
	}
	a.list = append(a.list, `{"role":"assistant","content":[`+strings.Join(parts, ",")+`]}`)
	if len(results) > 0 {
		a.list = append(a.list, `{"role":"user","content":[`+strings.Join(results, ",")+`]}`)
	}
	return said
}

func (a *scriptedAgent) run(t *testing.T, tool string, input json.RawMessage) string {
	t.Helper()
	name, own := strings.CutPrefix(tool, "mcp__oriel__")
	if !own {
		a.steps++
		secret := ""
		switch a.steps {
		case 1:
			secret = "\nThe release branch of the harbour is called mint-otter."
		case 41:
			return "The pilot prefers the tide of Sunday." // alone, so that its meaning is plain
		}
		return fmt.Sprintf("part %d: %s%s", a.steps, strings.Repeat(fmt.Sprintf("line of part %d. ", a.steps), 60),
			secret)
	}
	r, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: input})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].(*sdk.TextContent).Text
	a.recalled = append(a.recalled, text)
	return text
}

// An agent loses a fact from its window, calls recall through the proxy, and gets it; the
// tool knows its conversation, although other conversations go on at the same time.
func TestAnAgentFetchesWhatItLost(t *testing.T) {
	var mu sync.Mutex
	var last []byte
	step := 0
	up := httptest.NewServer(&fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		last = bytes.Clone(r.Data())
		if bytes.Contains(last, []byte("another conversation")) {
			return fakemodel.Answer{Text: "Yes.", Input: 1, Output: 1}
		}
		step++
		id := fmt.Sprintf("toolu_%d", step)
		switch {
		case step <= 40, step == 42: // the newest result is in view wherever the cuts are
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: id, Name: "Bash",
				Arguments: fmt.Sprintf(`{"command":"show %d"}`, step)}}, Input: 1, Output: 1}
		case step == 41:
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: id, Name: "mcp__oriel__recall",
				Arguments: `{"query": "name of the harbour's release branch"}`}}, Input: 1, Output: 1}
		case step == 43:
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: id, Name: "mcp__oriel__recall",
				Arguments: `{"query": "Which tide does the pilot prefer?"}`}}, Input: 1, Output: 1}
		}
		if bytes.Contains(last, []byte("mint-otter")) {
			return fakemodel.Answer{Text: "It is mint-otter.", Input: 1, Output: 1}
		}
		return fakemodel.Answer{Text: "I do not know.", Input: 1, Output: 1}
	}})
	defer up.Close()
	s := startServe(t, "--upstream-anthropic", up.URL, "--data", t.TempDir(), "--profile", "thrifty")
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: s.anthropic + "/oriel/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 8 {
		t.Errorf("%d tools, %v", len(tools.Tools), err)
	}
	a := &scriptedAgent{base: s.anthropic, session: session,
		list: []string{`{"role":"user","content":"Show all parts, then tell me the name of the release branch."}`}}
	other := &scriptedAgent{base: s.anthropic, session: session,
		list: []string{`{"role":"user","content":"another conversation that has the same tools"}`}}
	said := ""
	for said == "" {
		if step == 40 {
			other.turn(t) // the newest request with the tools is not the agent's
		}
		said = a.turn(t)
		if mu.Lock(); step == 41 && bytes.Contains(last, []byte("mint-otter")) {
			t.Error("the fact is still in the window when the agent calls recall")
		}
		mu.Unlock()
	}
	if len(a.recalled) != 2 {
		t.Fatalf("%d answers", len(a.recalled))
	}
	lost, had := a.recalled[0], a.recalled[1]
	if said != "It is mint-otter." || !strings.Contains(lost, "of this conversation") ||
		!strings.Contains(lost, "> ") || !strings.Contains(lost, "mint-otter") {
		t.Errorf("the agent says %q after %s", said, lost)
	}
	if strings.Contains(lost, "name of the harbour's release branch") {
		t.Errorf("recall found its own question: %s", lost)
	}
	// The person's message and the newest result, message 85, are still in view.
	if strings.Contains(lost, "Show all parts") ||
		!strings.Contains(lost, "in your context window already, which is not repeated here: message 1.") {
		t.Errorf("recall repeats what the agent has: %s", lost)
	}
	if strings.Contains(had, "pilot prefers") || !strings.Contains(had, "in your context window already: message 85.") {
		t.Errorf("recall repeats what the agent has: %s", had)
	}
	session.Close()
	for name, check := range map[string]func(*http.Request){
		"a page of another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"another host":             func(r *http.Request) { r.Host = "evil.example" },
		"a form":                   func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
	} {
		r, err := http.NewRequest("POST", s.anthropic+"/oriel/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		check(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode < 400 {
			t.Errorf("%s is served: %s", name, res.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
}

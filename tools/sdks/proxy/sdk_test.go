// Package sdk runs the vendors' own SDKs through the proxy, against a model that judges
// each request. It stands apart so that only these tests build them, which takes
// minutes the first time.
package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// model is an upstream that judges each request and gives the next of its answers.
type model struct {
	t       *testing.T
	answers []string // JSON, a stream that begins with "event:" or "data:", or "429 …"
	bodies  []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Error(err)
	}
	m.bodies = append(m.bodies, string(body))
	judge := map[string]func([]byte) []strict.Problem{"/v1/chat/completions": strict.Chat,
		"/v1/responses": strict.Responses, "/v1/messages": strict.Anthropic}[r.URL.Path]
	if judge == nil {
		m.t.Errorf("unknown path %s", r.URL.Path)
		return
	}
	for _, p := range judge(body) {
		m.t.Errorf("%s: %v", r.URL.Path, p)
	}
	if !strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), canary) {
		m.t.Error("the key did not come")
	}
	if r.Header.Get("X-Stainless-Lang") != "go" || !strings.Contains(r.Header.Get("User-Agent"), "/Go ") {
		m.t.Error("the SDK's headers did not come:", r.Header)
	}
	answer := m.answers[0]
	m.answers = m.answers[1:]
	var status int
	if n, _ := fmt.Sscanf(answer, "%d ", &status); n == 1 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "req_1")
		w.WriteHeader(status)
		io.WriteString(w, answer[4:])
		return
	}
	if answer[0] != '{' {
		w.Header().Set("Content-Type", "text/event-stream")
		for part := range strings.SplitAfterSeq(answer, "\n\n") {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answer)
}

// canary stands for a provider's key.
const canary = "sk-canary-4f1e7d"

// setup is a proxy over HTTP.
type setup struct {
	url    string
	client *http.Client
}

func start(t *testing.T, o proxy.Options) *setup {
	t.Helper()
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	server, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	t.Cleanup(func() {
		front.Close()
		server.Close()
		if strings.Contains(log.String(), "canary") {
			t.Errorf("the log has the key: %s", &log)
		}
	})
	return &setup{front.URL, front.Client()}
}

// history is an engine that records everything and sends it as it came.
type history struct {
	t     *testing.T
	store timeline.Store
	ended chan oriel.Event // the calls that are written
}

// talk runs a proxy before a model.
func talk(t *testing.T, answers ...string) (*setup, *model, *history) {
	m := &model{t: t, answers: answers}
	upstream := httptest.NewServer(m)
	t.Cleanup(upstream.Close)
	h := &history{t: t, store: memory.New(), ended: make(chan oriel.Event, len(answers))}
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: h.store, NoEmbed: true,
		Calls: oriel.CallOptions{Profile: "off"}, Events: func(e oriel.Event) {
			if e.Kind == oriel.EventCall {
				h.ended <- e
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return start(t, proxy.Options{OpenAI: upstream.URL, Anthropic: upstream.URL, Engine: engine,
		ReplyTimeout: time.Minute}), m, h
}

// calls returns the recorded calls in order. It fails the test unless they are those that
// went upstream.
func (h *history) calls(m *model) (calls []*call.Stored) {
	h.t.Helper()
	for range m.bodies {
		<-h.ended
	}
	all, err := h.store.Conversations(h.t.Context(), timeline.Local)
	if err != nil || len(all) != 1 {
		h.t.Fatalf("%d conversations, %v", len(all), err)
	}
	records, err := h.store.Records(h.t.Context(), timeline.Local, all[0].Name, "call", "")
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range records {
		c, err := call.Read(h.t.Context(), h.store, timeline.Local, &records[i])
		if err != nil {
			h.t.Fatal(err)
		}
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b *call.Stored) int { return a.Began.Compare(b.Began) })
	if len(calls) != len(m.bodies) || len(m.answers) > 0 {
		h.t.Fatalf("%d calls recorded, %d upstream, %d answers left", len(calls), len(m.bodies), len(m.answers))
	}
	for i, c := range calls {
		var sent, recorded any
		if err := errors.Join(json.Unmarshal([]byte(m.bodies[i]), &sent),
			json.Unmarshal(c.Body, &recorded)); err != nil || !reflect.DeepEqual(sent, recorded) {
			h.t.Errorf("call %d was recorded otherwise than it went upstream (%v):\n%s\n%s", i, err, c.Body,
				m.bodies[i])
		}
	}
	return calls
}

func TestOpenAIChatSDK(t *testing.T) {
	const calls = `{"id":"c","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},{"id":"call_2","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`
	const stream = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"warm, \"}}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"cold\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	s, m, h := talk(t, calls, stream,
		`429 {"error":{"message":"slow down","type":"rate_limit","code":"rate_limit_exceeded"}}`)
	client := openai.NewClient(openaioption.WithBaseURL(s.url+"/v1"), openaioption.WithAPIKey(canary),
		openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(s.client))
	params := openai.ChatCompletionNewParams{
		Model: "gpt-5",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("be brief"),
			openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("Rome or Oslo? €"),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
					URL: "data:image/png;base64,iVBORw0KGgo="}),
			}),
		},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "weather", Parameters: openai.FunctionParameters{"type": "object",
				"properties": map[string]any{"city": map[string]any{"type": "string"}}},
		})},
	}
	answer, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.Messages = append(params.Messages, answer.Choices[0].Message.ToParam())
	for _, c := range answer.Choices[0].Message.ToolCalls {
		params.Messages = append(params.Messages, openai.ToolMessage("12 degrees", c.ID))
	}
	streamed := client.Chat.Completions.NewStreaming(t.Context(), params)
	var text strings.Builder
	for streamed.Next() {
		text.WriteString(streamed.Current().Choices[0].Delta.Content)
	}
	if err := streamed.Err(); err != nil || text.String() != "warm, cold" {
		t.Error(text.String(), err)
	}
	_, err = client.Chat.Completions.New(t.Context(), params)
	var failed *openai.Error
	if !errors.As(err, &failed) || failed.StatusCode != 429 || failed.Code != "rate_limit_exceeded" {
		t.Error(err)
	}
	h.calls(m)
}

func TestOpenAIResponsesSDK(t *testing.T) {
	const output = `{"id":"r1","object":"response","status":"completed","model":"gpt-5","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{}","status":"completed"},{"type":"function_call","id":"fc_2","call_id":"call_2","name":"look","arguments":"{\"at\":1}","status":"completed"}]}`
	const stream = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"done\",\"sequence_number\":1}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"r2\",\"object\":\"response\",\"status\":\"completed\",\"output\":[]}}\n\n"
	s, m, h := talk(t, output, stream,
		`400 {"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}`)
	client := openai.NewClient(openaioption.WithBaseURL(s.url+"/v1"), openaioption.WithAPIKey(canary),
		openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(s.client))
	params := responses.ResponseNewParams{
		Model:   "gpt-5",
		Store:   openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("look around", responses.EasyInputMessageRoleUser),
		}},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("look",
			map[string]any{"type": "object", "properties": map[string]any{}}, false)},
	}
	answer, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	list := &params.Input.OfInputItemList
	for _, item := range answer.Output {
		switch item.Type {
		case "reasoning":
			p := responses.ResponseInputItemParamOfReasoning(item.ID, []responses.ResponseReasoningItemSummaryParam{})
			p.OfReasoning.EncryptedContent = openai.String(item.AsReasoning().EncryptedContent)
			*list = append(*list, p)
		case "function_call":
			call := item.AsFunctionCall()
			*list = append(*list, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID,
				call.Name))
		}
	}
	for _, id := range []string{"call_1", "call_2"} {
		p := responses.ResponseInputItemParamOfFunctionCallOutput("a wall")
		p.OfFunctionCallOutput.CallID = openai.String(id)
		*list = append(*list, p)
	}
	streamed := client.Responses.NewStreaming(t.Context(), params)
	var kinds []string
	for streamed.Next() {
		kinds = append(kinds, streamed.Current().Type)
	}
	if err := streamed.Err(); err != nil ||
		!slices.Equal(kinds, []string{"response.output_text.delta", "response.completed"}) {
		t.Error(kinds, err)
	}
	_, err = client.Responses.New(t.Context(), params)
	var failed *openai.Error
	if !errors.As(err, &failed) || failed.StatusCode != 400 || failed.Code != "model_not_found" {
		t.Error(err)
	}
	h.calls(m)
}

func TestAnthropicSDK(t *testing.T) {
	const calls = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"let me look","signature":"c2ln"},{"type":"tool_use","id":"toolu_1","name":"look","input":{"at":1.0}},{"type":"tool_use","id":"toolu_2","name":"look","input":{}}],"usage":{"input_tokens":5,"output_tokens":7}}`
	const stream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a wall"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`
	s, m, h := talk(t, calls, stream,
		`529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`)
	client := anthropic.NewClient(anthropicoption.WithBaseURL(s.url), anthropicoption.WithAPIKey(canary),
		anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(s.client))
	params := anthropic.MessageNewParams{
		Model:     "claude-sonnet-4-5",
		MaxTokens: 4000,
		Thinking:  anthropic.ThinkingConfigParamOfEnabled(2000),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(
			anthropic.NewTextBlock("look around"), anthropic.NewImageBlockBase64("image/png", "iVBORw0KGgo="))},
		Tools: []anthropic.ToolUnionParam{
			anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, "look")},
	}
	answer, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.Messages = append(params.Messages, answer.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock("toolu_1", "a wall", false), anthropic.NewToolResultBlock("toolu_2", "no", true)))
	streamed := client.Messages.NewStreaming(t.Context(), params)
	var whole anthropic.Message
	for streamed.Next() {
		if err := whole.Accumulate(streamed.Current()); err != nil {
			t.Error(err)
		}
	}
	if err := streamed.Err(); err != nil || len(whole.Content) != 1 || whole.Content[0].Text != "a wall" {
		t.Error(whole.Content, err)
	}
	_, err = client.Messages.New(t.Context(), params)
	var failed *anthropic.Error
	if !errors.As(err, &failed) || failed.StatusCode != 529 || failed.RequestID != "req_1" {
		t.Error(err)
	}
	recorded := h.calls(m)
	if got := strict.SameThinking([]byte(m.bodies[1]), recorded[1].Body); len(got) > 0 {
		t.Error(got)
	}
	for i, c := range recorded {
		if want := []int{200, 200, 529}[i]; c.Status != want {
			t.Errorf("call %d: status %d, want %d", i, c.Status, want)
		}
	}
	if u := recorded[1].Usage; u == nil || u.Input != 9 || u.Output != 3 || recorded[1].Stop != "end_turn" {
		t.Errorf("the stream was recorded as %+v", recorded[1])
	}
}

// SDKs raise Oriel's own errors as they raise the vendors'.
func TestSDKsReadOurErrors(t *testing.T) {
	s := start(t, proxy.Options{OpenAI: "http://127.0.0.1:1", Anthropic: "http://127.0.0.1:1"})
	o := openai.NewClient(openaioption.WithBaseURL(s.url+"/v1"), openaioption.WithAPIKey(canary),
		openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(s.client))
	_, err := o.Responses.New(t.Context(), responses.ResponseNewParams{Model: "m"})
	var theirs *openai.Error
	if !errors.As(err, &theirs) || theirs.Code != "upstream_unreachable" ||
		!strings.Contains(theirs.Message, "cannot be reached") {
		t.Error(err)
	}
	a := anthropic.NewClient(anthropicoption.WithBaseURL(s.url), anthropicoption.WithAPIKey(canary),
		anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(s.client))
	_, err = a.Messages.New(t.Context(), anthropic.MessageNewParams{Model: "m", MaxTokens: 1})
	var other *anthropic.Error
	if !errors.As(err, &other) || other.StatusCode != 502 || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

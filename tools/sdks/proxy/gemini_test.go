package sdk

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Google's SDK works through the proxy: calls of functions and their results, a chat whose
// replies are streamed, the count of tokens, an error. All calls of the chat are one
// conversation, although the SDK sends each chunk of a reply back as a content of its own.
func TestGeminiSDK(t *testing.T) {
	var mu sync.Mutex
	counted := 0
	model := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		last := string(r.Messages[len(r.Messages)-1].Raw)
		switch {
		case !strings.Contains(r.Header.Get("X-Goog-Api-Key"), canary):
			t.Error("the key did not come")
		case strings.Contains(last, "please fail"):
			return fakemodel.Answer{Status: 429, Error: "slow down"}
		case strings.Contains(last, "Rome or Oslo"):
			return fakemodel.Answer{Input: 10, Output: 5, Calls: []fakemodel.Call{
				{ID: "c1", Name: "weather", Arguments: `{"city":"Rome"}`},
				{ID: "c2", Name: "weather", Arguments: `{"city":"Oslo"}`}}}
		}
		return fakemodel.Answer{Input: 10, CacheRead: 4, Output: 5, Thinking: "Which is warmer?",
			Text: fmt.Sprintf("Answer %d: it is warm in Rome and cold in Oslo, as it is in most Januaries.",
				len(r.Messages))}
	}}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ":countTokens") {
			mu.Lock()
			counted++
			mu.Unlock()
			fmt.Fprint(w, `{"totalTokens":31}`)
			return
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	store := memory.New()
	ended := make(chan oriel.Event, 16)
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: store, NoEmbed: true, Events: func(e oriel.Event) {
		if e.Kind == oriel.EventCall {
			ended <- e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := start(t, proxy.Options{Gemini: upstream.URL, Engine: engine, ReplyTimeout: time.Minute})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: canary, HTTPClient: s.client,
		Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.url}})
	if err != nil {
		t.Fatal(err)
	}
	const name = "gemini-2.5-pro"
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("be brief", genai.RoleUser), MaxOutputTokens: 1000,
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "weather",
			Parameters: &genai.Schema{Type: genai.TypeObject,
				Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}}}}}},
	}
	contents := []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{genai.NewPartFromText("Rome or Oslo? €"),
		genai.NewPartFromBytes([]byte("\x89PNG\r\n\x1a\n"), "image/png")}}}
	answer, err := client.Models.GenerateContent(t.Context(), name, contents, config)
	if err != nil {
		t.Fatal(err)
	}
	calls := answer.FunctionCalls()
	if len(calls) != 2 || len(answer.Candidates[0].Content.Parts[0].ThoughtSignature) == 0 {
		t.Fatalf("%+v", answer.Candidates[0].Content)
	}
	results := &genai.Content{Role: genai.RoleUser}
	for _, c := range calls {
		part := genai.NewPartFromFunctionResponse(c.Name, map[string]any{"output": "12 degrees"})
		part.FunctionResponse.ID = c.ID
		results.Parts = append(results.Parts, part)
	}
	contents = append(contents, answer.Candidates[0].Content, results)
	if answer, err = client.Models.GenerateContent(t.Context(), name, contents, config); err != nil ||
		!strings.HasPrefix(answer.Text(), "Answer 3") {
		t.Fatal(answer, err)
	}
	chat, err := client.Chats.Create(t.Context(), name, config, append(contents, answer.Candidates[0].Content))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		text := ""
		for chunk, err := range chat.SendMessageStream(t.Context(),
			genai.Part{Text: fmt.Sprintf("And on day %d?", i)}) {
			if err != nil {
				t.Fatal(err)
			}
			text += chunk.Text()
		}
		if !strings.Contains(text, "most Januaries.") {
			t.Errorf("the stream says %q", text)
		}
	}
	if count, err := client.Models.CountTokens(t.Context(), name, chat.History(false), nil); err != nil ||
		count.TotalTokens != 31 || counted != 1 {
		t.Error(count, err, counted)
	}
	var failed genai.APIError
	if _, err := chat.SendMessage(t.Context(), genai.Part{Text: "please fail"}); !errors.As(err, &failed) ||
		failed.Code != 400 && failed.Code != 429 {
		t.Error(err)
	}
	for range 6 {
		if e := <-ended; e.Model != name || e.Conversation == "" {
			t.Errorf("%+v", e)
		}
	}
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := store.Conversations(t.Context(), timeline.Local)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	records, err := store.Records(t.Context(), timeline.Local, all[0].Name, "call", "")
	if err != nil || len(records) != 6 {
		t.Fatalf("%d calls, %v", len(records), err)
	}
	for i := range records {
		c, err := call.Read(t.Context(), store, timeline.Local, &records[i])
		if err != nil || c.Model != name || c.Status == 200 && c.Usage.Output != 5 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	for _, p := range model.Problems() {
		t.Error(p)
	}
}

// Google's SDK has interactions through the proxy, and the model's steps go back as they came.
func TestInteractionsSDK(t *testing.T) {
	model := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{ID: "int_1", Input: 10, Output: 5, Thinking: "Where?", Text: "To the east."}
	}}
	upstream := httptest.NewServer(model)
	t.Cleanup(upstream.Close)
	ended := make(chan oriel.Event, 1)
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: memory.New(), NoEmbed: true,
		Events: func(e oriel.Event) {
			if e.Kind == oriel.EventCall {
				ended <- e
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := start(t, proxy.Options{Gemini: upstream.URL, Engine: engine, ReplyTimeout: time.Minute})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: canary,
		Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.url}})
	if err != nil {
		t.Fatal(err)
	}
	input := interactions.NewInteractionsInput("Where is the pier?")
	no := false
	answer, err := client.Interactions.Create(t.Context(), operations.CreateInteractionRequest{
		Body: operations.NewCreateInteractionRequestBody(interactions.CreateModelInteraction{
			Model: "gemini-2.5-flash", Input: &input, Store: &no})})
	if err != nil || answer.Interaction.ID == nil || *answer.Interaction.ID != "int_1" ||
		len(answer.Interaction.Steps) != 2 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if e := <-ended; e.Model != "gemini-2.5-flash" || e.Usage == nil || e.Usage.Output != 5 || e.Error != "" {
		t.Errorf("%+v", e)
	}
	for _, p := range model.Problems() {
		t.Error(p)
	}
}

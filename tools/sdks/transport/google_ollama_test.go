package sdk

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ollama/ollama/api"
	"google.golang.org/genai"
)

func newGemini(url string, client *http.Client) talker {
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "key", Backend: genai.BackendGeminiAPI,
		HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		panic(err)
	}
	return &geminiTalker{client: c}
}

func newOllama(at string, client *http.Client) talker {
	u, err := url.Parse(at)
	if err != nil {
		panic(err)
	}
	return &ollamaTalker{client: api.NewClient(u, client)}
}

type geminiTalker struct {
	client   *genai.Client
	contents []*genai.Content
}

func (c *geminiTalker) say(ctx context.Context, text string, stream bool) (string, error) {
	const model = "gemini-2.5-pro"
	c.contents = append(c.contents, genai.NewContentFromText(text, genai.RoleUser))
	reply := ""
	if stream {
		for part, err := range c.client.Models.GenerateContentStream(ctx, model, c.contents, nil) {
			if err != nil {
				return "", err
			}
			reply += part.Text()
		}
	} else {
		answer, err := c.client.Models.GenerateContent(ctx, model, c.contents, nil)
		if err != nil {
			return "", err
		}
		reply = answer.Text()
	}
	c.contents = append(c.contents, genai.NewContentFromText(reply, genai.RoleModel))
	return reply, nil
}

type ollamaTalker struct {
	client   *api.Client
	messages []api.Message
}

func (c *ollamaTalker) say(ctx context.Context, text string, stream bool) (string, error) {
	c.messages = append(c.messages, api.Message{Role: "user", Content: text})
	reply := ""
	err := c.client.Chat(ctx, &api.ChatRequest{Model: "qwen3:8b", Messages: c.messages, Stream: &stream,
		Options: map[string]any{"num_ctx": 100_000}}, func(r api.ChatResponse) error {
		reply += r.Message.Content
		return nil
	})
	c.messages = append(c.messages, api.Message{Role: "assistant", Content: reply})
	return reply, err
}

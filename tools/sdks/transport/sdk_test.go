// Package sdk runs the vendors' own Go SDKs through Engine.Transport, against a model that
// judges each request.
package sdk

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// talker is a program that talks to a model through an SDK and resends everything.
type talker interface {
	// say sends what a user says and returns the model's reply.
	say(ctx context.Context, text string, stream bool) (string, error)
}

type chatTalker struct {
	client openai.Client
	params openai.ChatCompletionNewParams
}

func (c *chatTalker) say(ctx context.Context, text string, stream bool) (string, error) {
	c.params.Messages = append(c.params.Messages, openai.UserMessage(text))
	reply := ""
	if stream {
		s := c.client.Chat.Completions.NewStreaming(ctx, c.params)
		for s.Next() {
			for _, choice := range s.Current().Choices {
				reply += choice.Delta.Content
			}
		}
		if err := s.Err(); err != nil {
			return "", err
		}
	} else {
		answer, err := c.client.Chat.Completions.New(ctx, c.params)
		if err != nil {
			return "", err
		}
		reply = answer.Choices[0].Message.Content
	}
	c.params.Messages = append(c.params.Messages, openai.AssistantMessage(reply))
	return reply, nil
}

type responsesTalker struct {
	client openai.Client
	params responses.ResponseNewParams
}

func (c *responsesTalker) say(ctx context.Context, text string, stream bool) (string, error) {
	list := &c.params.Input.OfInputItemList
	*list = append(*list, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
	reply := ""
	if stream {
		s := c.client.Responses.NewStreaming(ctx, c.params)
		for s.Next() {
			if e := s.Current(); e.Type == "response.output_text.delta" {
				reply += e.AsResponseOutputTextDelta().Delta
			}
		}
		if err := s.Err(); err != nil {
			return "", err
		}
	} else {
		answer, err := c.client.Responses.New(ctx, c.params)
		if err != nil {
			return "", err
		}
		reply = answer.OutputText()
	}
	*list = append(*list, responses.ResponseInputItemParamOfMessage(reply, responses.EasyInputMessageRoleAssistant))
	return reply, nil
}

type anthropicTalker struct {
	client anthropic.Client
	params anthropic.MessageNewParams
}

func (c *anthropicTalker) say(ctx context.Context, text string, stream bool) (string, error) {
	c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
	var answer anthropic.Message
	if stream {
		s := c.client.Messages.NewStreaming(ctx, c.params)
		for s.Next() {
			if err := answer.Accumulate(s.Current()); err != nil {
				return "", err
			}
		}
		if err := s.Err(); err != nil {
			return "", err
		}
	} else {
		whole, err := c.client.Messages.New(ctx, c.params)
		if err != nil {
			return "", err
		}
		answer = *whole
	}
	c.params.Messages = append(c.params.Messages, answer.ToParam())
	return answer.Content[0].Text, nil
}

// upstream is the model: it refuses what is larger than most, if that is not 0.
type upstream struct {
	most int

	mu      sync.Mutex // protects what follows
	last    string     // the newest body that was accepted
	refused int
}

func (u *upstream) answer(r *fakemodel.Request) fakemodel.Answer {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := len(r.Data()) / 4; u.most > 0 && n > u.most {
		u.refused++
		return fakemodel.Answer{Status: http.StatusBadRequest,
			Error: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, u.most)}
	}
	u.last = string(r.Data())
	return fakemodel.Answer{Text: "Noted.", Input: 10, Output: 2}
}

// sent returns the newest body that was accepted, and how many were refused.
func (u *upstream) sent() (string, int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last, u.refused
}

// talkers makes a talker of each SDK over a client, with the model that it asks.
var talkers = map[wire.Format]func(url string, client *http.Client) talker{
	wire.Gemini: newGemini,
	wire.Ollama: newOllama,
	wire.Chat: func(url string, client *http.Client) talker {
		return &chatTalker{openai.NewClient(openaioption.WithBaseURL(url+"/v1"), openaioption.WithAPIKey("sk-key"),
			openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(client)),
			openai.ChatCompletionNewParams{Model: "gpt-4o"}}
	},
	wire.Responses: func(url string, client *http.Client) talker {
		return &responsesTalker{openai.NewClient(openaioption.WithBaseURL(url+"/v1"), openaioption.WithAPIKey("sk-key"),
			openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(client)),
			responses.ResponseNewParams{Model: "gpt-4o", Store: openai.Bool(false)}}
	},
	wire.Anthropic: func(url string, client *http.Client) talker {
		return &anthropicTalker{anthropic.NewClient(anthropicoption.WithBaseURL(url),
			anthropicoption.WithAPIKey("sk-key"), anthropicoption.WithMaxRetries(0),
			anthropicoption.WithHTTPClient(client)),
			anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 1000}}
	},
}

// start opens an engine and makes an SDK talk through it to a model.
func start(t *testing.T, format wire.Format, calls oriel.CallOptions, u *upstream) (*oriel.Engine, talker) {
	t.Helper()
	model := &fakemodel.Server{Answer: u.answer}
	server := httptest.NewServer(model)
	t.Cleanup(func() {
		server.Close()
		for _, p := range model.Problems() {
			t.Error(p)
		}
	})
	e, err := oriel.Open(t.Context(), oriel.Config{Dir: t.TempDir(), NoEmbed: true, Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, talkers[format](server.URL, &http.Client{Transport: e.Transport(nil)})
}

// line is what the user says in a turn: about 110 tokens with a word of its own.
func line(n int) string {
	return fmt.Sprintf("Line number%03d. ", n) + strings.Repeat("We walked along the harbour and talked. ", 12)
}

// A program with a vendor's SDK gets in process what the proxy does: one
// conversation, views within the budget, plans, pins and undo that act on its next call.
func TestAnSDKTalksThroughTheEngine(t *testing.T) {
	profiles, err := window.NewProfiles(window.Profile{Name: "small", Budget: 3000, Policy: "fifo", Recall: -1})
	if err != nil {
		t.Fatal(err)
	}
	for format := range talkers {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, stream %v", format, stream), func(t *testing.T) {
				u := &upstream{}
				e, talk := start(t, format, oriel.CallOptions{Profile: "small", Profiles: profiles}, u)
				const turns = 60
				for n := 1; n <= turns; n++ {
					if reply, err := talk.say(t.Context(), line(n), stream); err != nil || reply != "Noted." {
						t.Fatal(n, reply, err)
					}
				}
				body, _ := u.sent()
				if strings.Contains(body, line(3)) || !strings.Contains(body, "number060") || len(body) > 4*4000 {
					t.Fatalf("%d bytes went out", len(body))
				}
				names, err := e.Conversations(t.Context())
				if err != nil || len(names) != 1 {
					t.Fatal(names, err)
				}
				c, err := e.Conversation(t.Context(), names[0])
				if err != nil {
					t.Fatal(err)
				}
				plans, err := c.Plans(t.Context(), 0)
				if err != nil || len(plans) == 0 {
					t.Fatal(plans, err)
				}
				if err := c.Pin(t.Context(), 5); err != nil { // the third that the user said
					t.Fatal(err)
				}
				if _, err := talk.say(t.Context(), line(turns+1), stream); err != nil {
					t.Fatal(err)
				}
				if body, _ := u.sent(); !strings.Contains(body, line(3)) {
					t.Error("what is pinned does not come back")
				}
			})
		}
	}
}

// SPEC E4: what the provider refuses as too long is cut and sent again; the program does
// not notice.
func TestARefusalIsSentAgainWithLess(t *testing.T) {
	for format := range talkers {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, stream %v", format, stream), func(t *testing.T) {
				u := &upstream{most: 4000}
				_, talk := start(t, format, oriel.CallOptions{}, u)
				for n := 1; n <= 60; n++ {
					if reply, err := talk.say(t.Context(), line(n), stream); err != nil || reply != "Noted." {
						t.Fatal(n, reply, err)
					}
				}
				if body, refused := u.sent(); refused == 0 || !strings.Contains(body, "number060") {
					t.Errorf("%d were refused; the last that was accepted has %d bytes", refused, len(body))
				}
			})
		}
	}
}

// Package sdk runs programs that use the vendors' own SDKs under oriel run: without a word
// about Oriel, they find it by the variables that are set for them.
package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// protocols are what a program does with each of them, streamed and not.
var protocols = map[string]func(context.Context) error{
	"messages": func(ctx context.Context) error {
		client := anthropic.NewClient()
		question := anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 100,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Where is the pier?"))}}
		m, err := client.Messages.New(ctx, question)
		if err != nil {
			return err
		}
		question.Messages = append(question.Messages, m.ToParam(),
			anthropic.NewUserMessage(anthropic.NewTextBlock("And the mole?")))
		stream := client.Messages.NewStreaming(ctx, question)
		var whole anthropic.Message
		for stream.Next() {
			if err := whole.Accumulate(stream.Current()); err != nil {
				return err
			}
		}
		return said(stream.Err(), m.Content[0].Text, whole.Content[0].Text)
	},
	"chat": func(ctx context.Context) error {
		client := openai.NewClient()
		question := openai.ChatCompletionNewParams{Model: "gpt-4o",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Where is the harbour?")}}
		c, err := client.Chat.Completions.New(ctx, question)
		if err != nil {
			return err
		}
		question.Messages = append(question.Messages, c.Choices[0].Message.ToParam(),
			openai.UserMessage("And the buoy?"))
		question.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(ctx, question)
		var whole openai.ChatCompletionAccumulator
		for stream.Next() {
			whole.AddChunk(stream.Current())
		}
		return said(stream.Err(), c.Choices[0].Message.Content, whole.Choices[0].Message.Content)
	},
	"gemini": func(ctx context.Context) error {
		client, err := genai.NewClient(ctx, nil)
		if err != nil {
			return err
		}
		chat, err := client.Chats.Create(ctx, "gemini-2.5-pro", nil, nil)
		if err != nil {
			return err
		}
		r, err := chat.SendMessage(ctx, genai.Part{Text: "Where is the pier?"})
		if err != nil {
			return err
		}
		text := ""
		for chunk, err := range chat.SendMessageStream(ctx, genai.Part{Text: "And the mole?"}) {
			if err != nil {
				return err
			}
			text += chunk.Text()
		}
		return said(nil, r.Text(), text)
	},
	"responses": func(ctx context.Context) error {
		client := openai.NewClient()
		question := responses.ResponseNewParams{Model: "gpt-5",
			Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Where is the lighthouse?")}}
		r, err := client.Responses.New(ctx, question)
		if err != nil {
			return err
		}
		stream := client.Responses.NewStreaming(ctx, question)
		text := ""
		for stream.Next() {
			text += stream.Current().AsResponseOutputTextDelta().Delta
		}
		return said(stream.Err(), r.OutputText(), text)
	},
}

func said(err error, texts ...string) error {
	for _, text := range texts {
		if err == nil && text != "To the east." {
			err = fmt.Errorf("the model said %q", text)
		}
	}
	return err
}

// TestMain is the program that is run, where it is told to be one.
func TestMain(m *testing.M) {
	use, ok := protocols[os.Getenv("USE_PROTOCOL")]
	if !ok {
		os.Exit(m.Run())
	}
	if err := use(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	oriel := filepath.Join(dir, "oriel")
	build := exec.Command("go", "build", "-o", oriel, "./cmd/oriel")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	model := &fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: "To the east.", Input: 30, CacheRead: 10, Output: 5}
	}}
	up := httptest.NewServer(model)
	defer up.Close()
	for name := range protocols {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "summary.json")
			cmd := exec.Command(oriel, "run", "--data", filepath.Join(dir, "data"), "--summary", path, "--", os.Args[0])
			cmd.Env = append(os.Environ(), "USE_PROTOCOL="+name, "ORIEL_CONFIG="+os.DevNull, "OPENAI_BASE_URL="+up.URL+
				"/v1", "ANTHROPIC_BASE_URL="+up.URL, "OPENAI_API_KEY=sk-none", "ANTHROPIC_API_KEY=sk-none",
				"GOOGLE_GEMINI_BASE_URL="+up.URL, "GEMINI_API_KEY=AIzaNone", "GOOGLE_API_KEY=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Calls, Failed, Input, Output, Unreported, Unread int
				CacheRead                                        int `json:"cache_read"`
				Cost                                             float64
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if got.Calls != 2 || got.Input != 80 || got.CacheRead != 20 || got.Output != 10 ||
				got.Failed+got.Unread+got.Unreported != 0 || got.Cost <= 0 {
				t.Errorf("%s", data)
			}
		})
	}
	for _, p := range model.Problems() {
		t.Error(p)
	}
}

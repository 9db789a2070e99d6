package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/tools/bench/harness"
	"github.com/oriel-context/oriel/wire"
)

// protocol is a way in which the same conversation is sent.
type protocol struct {
	name   string
	format wire.Format
	model  string
	path   string
	more   string // further members of the body
	socket bool
}

// Chat is the first, with which the others are compared.
var protocols = []protocol{
	{name: "Chat", format: wire.Chat, model: "gpt-4o", path: "/v1/chat/completions",
		more: `"stream_options":{"include_usage":true},`},
	{name: "Gemini", format: wire.Gemini, model: "gemini-2.5-pro",
		path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"},
	{name: "Interactions", format: wire.Interactions, model: "gemini-2.5-pro", path: "/v1beta/interactions",
		more: `"store":false,`},
	{name: "Ollama", format: wire.Ollama, model: "qwen3:8b", path: "/api/chat",
		more: `"options":{"num_ctx":400000},`},
	{name: "Responses", format: wire.Responses, model: "gpt-4o", path: "/v1/responses"},
	{name: "Responses over WebSocket", format: wire.Responses, model: "gpt-4o", path: "/v1/responses", socket: true},
}

// sizes are the conversations that are sent: messages at the beginning and the bytes of each.
var protocolSizes = []struct {
	name           string
	messages, size int
}{{"2 kB", 5, 400}, {"200 kB", 101, 2000}}

// protocolCalls is how many calls of a conversation are measured, each two messages longer than the
// one before.
const protocolCalls = 40

// compareProtocols measures the processor time of a streamed call in each protocol, with the profiles
// off and full. The protocols take turns; figures are medians of the rounds.
func compareProtocols(folder string, rounds int) error {
	model := &scripted{next: map[string]string{}}
	upstream := httptest.NewServer(&fakemodel.Server{Answer: model.answer, Unchecked: true})
	defer upstream.Close()
	work, err := os.MkdirTemp(folder, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	spent := map[string][]float64{}
	for _, profile := range []string{"off", "full"} {
		p, url, err := startForProtocols(folder, work, upstream.URL, profile)
		if err != nil {
			return err
		}
		for round := range rounds + 1 { // the first one warms up
			for _, size := range protocolSizes {
				for i := range protocols {
					took, err := model.measure(&protocols[i], p, url, size.messages, size.size,
						fmt.Sprintf("%s.%d.%d", profile, round, i))
					if err != nil {
						p.end(syscall.SIGKILL)
						return fmt.Errorf("%s, profile %s: %w", protocols[i].name, profile, err)
					}
					if round > 0 {
						key := profile + size.name + protocols[i].name
						spent[key] = append(spent[key], took)
					}
				}
			}
		}
		p.end(syscall.SIGTERM)
	}
	fmt.Print("|")
	for _, profile := range []string{"off", "full"} {
		for _, size := range protocolSizes {
			fmt.Printf(" | %s, %s", profile, size.name)
		}
	}
	fmt.Print(" |\n|---|--:|--:|--:|--:|\n")
	for i := range protocols {
		fmt.Printf("| %s", protocols[i].name)
		for _, profile := range []string{"off", "full"} {
			for _, size := range protocolSizes {
				ms := harness.Quantile(spent[profile+size.name+protocols[i].name], .5)
				first := harness.Quantile(spent[profile+size.name+protocols[0].name], .5)
				fmt.Printf(" | %.2f (%.2f)", ms, ms/first)
			}
		}
		fmt.Println(" |")
	}
	return nil
}

func startForProtocols(folder, work, upstream, profile string) (*process, string, error) {
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	data := filepath.Join(work, profile)
	args := append(serve(filepath.Join(folder, "oriel"), port, upstream, data), "--profile", profile,
		"--upstream-gemini", upstream, "--upstream-ollama", upstream)
	p, err := startProcess(filepath.Join(work, profile+".log"), nil, args...)
	if err != nil {
		return nil, "", err
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		res, err := http.Get(url + "/oriel/healthz")
		if err == nil {
			res.Body.Close()
			return p, url, nil
		}
		if time.Now().After(end) {
			p.end(syscall.SIGKILL)
			return nil, "", fmt.Errorf("%w; %s", err, p.lastWords())
		}
	}
}

// scripted is a model that goes on with the conversation that is sent.
type scripted struct {
	mu   sync.Mutex        // protects next
	next map[string]string // by the words before it
}

func (m *scripted) answer(r *fakemodel.Request) fakemodel.Answer {
	last := r.Messages[len(r.Messages)-1]
	m.mu.Lock()
	defer m.mu.Unlock()
	return fakemodel.Answer{Text: m.next[last.Parts[0].Text.String()],
		Input: len(r.Data()) * 10 / 44, Output: 500}
}

// measure returns the processor time of a call in milliseconds.
func (m *scripted) measure(p *protocol, server *process, url string, messages, size int, name string) (float64, error) {
	var history []chat.Message
	for i := range messages + 2*protocolCalls {
		role := chat.User
		if i%2 == 1 {
			role = chat.Assistant
		}
		words := text(turnMark(size, name, i), size)
		history = append(history, chat.Message{Role: role,
			Parts: []chat.Part{{Kind: chat.Text, Type: "text", Text: chat.Quote(words)}}})
		if role == chat.Assistant {
			m.mu.Lock()
			m.next[history[i-1].Parts[0].Text.String()] = words
			m.mu.Unlock()
		}
	}
	bodies := make([][]byte, protocolCalls)
	for i := range bodies {
		body, err := wire.Encode(p.format, &chat.Request{Model: p.model, Stream: true,
			Messages: history[:messages+2*i]})
		if err != nil {
			return 0, err
		}
		head := "{" + p.more
		if p.socket {
			head += `"type":"response.create",`
		}
		bodies[i] = append([]byte(head), body[1:]...)
	}
	send, end, err := p.open(url)
	if err != nil {
		return 0, err
	}
	defer end()
	server.family()
	server.rest()
	began := server.cpu()
	for i, body := range bodies {
		if err := send(body); err != nil {
			return 0, fmt.Errorf("call %d of %d bytes: %w", i, len(body), err)
		}
	}
	server.rest()
	return float64((server.cpu() - began).Microseconds()) / 1000 / protocolCalls, nil
}

// rest waits until the program has done nothing for a while, also on a machine that is busy with other
// programs.
func (p *process) rest() {
	last, quiet := p.cpu(), time.Now()
	for end := time.Now().Add(10 * time.Second); time.Since(quiet) < restTime && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		if now := p.cpu(); now-last > 100*time.Microsecond {
			last, quiet = now, time.Now()
		}
	}
}

// restTime is how long a program that does nothing has no work left.
const restTime = 250 * time.Millisecond

// open returns a function that sends a call and reads its answer.
func (p *protocol) open(url string) (send func([]byte) error, end func(), err error) {
	ctx := context.Background()
	if !p.socket {
		client := http.Client{Transport: &http.Transport{DisableCompression: true}}
		return func(body []byte) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+p.path, bytes.NewReader(body))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer sk-bench")
			res, err := client.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			answer, err := io.ReadAll(res.Body)
			if err == nil && (res.StatusCode != http.StatusOK || len(answer) < 100) {
				err = fmt.Errorf("status %d: %.300s", res.StatusCode, answer)
			}
			return err
		}, client.CloseIdleConnections, nil
	}
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+p.path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer sk-bench"}}})
	if err != nil {
		return nil, nil, err
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	conn.SetReadLimit(-1)
	return func(body []byte) error {
		if err := conn.Write(ctx, websocket.MessageText, body); err != nil {
			return err
		}
		for {
			_, event, err := conn.Read(ctx)
			switch {
			case err != nil:
				return err
			case bytes.Contains(event, []byte(`"type":"response.completed"`)):
				return nil
			case bytes.Contains(event, []byte(`"type":"error"`)):
				return fmt.Errorf("%.300s", event)
			}
		}
	}, func() { conn.CloseNow() }, nil
}

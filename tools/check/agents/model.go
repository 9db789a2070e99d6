package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/internal/test/strict"
)

// script is a model that asks for n commands and then ends.
type script struct {
	n       int
	command func(k int) string // returns the k-th command, counted from 1

	mu    sync.Mutex // protects the fields below
	step  int
	calls int
}

// argument is the name of a shell tool's argument, by the tool's name.
var argument = map[string]string{"Bash": "command", "exec_command": "cmd", "shell_command": "command"}

func (s *script) answer(r *fakemodel.Request) fakemodel.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", s.calls), Thinking: fmt.Sprintf("Part %d is next.", s.step),
		CacheRead: tokens(r.Data()), Input: 10, Output: 20}
	tool := ""
	for _, t := range r.Tools {
		if argument[t.Name] != "" {
			tool = t.Name
		}
	}
	if tool == "" || s.step == s.n {
		a.Text = fmt.Sprintf("All %d parts were read.", s.step)
		return a
	}
	s.step++
	arguments := map[string]string{argument[tool]: s.command(s.step)}
	if tool == "Bash" {
		arguments["description"] = fmt.Sprintf("Print part %d", s.step)
	}
	raw, _ := json.Marshal(arguments)
	a.Calls = []fakemodel.Call{{ID: callID(s.step), Name: tool, Arguments: string(raw)}}
	return a
}

func callID(k int) string { return fmt.Sprintf("toolu_%06d", k) }

// tokens returns the tokens of a body, as the model counts them.
func tokens(body []byte) int { return len(body) / 4 }

// provider puts a limit before a model and checks what arrives.
type provider struct {
	limit int // in tokens; 0 means none
	next  http.Handler

	mu       sync.Mutex // protects the fields below
	before   []byte     // the body that the agent sent
	last     []byte     // the last prompt that was accepted
	spoken   int        // bytes of its messages
	taken    int
	largest  int // tokens of the largest accepted body
	refused  []int
	breaks   int
	least    float64 // least share of a prompt that the next one began with, without breaks
	problems []string
}

func (p *provider) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// front is the handler between the agent and the proxy. It records what the
// agent sent.
func (p *provider) front(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if isTurn(r, body) {
			p.mu.Lock()
			p.before = body
			p.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

// isTurn reports whether a request is a turn of the agent's loop and not a
// side call.
func isTurn(r *http.Request, body []byte) bool {
	var b struct {
		Tools []struct{ Name string } `json:"tools"`
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &b) != nil {
		return false
	}
	for _, t := range b.Tools {
		if argument[t.Name] != "" {
			return true
		}
	}
	return false
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if isTurn(r, body) && !p.take(r.URL.Path, body) {
		p.refuse(w, r, tokens(body))
		return
	}
	p.next.ServeHTTP(w, r)
}

// breakAt is the share of a prompt that the next one must begin with unless it
// is cut.
const breakAt = .999

// take judges a body and reports whether it is within the limit.
func (p *provider) take(path string, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, at := tokens(body), p.taken+len(p.refused)+1
	judge := strict.Anthropic
	if strings.HasSuffix(path, "/responses") {
		judge = strict.Responses
	}
	found := judge(body)
	found = append(found, strict.SameThinking(p.before, body)...)
	found = append(found, strict.KeptReasoning(p.before, body)...)
	for _, f := range found {
		p.problem("body %d: %s", at, f)
	}
	if p.limit > 0 && n > p.limit {
		p.refused = append(p.refused, n)
		return false
	}
	now, spoken := prompt(body)
	if p.last != nil {
		share := float64(shared(p.last, now)) / float64(len(p.last))
		switch {
		case share >= breakAt:
			p.least = min(p.least, share)
		case spoken > p.spoken*3/4:
			p.problem("body %d shares %.2f%% with the one before, and is no deep cut: messages of %d tokens, before %d",
				at, 100*share, spoken/4, p.spoken/4)
			p.breaks++
		default:
			p.breaks++
		}
	}
	p.last, p.spoken = now, spoken
	p.taken++
	p.largest = max(p.largest, n)
	return true
}

// refuse answers that a body is too long, as the vendors do: OpenAI within a
// stream that has begun.
func (p *provider) refuse(w http.ResponseWriter, r *http.Request, n int) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: %d tokens > %d maximum"},"request_id":"req_1"}`, n, p.limit)
		return
	}
	const why = `"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."`
	const response = `"response":{"id":"resp_1","object":"response","created_at":1,"background":false,"output":[],"usage":null,`
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range []struct{ name, data string }{
		{"response.created", response + `"status":"in_progress","error":null}`},
		{"response.in_progress", response + `"status":"in_progress","error":null}`},
		{"error", `"error":{"type":"invalid_request_error",` + why + `,"param":"input"}`},
		{"response.failed", response + `"status":"failed","error":{` + why + `}}`},
	} {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", e.name, e.name, i, e.data)
		http.NewResponseController(w).Flush()
	}
}

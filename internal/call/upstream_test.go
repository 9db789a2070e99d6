package call_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

// upstream is a provider of which a test writes the answers.
type upstream struct {
	*bench
	mu  sync.Mutex
	got []string
	// heads are the headers of the requests.
	heads []http.Header
}

// before puts a proxy before a provider that answers by the number of the request.
func before(t *testing.T, limits *token.Limits, answer func(n int, w http.ResponseWriter),
	set ...func(*call.TestOptions)) *upstream {
	u := &upstream{}
	model := func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{} }
	u.bench = startBefore(t, memory.New(), model, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path == "/api/show" { // a local server is asked for its window
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.got, u.heads = append(u.got, string(body)), append(u.heads, r.Header)
		n := len(u.got)
		u.mu.Unlock()
		answer(n, w)
	}, append([]func(*call.TestOptions){func(o *call.TestOptions) { o.Profile, o.Limits = "full", limits }}, set...)...)
	return u
}

// history is a long one of an agent with thinking, without or with max_tokens.
func history(model string, turns int, newest string, more string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q%s,"tools":[{"name":"ls","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"list it all"}`, model, more)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm %d","signature":"c2ln"},{"type":"tool_use","id":"t%d","name":"ls","input":{"path":"/%d"}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i,
			strings.Repeat(fmt.Sprintf("file-%d ", i), 80))
	}
	fmt.Fprintf(&b, `,{"role":"assistant","content":"so far"},{"role":"user","content":%q}]}`, newest)
	return []byte(b.String())
}

func message(w http.ResponseWriter, stop string, input, output int) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"well"}],"stop_reason":%q,"usage":{"input_tokens":%d,"output_tokens":%d}}`, stop, input, output)
}

const tooLong = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5000 tokens > 3000 maximum"}}`

// SPEC E4; an error at the head of a stream is recovered from before the client sees it.
func TestAStreamThatBeginsWithAnOverflowIsCutAndSentAgain(t *testing.T) {
	u := before(t, nil, func(n int, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		if n == 1 {
			fmt.Fprintf(w, "event: error\ndata: %s\n\n", tooLong)
			return
		}
		io.WriteString(w,
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\n")
	})
	res, answer := u.send("/v1/messages", history("claude-sonnet-4-5", 20, "go on", `,"max_tokens":1000,"stream":true`))
	if len(u.got) != 2 || len(u.got[1]) >= len(u.got[0])*3/4 || !strings.Contains(string(answer), "message_start") {
		t.Fatalf("%d requests; %s", len(u.got), answer)
	}
	if p := strict.Anthropic([]byte(u.got[1])); len(p) > 0 || res.Header.Get("X-Oriel-Action") == "none" {
		t.Errorf("%v, %v", p, res.Header)
	}
	u.settle(1)
}

// A reply that ran into the end of the window teaches what fits, and is not tried again.
func TestAReplyThatRanIntoTheWindowTeaches(t *testing.T) {
	u := before(t, nil, func(n int, w http.ResponseWriter) {
		if n == 1 {
			message(w, "model_context_window_exceeded", 6800, 200)
			return
		}
		message(w, "end_turn", 2000, 10)
	})
	body := history("claude-sonnet-4-5", 20, "go on", `,"max_tokens":1000`)
	if _, answer := u.send("/v1/messages", body, "X-Oriel-Conversation", "c"); !strings.Contains(string(answer),
		"model_context_window_exceeded") || len(u.got) != 1 {
		t.Fatalf("%d requests, %s", len(u.got), answer)
	}
	u.settle(1)
	if res, _ := u.send("/v1/messages", history("claude-sonnet-4-5", 20, "and now?", `,"max_tokens":1000`),
		"X-Oriel-Conversation", "c"); len(u.got[1]) >= len(body) {
		t.Errorf("nothing was learnt: %v", res.Header)
	}
	u.settle(2)
}

// A model of which nobody knew that it binds its thinking is sent none that is unbound.
func TestUnboundThinkingIsTakenOutAndSentAgain(t *testing.T) {
	limits := new(token.Limits)
	learnt(limits, "claude-sonnet-4-5", 200_000, 3000)
	u := before(t, limits, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w,
				"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.\"}}")
			return
		}
		message(w, "end_turn", 2000, 10)
	})
	res, answer := u.send("/v1/messages", history("claude-sonnet-4-5", 20, "go on", `,"max_tokens":1000`))
	if res.StatusCode != 200 || len(u.got) != 2 || !strings.Contains(u.got[0], "signature") ||
		strings.Contains(u.got[1], "signature") {
		t.Fatalf("%s: %s\n%q", res.Status, answer, u.got)
	}
	if p := strict.Anthropic([]byte(u.got[1])); len(p) > 0 {
		t.Error(p)
	}
	u.settle(1)
}

// Who counts is told of what is sent, and leaves nothing.
func TestCountsAreThoseOfTheView(t *testing.T) {
	limits := new(token.Limits)
	learnt(limits, "claude-sonnet-4-5", 200_000, 3000)
	u := before(t, limits, func(n int, w http.ResponseWriter) { message(w, "end_turn", 2000, 10) })
	const count = "/v1/messages/count_tokens"
	body := history("claude-sonnet-4-5", 20, "go on", "")
	if u.send(count, body); u.got[0] != string(body) {
		t.Errorf("unknown, and changed: %s", u.got[0])
	}
	u.send("/v1/messages", history("claude-sonnet-4-5", 20, "go on", `,"max_tokens":1000`), "X-Oriel-Conversation", "c")
	u.settle(1)
	sent := u.got[1]
	u.send(count, body)
	u.send(count, body, "X-Oriel-Profile", "off")
	if u.got[3] != string(body) {
		t.Error("changed although the profile is off")
	}
	if got, want := tail(u.got[2]), tail(sent); got != want || len(sent) >= len(body) {
		t.Errorf("counted %s\nsent %s", got, want)
	}
	if n := u.engine.Counters().Calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// Gemini's request for a count may hold the call as a member.
func TestACallInARequestForACountIsThatOfTheView(t *testing.T) {
	u := before(t, new(token.Limits), func(n int, w http.ResponseWriter) {
		io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`)
	})
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"role":"user","parts":[{"text":"question %d: %s"}]}`, i, strings.Repeat("why? ", 200)),
			fmt.Sprintf(`{"role":"model","parts":[{"text":"answer %d"}]}`, i))
	}
	list = append(list, `{"role":"user","parts":[{"text":"go on"}]}`)
	contents := `"contents":[` + strings.Join(list, ",") + `]`
	const model = "/v1beta/models/gemini-2.5-pro:"
	budget := []string{"X-Oriel-Budget", "3000"}
	u.send(model+"generateContent", []byte("{"+contents+"}"), append(budget, "X-Oriel-Conversation", "c")...)
	u.settle(1)
	_, sent, _ := strings.Cut(u.got[len(u.got)-1], `"contents":`)
	for _, name := range []string{"generateContentRequest", "generate_content_request"} {
		u.send(model+"countTokens", []byte(`{"`+name+`": {"model":"models/gemini-2.5-pro",`+contents+"} }"), budget...)
		if got, want := u.got[len(u.got)-1], `{"`+name+`": {"model":"models/gemini-2.5-pro","contents":`+sent+" }"; got != want ||
			len(sent) >= len(contents) {
			t.Errorf("%s: counted %s\nsent %s", name, got, want)
		}
	}
}

// tail is a body from its messages on.
func tail(body string) string {
	_, after, _ := strings.Cut(body, `"messages":`)
	return after
}

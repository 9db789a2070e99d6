package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// startUpstream runs a model that answers at once, or event by event with a
// pause.
func startUpstream(pause, idle time.Duration) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{IdleTimeout: idle, ReadHeaderTimeout: idle,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, pause) })}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}

func answer(w http.ResponseWriter, r *http.Request, pause time.Duration) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := answerTo(body)
	anthropic := strings.HasSuffix(r.URL.Path, "/messages")
	if text == "" || !anthropic && !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	// SDKs and proxies differ in white space.
	head := body[:min(len(body), 2000)]
	tail := body[max(0, len(body)-2000):]
	stream := false
	for _, b := range [][]byte{head, tail} {
		stream = stream || bytes.Contains(b, []byte(`"stream":true`)) || bytes.Contains(b, []byte(`"stream": true`))
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		if anthropic {
			fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1000,"output_tokens":200}}`, quote(text))
		} else {
			fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":%s,"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":200,"total_tokens":1200}}`, quote(text))
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		fmt.Fprintf(w, format+"\n\n", args...)
		return rc.Flush() == nil
	}
	const chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]}`
	if anthropic {
		send("event: message_start\ndata: " +
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1000,"output_tokens":1}}}`)
		send("event: content_block_start\ndata: " +
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	} else {
		send(chunk, `{"role":"assistant","content":"","refusal":null}`, "null")
	}
	for _, piece := range pieces(text, 20) {
		sent := false
		if anthropic {
			sent = send("event: content_block_delta\ndata: "+
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quote(piece))
		} else {
			sent = send(chunk, append(append([]byte(`{"content":`), quote(piece)...), '}'), "null")
		}
		if !sent {
			return
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
	if anthropic {
		send("event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}`)
		send("event: message_delta\ndata: " +
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":200}}`)
		send("event: message_stop\ndata: " + `{"type":"message_stop"}`)
	} else {
		send(chunk, "{}", `"stop"`)
		send("data: [DONE]")
	}
}

// pieces splits a text into n pieces of about the same length.
func pieces(s string, n int) []string {
	r := []rune(s)
	var out []string
	for i := range n {
		if from, to := i*len(r)/n, (i+1)*len(r)/n; from < to {
			out = append(out, string(r[from:to]))
		}
	}
	return out
}

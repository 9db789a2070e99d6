package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client sends calls over one connection.
type client struct {
	http   http.Client
	base   string
	prefix map[bool]string // path before /v1, for Anthropic's API and for OpenAI's
	bypass bool
}

func newClient(base string) *client {
	return &client{base: base,
		http: http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000}}}
}

// times are the times of one call since it was sent.
type times struct{ first, all time.Duration }

// call sends a body and fails unless the answer is the expected one.
func (c *client) call(ctx context.Context, anthropic bool, body []byte, want string) (t times, err error) {
	path := "/v1/chat/completions"
	if anthropic {
		path = "/v1/messages"
	}
	r, err := http.NewRequestWithContext(ctx, "POST", c.base+c.prefix[anthropic]+path, bytes.NewReader(body))
	if err != nil {
		return t, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-bench")
	if anthropic {
		r.Header.Set("X-Api-Key", "sk-bench")
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if c.bypass {
		r.Header.Set("X-Oriel-Bypass", "1")
	}
	began := time.Now()
	res, err := c.http.Do(r)
	if err != nil {
		return t, err
	}
	defer res.Body.Close()
	answer := make([]byte, 4096)
	n, err := res.Body.Read(answer)
	t.first = time.Since(began)
	answer = answer[:n]
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(res.Body)
		answer = append(answer, rest...)
	}
	t.all = time.Since(began)
	if err != nil && err != io.EOF {
		return t, err
	}
	if res.StatusCode != 200 {
		return t, fmt.Errorf("status %d: %.300s", res.StatusCode, answer)
	}
	return t, judge(answer, want)
}

// judge parses an answer, whole or streamed, and checks that it is the right
// one and complete.
func judge(answer []byte, want string) error {
	var text strings.Builder
	ended := false
	add := func(data []byte) error {
		var m struct {
			Type    string
			Content []struct{ Text string }
			Delta   struct{ Text string }
			Choices []struct{ Message, Delta struct{ Content string } }
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("%w in the answer %.200s", err, data)
		}
		ended = ended || m.Type == "message_stop"
		for _, c := range m.Content {
			text.WriteString(c.Text)
		}
		text.WriteString(m.Delta.Text)
		for _, c := range m.Choices {
			text.WriteString(c.Message.Content + c.Delta.Content)
		}
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
		ended = true
		if err := add(answer); err != nil {
			return err
		}
	} else {
		lines := bufio.NewScanner(bytes.NewReader(answer))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
			if !ok {
				continue
			}
			if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
				ended = true
			} else if err := add(data); err != nil {
				return err
			}
		}
	}
	if !strings.HasPrefix(text.String(), want) {
		return fmt.Errorf("the answer is not that to %s: %.100s", want, answer)
	}
	if !ended {
		return errors.New("the answer has no end")
	}
	return nil
}

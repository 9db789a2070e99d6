package figures

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// agent is a scripted client. Its fields are its state, so that another process goes on.
type agent struct {
	Base, Model   string // the proxy; the model itself, which is shown each body
	Session, Name string
	Format        wire.Format
	Stream        bool
	Budget        int
	// Rewrites clears all results but the newest three before each call, as clients do that
	// manage their window.
	Rewrites bool
	List     []json.RawMessage
	Results  int
}

func itoa(n int) string { return strconv.Itoa(n) }

// work asks for something and gives the model n results.
func (a *agent) work(words string, n int) error {
	if err := a.call(words); err != nil {
		return err
	}
	for range n {
		if err := a.call(""); err != nil {
			return err
		}
	}
	return nil
}

// ask ends the work with a question.
func (a *agent) ask(words string) error { return a.call(words) }

// call makes a call with words of a person, or with the result that the model has asked for.
func (a *agent) call(words string) error {
	var last struct {
		CallID    string                `json:"call_id"`
		ToolCalls []struct{ ID string } `json:"tool_calls"`
		Content   json.RawMessage
	}
	var parts []struct{ Type, ID string }
	if n := len(a.List); n > 0 {
		if err := json.Unmarshal(a.List[n-1], &last); err != nil {
			return err
		}
		_ = json.Unmarshal(last.Content, &parts) // a text has none
	}
	result := a.result()
	add := func(format string, args ...any) {
		a.List = append(a.List, json.RawMessage(fmt.Sprintf(format, args...)))
	}
	switch {
	case last.CallID != "":
		add(`{"type":"function_call_output","call_id":%q,"output":%q}`, last.CallID, result)
	case len(last.ToolCalls) > 0:
		add(`{"role":"tool","tool_call_id":%q,"content":%q}`, last.ToolCalls[0].ID, result)
	case len(parts) > 0 && parts[len(parts)-1].Type == "tool_use":
		text := ""
		if words != "" {
			text = fmt.Sprintf(`,{"type":"text","text":%q}`, words)
		}
		add(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}%s]}`,
			parts[len(parts)-1].ID, result, text)
		words = ""
	}
	if words != "" {
		add(`{"role":"user","content":%q}`, words)
	}
	a.clear()
	return a.send()
}

// result returns the next result, with a fact that a question asks for.
func (a *agent) result() string {
	a.Results++
	n := a.Results
	line := fmt.Sprintf("Line %d of the log of service %d says that all is well there.\n", n*7, n)
	return fmt.Sprintf("Service %d listens on port %d.\n", n, 6540+n) + strings.Repeat(line, 40)
}

// clear clears older results.
func (a *agent) clear() {
	kept := 3
	for i := len(a.List) - 1; i >= 0 && a.Rewrites; i-- {
		if !bytes.Contains(a.List[i], []byte(`"role":"tool"`)) {
			continue
		}
		if kept--; kept >= 0 {
			continue
		}
		var m map[string]any
		if json.Unmarshal(a.List[i], &m) == nil {
			a.List[i] = json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"[cleared]"}`,
				m["tool_call_id"]))
		}
	}
}

func (a *agent) body() (path string, body []byte, err error) {
	list, err := json.Marshal(a.List)
	if err != nil {
		return "", nil, err
	}
	system := fmt.Sprintf("You are a careful agent that reads services. Session %s. ", a.Session) +
		strings.Repeat("Read each service once and take notes of what you read there. ", 20)
	const schema = `{"type":"object","properties":{"path":{"type":"string"}}}`
	switch a.Format {
	case wire.Anthropic:
		return "/v1/messages", fmt.Appendf(nil, `{"model":%q,"max_tokens":1000,"system":%q,`+
			`"tools":[{"name":"read","description":"Read.","input_schema":%s}],"messages":%s}`, a.Name, system, schema,
			list), nil
	case wire.Responses:
		return "/v1/responses", fmt.Appendf(nil, `{"model":%q,"store":false,"instructions":%q,`+
				`"tools":[{"type":"function","name":"read","parameters":%s}],"input":%s}`, a.Name, system, schema,
				list),
			nil
	}
	return "/v1/chat/completions", fmt.Appendf(nil,
		`{"model":%q,"stream":%t,"tools":[{"type":"function","function":{"name":"read","parameters":%s}}],`+
			`"messages":[{"role":"system","content":%q},%s}`, a.Name, a.Stream, schema, system, list[1:]), nil
}

// send makes the call and adds the reply.
func (a *agent) send() error {
	path, body, err := a.body()
	if err != nil {
		return err
	}
	if _, err := a.post(a.Model+"/came"+path, body); err != nil {
		return err
	}
	data, err := a.post(a.Base+path, body)
	if err != nil {
		return err
	}
	var reply *wire.Reply
	if a.Stream {
		s := wire.NewStreamReader(a.Format)
		s.Write(data)
		reply = s.Reply()
	} else if reply, err = wire.ReadReply(a.Format, data); err != nil {
		return err
	}
	if reply.Message != nil {
		a.List = append(a.List, reply.Message)
	}
	for _, item := range reply.Items {
		a.List = append(a.List, item)
	}
	return nil
}

func (a *agent) post(url string, body []byte) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Oriel-Conversation", a.Session)
	if a.Budget > 0 {
		r.Header.Set("X-Oriel-Budget", itoa(a.Budget))
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var data []byte
	if lines := bufio.NewReader(res.Body); a.Stream &&
		strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		for err == nil && !bytes.HasSuffix(data, []byte("[DONE]\n")) { // as OpenAI's packages do
			var line []byte
			line, err = lines.ReadBytes('\n')
			data = append(data, line...)
		}
	} else {
		data, err = io.ReadAll(lines)
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, res.Status, data)
	}
	return data, err
}

package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// chatMessage is a Chat Completions message, as far as it matters here.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID json.RawMessage `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       json.RawMessage `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// TauBench reads a file of tau-bench: a list of runs, each with a trajectory of
// Chat Completions messages. Every assistant message is a call.
func TauBench(name string, r io.Reader) ([]*Session, error) {
	var runs []struct {
		Traj []json.RawMessage `json:"traj"`
	}
	if err := json.NewDecoder(r).Decode(&runs); err != nil {
		return nil, fmt.Errorf("read runs %s: %w", name, err)
	}
	var sessions []*Session
	for i, run := range runs {
		s := &Session{Name: fmt.Sprintf("%s#%d", name, i), Format: Chat}
		for j, raw := range run.Traj {
			var m chatMessage
			if err := json.Unmarshal(raw, &m); err != nil {
				return nil, fmt.Errorf("read run %s: message %d: %w", s.Name, j, err)
			}
			for _, c := range m.ToolCalls {
				if !slices.Contains(s.Tools, c.Function.Name) {
					s.Tools = append(s.Tools, c.Function.Name)
				}
			}
			if m.Role == "assistant" {
				s.steps = append(s.steps, step{kind: calls, raw: raw})
			}
			s.steps = append(s.steps, step{kind: says, raw: raw})
		}
		if len(s.steps) > 0 {
			sessions = append(sessions, s)
		}
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("read runs %s: %w", name, errNoSession)
	}
	return sessions, nil
}

// AsResponses turns a Chat session into one of Responses bodies: messages, calls
// and outputs become items, one behind the other. An id that is used again in a
// later batch, which Chat Completions allows and Responses does not, is made new
// by a number at its end.
func (s *Session) AsResponses() (*Session, error) {
	if s.Format != Chat {
		return nil, fmt.Errorf("turn session %s into responses: it is of format %s", s.Name, s.Format)
	}
	out := &Session{Name: s.Name, Format: Responses, Tools: s.Tools}
	ids := wireIDs{times: make(map[string]int)}
	for i, st := range s.steps {
		if st.kind != says && st.kind != calls {
			return nil, fmt.Errorf("turn session %s into responses: step %d is no message", s.Name, i)
		}
		// A reply stands in the steps twice: with its call, and right after it as
		// a message. Its ids are counted with the call.
		items, err := ids.items(st.raw, st.kind == calls)
		if err != nil {
			return nil, fmt.Errorf("turn session %s into responses: step %d: %w", s.Name, i, err)
		}
		if st.kind == calls {
			st.raw = nil
			for j, it := range items {
				if j > 0 {
					st.raw = append(st.raw, ',')
				}
				st.raw = append(st.raw, it...)
			}
			out.steps = append(out.steps, st)
			continue
		}
		for _, it := range items {
			out.steps = append(out.steps, step{kind: says, raw: it})
		}
	}
	return out, nil
}

// wireIDs gives ids that come again a number.
type wireIDs struct{ times map[string]int }

// items writes the items of one chat message.
func (w wireIDs) items(raw []byte, count bool) ([][]byte, error) {
	var m chatMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	needed := []json.RawMessage{m.Content}
	switch m.Role {
	case "tool":
		needed = append(needed, m.ToolCallID)
	case "assistant":
		needed = nil // the content of an assistant message may be absent
	}
	for _, c := range m.ToolCalls {
		needed = append(needed, c.ID, c.Function.Arguments)
	}
	if slices.ContainsFunc(needed, func(raw json.RawMessage) bool { return len(raw) == 0 }) {
		return nil, errors.New("a field is missing")
	}

	var items [][]byte
	switch m.Role {
	case "tool":
		return [][]byte{slices.Concat([]byte(`{"type":"function_call_output","call_id":`), w.id(m.ToolCallID),
			[]byte(`,"output":`), m.Content, []byte(`}`))}, nil
	case "assistant":
		if isString(m.Content) {
			items = append(items, concat(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`, m.Content, `}]}`))
		}
	default:
		items = append(items, concat(`{"type":"message","role":`+string(quote(m.Role))+`,"content":`, m.Content, `}`))
	}
	for _, c := range m.ToolCalls {
		if count {
			w.times[string(c.ID)]++
		}
		items = append(items, slices.Concat([]byte(`{"type":"function_call","call_id":`), w.id(c.ID), []byte(`,"name":`), quote(c.Function.Name),
			[]byte(`,"arguments":`), c.Function.Arguments, []byte(`}`)))
	}
	return items, nil
}

// id gives the wire form of an id, a JSON string, by how often it was used.
func (w wireIDs) id(raw json.RawMessage) json.RawMessage {
	n := w.times[string(raw)]
	if n < 2 || !isString(raw) {
		return raw
	}
	return fmt.Appendf(nil, "%s_%d\"", raw[:len(raw)-1], n)
}

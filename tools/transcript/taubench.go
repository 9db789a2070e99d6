package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// chatMessage is a Chat Completions message, as far as it matters here.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	Reasoning  string          `json:"reasoning_content,omitempty"`
	ToolCallID json.RawMessage `json:"tool_call_id,omitempty"`
	ToolCalls  []chatCall      `json:"tool_calls,omitempty"`
}

type chatCall struct {
	ID       json.RawMessage `json:"id"`
	Type     string          `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
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

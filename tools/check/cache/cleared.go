package cache

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"time"
)

// clearing is a line of a recording that says which results of tools the agent has cleared in its
// history. The recording keeps them whole.
type clearing struct {
	at  time.Time
	ids []string
}

// clearings returns those of a file, in order.
func clearings(path string) (all []clearing, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l struct {
			Subtype   string
			Timestamp time.Time
			Metadata  struct {
				IDs []string `json:"compactedToolIds"`
			} `json:"microcompactMetadata"`
		}
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Subtype == "microcompact_boundary" {
			all = append(all, clearing{l.Timestamp, l.Metadata.IDs})
		}
	}
	return all, lines.Err()
}

// clearedText is what the agent puts in the place of a result.
const clearedText = `"[Old tool result content cleared]"`

// without returns a message without the content of some results.
func without(raw []byte, ids []string) []byte {
	var m struct {
		Role    string                       `json:"role"`
		Content []map[string]json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	changed := false
	for _, part := range m.Content {
		var id string
		if json.Unmarshal(part["tool_use_id"], &id) == nil && slices.Contains(ids, id) {
			part["content"], changed = json.RawMessage(clearedText), true
		}
	}
	if !changed {
		return raw
	}
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}

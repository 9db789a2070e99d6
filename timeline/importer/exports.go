package importer

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// What is visited for the branches of one conversation of a ChatGPT export. The branches
// beyond are left out: each repeats its path from the root.
const (
	maxBranchNodes = 100_000
	maxBranchBytes = 1 << 30
)

// readChatGPT reads conversations.json of a ChatGPT export. A conversation is a tree:
// replies that were made again and prompts that were edited become branches, and its head
// is the reply that was shown last.
func readChatGPT(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		mapping := d.root.Get("mapping")
		if mapping.Kind() != rawjson.Object {
			return brokenLine("mapping: want an object, got " + what(mapping))
		}
		name := firstName(s.label, d.root.Get("conversation_id"), d.root.Get("id"))
		began := seconds(d.root.Get("create_time"), s.modified)
		paths, left := chatGPTPaths(mapping, d.root.Get("current_node").Str())
		if left > 0 {
			to.broken(0, strconv.Itoa(left)+" branches of "+strconv.Quote(name)+": together too long to follow")
		}
		for _, path := range paths {
			if err := to.begin(ctx, name, ""); err != nil {
				return err
			}
			to.title(name, d.root.Get("title").Str())
			when := began
			for _, message := range path {
				when = seconds(message.Get("create_time"), when)
				m := timeline.Message{Raw: d.raw(message), Format: timeline.FormatChatGPT, Role: message.Get("author").Get("role").Str(), Time: when}
				if id := message.Get("id").Str(); fits(id, timeline.MaxRef) {
					m.Ref = id
				}
				if message.Get("metadata").Get("is_visually_hidden_from_conversation").Bool() {
					m.Role = timeline.RoleMeta
				}
				if err := to.take(ctx, name, asMessage(m)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// chatGPTPaths returns the paths from the root of a tree of messages to its leaves, the
// one to the current node last, and how many are left out because all together are too
// long. A path ends where it meets itself.
func chatGPTPaths(mapping rawjson.Value, current string) (paths [][]rawjson.Value, left int) {
	nodes, parents := map[string]rawjson.Value{}, map[string]bool{}
	for key, node := range mapping.Members() {
		nodes[key.Str()] = node
		if parent := node.Get("parent"); parent.Kind() == rawjson.String {
			parents[parent.Str()] = true
		}
	}
	var leaves []string
	for key := range mapping.Members() {
		if _, ok := nodes[current]; !ok {
			current = key.Str() // any will do
		}
		if id := key.Str(); !parents[id] && id != current {
			leaves = append(leaves, id)
		}
	}
	if _, ok := nodes[current]; ok {
		leaves = append(leaves, current)
	}
	visited, bytes := 0, 0
	for i := len(leaves) - 1; i >= 0; i-- { // the current one first, whatever its length
		if visited > maxBranchNodes || bytes > maxBranchBytes {
			left = i + 1
			break
		}
		var path []rawjson.Value
		met := map[string]bool{}
		for at := leaves[i]; !met[at]; {
			node, ok := nodes[at]
			if !ok {
				break
			}
			met[at] = true
			if message := node.Get("message"); message.Kind() == rawjson.Object {
				path = append(path, message)
				bytes += len(message.Raw())
			}
			if node.Get("parent").Kind() != rawjson.String {
				break
			}
			at = node.Get("parent").Str()
		}
		visited += len(met)
		slices.Reverse(path)
		paths = append(paths, path)
	}
	slices.Reverse(paths)
	return paths, left
}

// readClaudeAI reads conversations.json of a Claude export.
func readClaudeAI(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		name := firstName(s.label, d.root.Get("uuid"))
		if err := to.begin(ctx, name, ""); err != nil {
			return err
		}
		to.title(name, d.root.Get("name").Str())
		when := rfc3339(d.root.Get("created_at"), s.modified)
		for message := range d.root.Get("chat_messages").Elems() {
			when = rfc3339(message.Get("created_at"), when)
			m := timeline.Message{Raw: d.raw(message), Format: timeline.FormatClaudeAI, Role: message.Get("sender").Str(), Time: when}
			if m.Role == "human" {
				m.Role = "user"
			}
			if id := message.Get("uuid").Str(); fits(id, timeline.MaxRef) {
				m.Ref = id
			}
			if err := to.take(ctx, name, asMessage(m)); err != nil {
				return err
			}
		}
		return nil
	})
}

// firstName returns the first of the values that can name a conversation, or otherwise
// label.
func firstName(label string, values ...rawjson.Value) string {
	for _, v := range values {
		if name := strings.TrimSpace(v.Str()); name != "" && fits(name, timeline.MaxName) {
			return name
		}
	}
	return label
}

// seconds returns the time of a number of seconds since 1970, or otherwise last.
func seconds(v rawjson.Value, last time.Time) time.Time {
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	if v.Kind() != rawjson.Number || err != nil || n <= 0 || n > latest {
		return last
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// millis returns the time of a number of milliseconds since 1970, or otherwise last.
func millis(v rawjson.Value, last time.Time) time.Time {
	n, ok := v.Int()
	if !ok || n <= 0 || n > latest*1000 {
		return last
	}
	return time.UnixMilli(n).UTC()
}

// latest is the last second that is taken for a time, in the year 2514.
const latest = 1 << 34

// rfc3339 returns the time of a string, or otherwise last.
func rfc3339(v rawjson.Value, last time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, v.Str()); err == nil {
		return t
	}
	return last
}

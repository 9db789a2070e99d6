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
		t := &messageTree{nodes: map[string]treeNode{}}
		for key, node := range mapping.Members() {
			t.add(key.Str(), node.Get("parent").Str(), node.Get("message"))
		}
		e := exported{d: d, tree: t, format: timeline.FormatChatGPT, title: d.root.Get("title").Str()}
		e.name = firstName(s.label, d.root.Get("conversation_id"), d.root.Get("id"))
		e.current = d.root.Get("current_node").Str()
		e.began = seconds(d.root.Get("create_time"), s.modified)
		e.time = func(m rawjson.Value, last time.Time) time.Time { return seconds(m.Get("create_time"), last) }
		e.about = func(m rawjson.Value) (id, role string) {
			if m.Get("metadata").Get("is_visually_hidden_from_conversation").Bool() {
				return m.Get("id").Str(), timeline.RoleMeta
			}
			return m.Get("id").Str(), m.Get("author").Get("role").Str()
		}
		return e.read(ctx, to)
	})
}

// readClaudeAI reads conversations.json of a Claude export. Its messages are a list. Today
// each names the one that it follows, so that they are a tree, too.
func readClaudeAI(ctx context.Context, s *source, r io.Reader, to taker) error {
	return eachElement(ctx, s, r, to, func(_ int, d document) error {
		t := &messageTree{nodes: map[string]treeNode{}}
		for m := range d.root.Get("chat_messages").Elems() {
			t.add(m.Get("uuid").Str(), m.Get("parent_message_uuid").Str(), m)
		}
		t.followBefore()
		e := exported{d: d, tree: t, format: timeline.FormatClaudeAI, title: d.root.Get("name").Str()}
		e.name = firstName(s.label, d.root.Get("uuid"))
		e.current = d.root.Get("current_leaf_message_uuid").Str()
		e.began = rfc3339(d.root.Get("created_at"), s.modified)
		e.time = func(m rawjson.Value, last time.Time) time.Time { return rfc3339(m.Get("created_at"), last) }
		e.about = func(m rawjson.Value) (id, role string) {
			if role = m.Get("sender").Str(); role == "human" {
				role = "user"
			}
			return m.Get("uuid").Str(), role
		}
		return e.read(ctx, to)
	})
}

// exported is a conversation of an export.
type exported struct {
	d                            document
	tree                         *messageTree
	format, name, title, current string
	began                        time.Time
	// time returns the time of a message, or otherwise that of the last one; about returns
	// its id and role.
	time  func(message rawjson.Value, last time.Time) time.Time
	about func(message rawjson.Value) (id, role string)
}

// read passes on the paths of the conversation, each from its beginning.
func (e *exported) read(ctx context.Context, to taker) error {
	paths, left := e.tree.paths(e.current)
	if left > 0 {
		to.broken(0, strconv.Itoa(left)+" branches of "+strconv.Quote(e.name)+": together too long to follow")
	}
	for _, path := range paths {
		if err := to.begin(ctx, e.name, ""); err != nil {
			return err
		}
		when := e.began
		for _, message := range path {
			when = e.time(message, when)
			m := timeline.Message{Raw: e.d.raw(message), Format: e.format, Time: when}
			var id string
			if id, m.Role = e.about(message); fits(id, timeline.MaxRef) {
				m.Ref = id
			}
			if err := to.take(ctx, e.name, asMessage(m)); err != nil {
				return err
			}
		}
	}
	to.title(e.name, e.title)
	return nil
}

// messageTree is the messages of a conversation, each of which may have several that follow
// it.
type messageTree struct {
	ids   []string // in the order of the file
	nodes map[string]treeNode
}

type treeNode struct {
	parent  string // "" for none
	message rawjson.Value
}

func (t *messageTree) has(id string) bool {
	_, ok := t.nodes[id]
	return ok
}

// add adds a message. One whose id is missing, or is that of another, gets an id that no
// JSON text can have.
func (t *messageTree) add(id, parent string, message rawjson.Value) {
	if id == "" || t.has(id) {
		id = "\xff" + strconv.Itoa(len(t.ids))
	}
	t.ids = append(t.ids, id)
	t.nodes[id] = treeNode{parent, message}
}

// followBefore lets messages whose parents are not there follow the message before them in
// the file. What the first message names as its parent is the root, for others, too.
func (t *messageTree) followBefore() {
	root, before := "", ""
	for i, id := range t.ids {
		n := t.nodes[id]
		if i == 0 {
			root = n.parent
		}
		if n.parent == id || !t.has(n.parent) {
			if n.parent == root && root != "" {
				n.parent = ""
			} else {
				n.parent = before
			}
			t.nodes[id] = n
		}
		before = id
	}
}

// cutCycles makes a root of one message of each cycle. The path to the current node keeps
// all of its messages.
func (t *messageTree) cutCycles(current string) {
	visits := map[string]int{} // the number of the walk that met a message
	for n, start := range append([]string{current}, t.ids...) {
		for at := start; t.has(at) && visits[at] == 0; at = t.nodes[at].parent {
			visits[at] = n + 1
			if node := t.nodes[at]; visits[node.parent] == n+1 {
				t.nodes[at] = treeNode{"", node.message}
			}
		}
	}
}

// paths returns the paths from the root to the leaves, the one to the current node last, and
// how many are left out because all together are too long.
func (t *messageTree) paths(current string) (paths [][]rawjson.Value, left int) {
	t.cutCycles(current)
	parents := map[string]bool{}
	for _, n := range t.nodes {
		parents[n.parent] = true
	}
	if !t.has(current) {
		current = t.newest(parents)
	}
	var leaves []string
	for _, id := range t.ids {
		if !parents[id] && id != current {
			leaves = append(leaves, id)
		}
	}
	if t.has(current) {
		leaves = append(leaves, current)
	}
	visited, bytes := 0, 0
	for i := len(leaves) - 1; i >= 0; i-- { // the current one first, whatever its length
		if visited > maxBranchNodes || bytes > maxBranchBytes {
			left = i + 1
			break
		}
		var path []rawjson.Value
		for at := leaves[i]; t.has(at); at = t.nodes[at].parent {
			visited++
			node := t.nodes[at]
			if node.message.Kind() == rawjson.Object {
				path = append(path, node.message)
				bytes += len(node.message.Raw())
			}
		}
		slices.Reverse(path)
		paths = append(paths, path)
	}
	slices.Reverse(paths)
	return paths, left
}

// newest returns the last leaf in the file, or "" if there are no messages.
func (t *messageTree) newest(parents map[string]bool) string {
	for _, id := range slices.Backward(t.ids) {
		if !parents[id] {
			return id
		}
	}
	return ""
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

package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/importer/claudecode"
)

// block is one content block; raw is how the recording has it.
type block struct {
	kind string
	raw  []byte
	said bool   // something other than white space and thinking
	tool string // the name of the tool it calls
}

// reply is the model's reply to one call. A recording splits it into pieces, one per
// line, and results of its first calls may come between them.
type reply struct {
	call   Request
	blocks []block
	// made is false for text that the agent wrote in the model's name.
	made bool
}

// ClaudeCode reads a Claude Code session: JSON lines, one event each. It omits lines of
// sub-agents, of summaries and of the agent's own bookkeeping, but not lines that are
// hidden from the person and sent to the model (isMeta). A compact_boundary begins a new
// history, whose first message is the summary. Results that the agent itself cleared
// later (microcompact) stay whole.
func ClaudeCode(name string, r io.Reader) (*Session, error) {
	c := &claudeCode{
		session: &Session{Name: name, Format: Anthropic},
		replies: make(map[string]*reply),
		at:      make(map[string]state),
	}
	lines, err := c.read(r)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", name, err)
	}
	for i := range lines {
		c.take(&lines[i])
	}
	c.closeTurn()
	if len(c.session.steps) == 0 {
		return nil, fmt.Errorf("read session %s: %w", name, errNoSession)
	}
	return c.session, nil
}

var errNoSession = errors.New("no messages in it")

type claudeCode struct {
	session *Session
	replies map[string]*reply // by message id, whole
	told    [][]byte          // the messages of the current history
	turn    userTurn          // the user turn that is still open
	last    string            // uuid of the newest line
	at      map[string]state  // after each line of the current history
}

// userTurn gathers user lines until the model replies.
type userTurn struct {
	results, others [][]byte
	text            []byte // the content, if it is one string
}

// state is where the history stood after a line.
type state struct {
	told  [][]byte
	turn  userTurn
	place int // how many steps there were
}

// read parses the lines and puts the pieces of replies together.
func (c *claudeCode) read(r io.Reader) ([]claudecode.Line, error) {
	var lines []claudecode.Line
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		text, readErr := in.ReadBytes('\n')
		if readErr != nil && readErr != io.EOF {
			return nil, readErr
		}
		if len(bytes.TrimSpace(text)) > 0 {
			l, err := claudecode.Parse(text)
			if err != nil {
				// The last line may still be in the process of being written.
				if readErr == io.EOF && len(lines) > 0 {
					return lines, nil
				}
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if keep, err := c.piece(&l); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			} else if keep {
				lines = append(lines, l)
			}
		}
		if readErr == io.EOF {
			return lines, nil
		}
	}
}

// piece adds a line to its reply; keep is false for lines outside the conversation, and
// for every piece but the first.
func (c *claudeCode) piece(l *claudecode.Line) (keep bool, err error) {
	if l.Compacts() {
		return !l.Sidechain, nil
	}
	if !l.Said(false) || l.Type == claudecode.User {
		return l.Said(false), nil
	}
	blocks, err := splitBlocks(l.Message.Content)
	if err != nil {
		return false, err
	}
	known, ok := c.replies[l.Message.ID]
	if !ok {
		known = &reply{made: l.Message.Model != claudecode.Synthetic}
		known.call.ID, known.call.Model = l.Message.ID, l.Message.Model
		known.call.At = l.Time
		c.replies[l.Message.ID] = known
	}
	known.blocks = append(known.blocks, blocks...)
	for _, b := range blocks {
		if b.tool != "" && !slices.Contains(c.session.Tools, b.tool) {
			c.session.Tools = append(c.session.Tools, b.tool)
		}
	}
	// Only the last piece has the complete output count.
	u := l.Message.Usage
	known.call.Usage = Usage{u.Input, u.CacheRead, u.CacheWrite + u.CacheWrite1h,
		max(u.Output, known.call.Usage.Output)}
	return !ok, nil
}

// take adds one line to the history.
func (c *claudeCode) take(l *claudecode.Line) {
	switch l.Type {
	case claudecode.System:
		c.turn, c.told = userTurn{}, nil
		clear(c.at)
		c.add(step{kind: resets})
	case claudecode.User:
		c.rewind(l)
		c.user(l)
	case claudecode.Assistant:
		c.reply(c.replies[l.Message.ID])
	}
	c.last = l.UUID
	if l.UUID != "" {
		c.at[l.UUID] = state{slices.Clip(c.told), c.turn.clip(), len(c.session.steps)}
	}
}

func (c *claudeCode) add(s step) { c.session.steps = append(c.session.steps, s) }

// rewind returns to an earlier history if the person went back: the new prompt then
// refers to an older line than the newest. Results of parallel calls refer to older lines
// too, but rewind nothing.
func (c *claudeCode) rewind(l *claudecode.Line) {
	back, ok := c.at[l.Parent]
	if !ok || l.Parent == c.last || back.place == len(c.session.steps) {
		return
	}
	if blocks, err := splitBlocks(l.Message.Content); err != nil || len(blocks) > 0 && blocks[0].kind == "tool_result" {
		return
	}
	c.add(step{kind: rewinds, told: back.told})
	c.told, c.turn = back.told, back.turn
}

// user adds a user line to the open turn. The agent sends all user lines between
// two replies as one message, results first.
func (c *claudeCode) user(l *claudecode.Line) {
	blocks, err := splitBlocks(l.Message.Content)
	if err != nil || len(blocks) == 0 {
		return
	}
	t := &c.turn
	if len(t.results)+len(t.others) == 0 && len(blocks) == 1 && isString(l.Message.Content) {
		t.text = l.Message.Content
	} else {
		t.text = nil
	}
	for _, b := range blocks {
		if b.kind == "tool_result" {
			t.results = append(t.results, b.raw)
		} else {
			t.others = append(t.others, b.raw)
		}
	}
}

// clip ensures that appending does not overwrite a kept copy.
func (t userTurn) clip() userTurn {
	return userTurn{slices.Clip(t.results), slices.Clip(t.others), t.text}
}

// closeTurn adds the open user turn to the history.
func (c *claudeCode) closeTurn() {
	t := c.turn
	c.turn = userTurn{}
	switch {
	case t.text != nil:
		c.say(concat(`{"role":"user","content":`, t.text, `}`))
	case len(t.results)+len(t.others) > 0:
		c.say(spoken("user", append(slices.Clip(t.results), t.others...)))
	}
}

func (c *claudeCode) say(raw []byte) {
	c.add(step{kind: says, raw: raw})
	c.told = append(c.told, raw)
}

// reply adds a call and its reply. The agent does not resend replies of interrupted calls
// that contain only thinking and white space.
func (c *claudeCode) reply(r *reply) {
	c.closeTurn()
	var raw []byte
	if slices.ContainsFunc(r.blocks, func(b block) bool { return b.said }) {
		var blocks [][]byte
		for _, b := range r.blocks {
			blocks = append(blocks, b.raw)
		}
		raw = spoken("assistant", blocks)
	}
	if r.made {
		c.add(step{kind: calls, raw: raw, call: r.call})
	}
	if raw != nil {
		c.say(raw)
	}
}

// spoken writes a message of blocks.
func spoken(role string, blocks [][]byte) []byte {
	return concat(`{"role":"`+role+`","content":[`, bytes.Join(blocks, []byte{','}), `]}`)
}

func concat(before string, middle []byte, after string) []byte {
	b := make([]byte, 0, len(before)+len(middle)+len(after))
	b = append(append(b, before...), middle...)
	return append(b, after...)
}

func isString(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}

// splitBlocks splits a content into blocks; a string is one text block, or none if it
// is empty.
func splitBlocks(content json.RawMessage) ([]block, error) {
	if isString(content) {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		if text == "" {
			return nil, nil
		}
		raw := concat(`{"type":"text","text":`, content, `}`)
		return []block{{kind: "text", raw: raw, said: strings.TrimSpace(text) != ""}}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	var blocks []block
	for _, raw := range list {
		var b struct {
			Type string `json:"type"`
			Text string `json:"text"`
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, fmt.Errorf("content block: %w", err)
		}
		one := block{kind: b.Type, raw: raw, said: true}
		switch b.Type {
		case "text":
			one.said = strings.TrimSpace(b.Text) != ""
		case "thinking", "redacted_thinking":
			one.said = false
		case "tool_use":
			one.tool = b.Name
		}
		blocks = append(blocks, one)
	}
	return blocks, nil
}

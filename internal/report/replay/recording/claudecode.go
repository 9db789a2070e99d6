package recording

import (
	"slices"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/importer/claudecode"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// ClaudeCode turns the lines of a Claude Code session into the steps of a sink. It omits
// lines of sub-agents, of summaries and of the agent's own bookkeeping, but not lines that
// are hidden from the person and sent to the model (isMeta). A compact_boundary begins a new
// history, whose first message is the summary, and so does a person's line that follows no
// other. Results that the agent itself cleared later (microcompact) stay whole. A line that
// the file repeats counts once in each history.
type ClaudeCode struct {
	sink Sink
	// Sidechain takes the lines of a sub-agent, in its own file.
	Sidechain bool

	now   *node    // the newest message of the history
	turn  userTurn // the user turn that is still open
	open  *reply   // the reply whose pieces may still come
	last  string   // uuid of the newest line
	steps int      // grows with every step
	at    map[string]state
	known map[string]bool // the ids of the replies of the current history
	begun bool
}

// NewClaudeCode returns a ClaudeCode.
func NewClaudeCode(sink Sink) *ClaudeCode {
	return &ClaudeCode{sink: sink, at: map[string]state{}, known: map[string]bool{}}
}

// node is a message with those before it.
type node struct {
	before *node
	raw    []byte
}

// told returns the messages up to a node.
func (n *node) told() (all [][]byte) {
	for ; n != nil; n = n.before {
		all = append(all, n.raw)
	}
	slices.Reverse(all)
	return all
}

// reply is the model's reply to one call. A recording splits it into pieces, one per line,
// and results of its first calls may come between them.
type reply struct {
	call   Call
	blocks []Block
	// made is false for text that the agent wrote in the model's name.
	made bool
	// end is the newest message once the reply is told.
	end *node
}

// userTurn gathers user lines until the model replies.
type userTurn struct {
	results, others [][]byte
	text            []byte // the content, if it is one string
}

// clip ensures that appending does not overwrite a kept copy.
func (t userTurn) clip() userTurn {
	return userTurn{slices.Clip(t.results), slices.Clip(t.others), t.text}
}

// state is where the history stood after a line.
type state struct {
	now   *node
	after *reply // if set, the history is that after this reply, and not now
	turn  userTurn
	steps int
}

func (s state) end() *node {
	if s.after != nil {
		return s.after.end
	}
	return s.now
}

// Line takes the next line. Its bytes belong to c from then on.
func (c *ClaudeCode) Line(l *claudecode.Line) error {
	if l.Compacts() {
		if l.Sidechain != c.Sidechain {
			return nil
		}
		return c.reset(l)
	}
	if !l.Said(c.Sidechain) {
		return nil
	}
	if _, again := c.at[l.UUID]; again && l.UUID != "" {
		return nil
	}
	blocks, err := Blocks(l.Message.Content)
	if err != nil {
		return err
	}
	if l.Type == claudecode.Assistant {
		err = c.piece(l, blocks)
	} else {
		err = c.user(l, blocks)
	}
	c.begun = true
	c.passed(l.UUID)
	return err
}

// passed notes where the history stands after a line.
func (c *ClaudeCode) passed(uuid string) {
	c.last = uuid
	if uuid != "" {
		c.at[uuid] = state{c.now, c.open, c.turn.clip(), c.steps}
	}
}

// reset begins a new history.
func (c *ClaudeCode) reset(l *claudecode.Line) error {
	if err := c.flush(); err != nil {
		return err
	}
	c.turn, c.now, c.begun = userTurn{}, nil, false
	clear(c.at)
	clear(c.known)
	c.steps++
	if err := c.sink.Resets(); err != nil {
		return err
	}
	c.passed(l.UUID)
	return nil
}

// piece adds a line to its reply.
func (c *ClaudeCode) piece(l *claudecode.Line, blocks []Block) error {
	id := l.Message.ID
	if c.open == nil || id == "" || c.open.call.ID != id {
		if c.known[id] {
			return nil // it came too late
		}
		if err := c.flush(); err != nil {
			return err
		}
		if err := c.closeTurn(); err != nil {
			return err
		}
		c.steps++
		c.known[id] = id != ""
		c.open = &reply{made: l.Message.Model != claudecode.Synthetic,
			call: Call{ID: id, Model: l.Message.Model, At: l.Time}}
	}
	c.open.blocks = append(c.open.blocks, blocks...)
	// Only the last piece has the complete output count.
	u, before := l.Message.Usage, c.open.call.Usage.Output
	c.open.call.Reported = u.Known
	c.open.call.Usage = token.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.CacheWrite1h, Output: max(u.Output, before)}
	return nil
}

// flush tells the open reply. The agent does not resend replies of interrupted calls that
// contain only thinking and white space.
func (c *ClaudeCode) flush() error {
	r := c.open
	if r == nil {
		return nil
	}
	c.open = nil
	var raw []byte
	if slices.ContainsFunc(r.blocks, func(b Block) bool { return b.said }) {
		var blocks [][]byte
		for _, b := range r.blocks {
			blocks = append(blocks, b.Raw)
		}
		raw = spoken("assistant", blocks)
	}
	if r.made {
		var told [][]byte
		if raw != nil {
			told = [][]byte{raw}
		}
		if err := c.sink.Calls(r.call, told); err != nil {
			return err
		}
	}
	var err error
	if raw != nil {
		err = c.say(raw)
	}
	r.end, r.blocks = c.now, nil
	return err
}

// user adds a user line to the open turn. The agent sends all user lines between two replies
// as one message, results first.
func (c *ClaudeCode) user(l *claudecode.Line, blocks []Block) error {
	results := len(blocks) > 0 && blocks[0].Kind == "tool_result"
	if l.Parent == "" && l.UUID != "" && c.begun && !results {
		if err := c.reset(l); err != nil {
			return err
		}
	}
	if back, ok := c.at[l.Parent]; ok && l.Parent != c.last && back.steps != c.steps && !results {
		// The person went back. Results of parallel calls refer to older lines, too.
		if err := c.flush(); err != nil {
			return err
		}
		c.now, c.turn = back.end(), back.turn
		c.steps++
		if err := c.sink.Rewinds(c.now.told()); err != nil {
			return err
		}
	}
	t := &c.turn
	switch {
	case len(blocks) == 0:
		return nil
	case len(t.results)+len(t.others) == 0 && len(blocks) == 1 && isString(l.Message.Content):
		t.text = l.Message.Content
	default:
		t.text = nil
	}
	for _, b := range blocks {
		if b.Kind == "tool_result" {
			t.results = append(t.results, b.Raw)
		} else {
			t.others = append(t.others, b.Raw)
		}
	}
	return nil
}

// closeTurn adds the open user turn to the history.
func (c *ClaudeCode) closeTurn() error {
	t := c.turn
	c.turn = userTurn{}
	switch {
	case t.text != nil:
		return c.say(concat(`{"role":"user","content":`, t.text, `}`))
	case len(t.results)+len(t.others) > 0:
		return c.say(spoken("user", append(slices.Clip(t.results), t.others...)))
	}
	return nil
}

func (c *ClaudeCode) say(raw []byte) error {
	c.now = &node{c.now, raw}
	c.steps++
	return c.sink.Says(raw)
}

// End tells what is still open and ends the session.
func (c *ClaudeCode) End() error {
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.closeTurn(); err != nil {
		return err
	}
	return c.sink.Ends()
}

// claudeEntries is the front of an imported session.
type claudeEntries struct {
	*ClaudeCode
	decided bool // whether the file is a sub-agent's
}

func newClaudeCode(_ *Session, sink Sink) front {
	return &claudeEntries{ClaudeCode: NewClaudeCode(sink)}
}

func (c *claudeEntries) begin() error                   { return nil }
func (c *claudeEntries) request(importer.Request) error { return nil }
func (c *claudeEntries) end() error                     { return c.End() }

func (c *claudeEntries) entry(m *timeline.Message) error {
	l, err := claudecode.Parse(m.Raw)
	if err != nil {
		return nil // the import has reported it
	}
	if !c.decided && (l.Type == claudecode.User || l.Type == claudecode.Assistant) {
		c.Sidechain, c.decided = l.Sidechain, true
	}
	if err := c.Line(&l); err != errContent {
		return err
	}
	return nil
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// showFlags holds the flags of show.
type showFlags struct {
	from, to, last int64
	branch         int
	plan, json     bool
}

func showCommand() *cobra.Command {
	var o showFlags
	cmd := &cobra.Command{
		Use:   "show CONVERSATION",
		Short: "Show the messages of a conversation, or its plans",
		Long: `Show the messages of a conversation: id, time, who speaks, tokens (o200k_base), and
how it begins. "*" marks what is pinned. Lines that an agent wrote for itself are
"meta" and have no tokens. Where the conversation has branches the newest 20 are listed
below, and --branch shows one.

--plan shows instead what left the view, when and why, newest last: each plan can
be taken back by oriel undo.`,
		Example: `  oriel show 7f3c2a10-session --last 20
  oriel show 7f3c2a10-session --from 100 --to 120
  oriel show 7f3c2a10-session --plan --json`,
		Args: oneConversation(1, 1, "one conversation"),
	}
	f := cmd.Flags()
	f.BoolVar(&o.plan, "plan", false, "show the plans that took something out of view")
	f.Int64Var(&o.from, "from", 0, "first `id` (default 1)")
	f.Int64Var(&o.to, "to", 0, "last `id` (default: the newest)")
	f.Int64Var(&o.last, "last", 0, "only the newest `n`")
	f.IntVar(&o.branch, "branch", 0, "`number` of the branch (default 0, where the conversation stands)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	data := addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case o.from < 0 || o.to < 0 || o.last < 0:
			return fmt.Errorf("--from, --to and --last are numbers above 0")
		case o.last > 0 && o.from > 0:
			return fmt.Errorf("--last and --from exclude each other")
		}
		if o.plan {
			return data.withConversation(cmd.Context(), args[0], func(c *oriel.Conversation) error {
				plans, err := c.Plans(cmd.Context(), int(o.last))
				if err != nil {
					return err
				}
				return showPlans(cmd, c.ID(), plans, &o)
			})
		}
		return data.with(cmd.Context(), func(s timeline.Store) error {
			c, err := findConversation(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			return showMessages(cmd, s, &c, &o)
		})
	}
	return cmd
}

// shownMessage is the JSON form of a message.
type shownMessage struct {
	ID     int64     `json:"id"`
	Time   time.Time `json:"time"`
	Role   string    `json:"role"`
	Tokens int       `json:"tokens"`
	Pinned bool      `json:"pinned"`
	Format string    `json:"format"`
	Ref    string    `json:"ref,omitempty"`
	// Variants is the number of further forms in which the message arrived.
	Variants int    `json:"variants,omitempty"`
	Text     string `json:"text"`
}

// shownBranch is where a branch ends and how much it shares with the current
// branch.
type shownBranch struct {
	Branch int   `json:"branch"`
	Last   int64 `json:"last"`
	// Shared is the last id that it shares with branch 0.
	Shared int64 `json:"shared"`
}

func showMessages(cmd *cobra.Command, s timeline.Store, c *timeline.Conversation, o *showFlags) error {
	heads, err := s.Heads(cmd.Context(), timeline.Local, c.Name)
	if err != nil {
		return &failure{err}
	}
	head, err := branchHead(heads, o.branch)
	if err != nil {
		return err
	}
	branches, older, err := branchesOf(cmd, s, heads)
	if err != nil {
		return err
	}
	pins, err := pinsOf(cmd, s, c.Name)
	if err != nil {
		return err
	}
	first, last := o.rangeOf(head.Depth)
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	list := newMessageList(out, c, o.json, styleFor(cmd.OutOrStdout()))
	if first <= last {
		counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
		err = s.Messages(cmd.Context(), timeline.Local, head, first, last, false, func(e *timeline.Entry) error {
			m := shownMessage{
				ID: e.Place.Depth, Time: e.Time.UTC(), Role: e.Role, Pinned: pins.places[e.Place] || o.branch == 0 && pins.ids[e.Place.Depth], Format: e.Format, Ref: e.Ref,
				Variants: len(e.Variants), Text: e.Text(),
			}
			if c, err := e.Chat(); err == nil {
				m.Tokens = counter.Message(&c).Tokens
			}
			return list.add(&m)
		})
	}
	if err == nil {
		err = list.end(branches, older)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return &failure{err}
	}
	return nil
}

// rangeOf returns the range of ids to show, of n messages.
func (o *showFlags) rangeOf(n int64) (first, last int64) {
	first, last = max(1, o.from), n
	if o.to > 0 {
		last = min(o.to, n)
	}
	if o.last > 0 {
		first = max(1, last-o.last+1)
	}
	return first, last
}

// maxBranches is how many branches are listed, the newest first.
const maxBranches = 20

// branchesOf returns the newest branches, and how many older ones there are.
func branchesOf(cmd *cobra.Command, s timeline.Store, heads []timeline.Place) (branches []shownBranch, older int, err error) {
	branches = []shownBranch{}
	if len(heads) < 2 {
		return branches, 0, nil
	}
	// The way to the current head, as the last place of each trunk. A place is
	// on the way if the way leaves its trunk no earlier.
	leaves := map[int64]int64{}
	err = s.Messages(cmd.Context(), timeline.Local, heads[0], 1, heads[0].Depth, true, func(e *timeline.Entry) error {
		leaves[e.Place.Trunk] = e.Place.Depth
		return nil
	})
	if err != nil {
		return nil, 0, &failure{err}
	}
	older = max(0, len(heads)-1-maxBranches)
	for i := 1 + older; i < len(heads); i++ {
		shared, err := sharedDepth(cmd, s, leaves, heads[i])
		if err != nil {
			return nil, 0, &failure{err}
		}
		branches = append(branches, shownBranch{Branch: i, Last: heads[i].Depth, Shared: shared})
	}
	return branches, older, nil
}

// sharedDepth returns how many messages a branch shares with a way. It
// searches back from the branch's end in growing steps, so that a late
// branching point is cheap.
func sharedDepth(cmd *cobra.Command, s timeline.Store, leaves map[int64]int64, end timeline.Place) (int64, error) {
	shares := func(depth int64) (bool, error) {
		at, err := placeAt(cmd, s, end, depth)
		return at.Depth <= leaves[at.Trunk], err
	}
	low, high := int64(0), end.Depth // they share at least low and at most high
	for step := int64(1); low < high; step *= 2 {
		at := max(1, high-step+1)
		on, err := shares(at)
		if err != nil {
			return 0, err
		}
		if on {
			low = at
			break
		}
		high = at - 1
	}
	for low < high {
		middle := (low + high + 1) / 2
		on, err := shares(middle)
		if err != nil {
			return 0, err
		}
		if on {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

func placeAt(cmd *cobra.Command, s timeline.Store, head timeline.Place, depth int64) (at timeline.Place, err error) {
	err = s.Messages(cmd.Context(), timeline.Local, head, depth, depth, true, func(e *timeline.Entry) error {
		at = e.Place
		return nil
	})
	return at, err
}

// shownPins are the pins of a conversation, by place and, for pins without a
// place that another program set, by id.
type shownPins struct {
	places map[timeline.Place]bool
	ids    map[int64]bool
}

func pinsOf(cmd *cobra.Command, s timeline.Store, name string) (pins shownPins, err error) {
	records, err := s.Records(cmd.Context(), timeline.Local, name, "pin", "")
	if err != nil {
		return pins, &failure{err}
	}
	pins = shownPins{map[timeline.Place]bool{}, map[int64]bool{}}
	for i := range records {
		number, _, _ := strings.Cut(records[i].Key, "@")
		id, err := strconv.ParseInt(number, 10, 64)
		if at := records[i].At; at != (timeline.Place{}) {
			pins.places[at] = true
		} else if err == nil {
			pins.ids[id] = true
		}
	}
	return pins, nil
}

// messageList prints messages as they arrive.
type messageList struct {
	out   *bufio.Writer
	json  bool
	style style
	n     int
	last  string // the day that was printed
}

func newMessageList(out *bufio.Writer, c *timeline.Conversation, asJSON bool, s style) *messageList {
	l := &messageList{out: out, json: asJSON, style: s}
	if asJSON {
		info, _ := json.Marshal(infoOf(c)) // cannot fail
		fmt.Fprintf(out, `{"conversation":%s,"messages":[`, info)
	}
	return l
}

func (l *messageList) add(m *shownMessage) error {
	if l.json {
		if l.n++; l.n > 1 {
			l.out.WriteByte(',')
		}
		var b bytes.Buffer
		if err := printJSON(&b, m); err != nil {
			return err
		}
		_, err := l.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		return err
	}
	// The columns have fixed widths, so that a long history need not be held
	// in memory.
	day, clock := m.Time.Format("2006-01-02"), m.Time.Format("15:04:05")
	if day != l.last {
		l.last = day
		fmt.Fprintf(l.out, "%s\n", l.style.bold(day))
	}
	pin, tokens := " ", thousands(m.Tokens)
	if m.Pinned {
		pin = "*"
	}
	if m.Role == timeline.RoleMeta {
		tokens = ""
	}
	line := fmt.Sprintf("%6d%s %s  %-9s %7s  %s", m.ID, pin, clock, oneLine(m.Role, 9), tokens, oneLine(m.Text, 72))
	if m.Role == timeline.RoleMeta {
		line = l.style.code("2", line)
	}
	_, err := fmt.Fprintln(l.out, line)
	return err
}

// end prints the branches, and the number of older ones.
func (l *messageList) end(branches []shownBranch, older int) error {
	if l.json {
		list, err := json.Marshal(branches)
		if err != nil {
			return err
		}
		fmt.Fprintf(l.out, "],\"branches\":%s", list)
		if older > 0 {
			fmt.Fprintf(l.out, ",\"older_branches\":%d", older)
		}
		_, err = l.out.WriteString("}\n")
		return err
	}
	for i, b := range branches {
		if i == 0 {
			fmt.Fprintln(l.out)
			if older > 0 {
				fmt.Fprintf(l.out, "%s, not listed (--branch 1 to %d)\n", plural(older, "older branch", "older branches"), older)
			}
		}
		fmt.Fprintf(l.out, "branch %d: leaves after message %d and ends at %d (--branch %d)\n", b.Branch, b.Shared, b.Last, b.Branch)
	}
	return nil
}

// showPlans prints the plans of a conversation, oldest first.
func showPlans(cmd *cobra.Command, name string, plans []oriel.Plan, o *showFlags) error {
	out := cmd.OutOrStdout()
	if o.json {
		if plans == nil {
			plans = []oriel.Plan{}
		}
		return printJSON(out, map[string]any{"conversation": name, "plans": plans})
	}
	if len(plans) == 0 {
		_, err := io.WriteString(out, "no plans: nothing has left the view\n")
		return err
	}
	for i := range plans {
		fmt.Fprintf(out, "%s\n", styleFor(out).bold(plans[i].Undo))
		if err := drawPlan(out, &plans[i], styleFor(out)); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/demo"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// demoStory runs the session and narrates it.
type demoStory struct {
	screen *demoScreen
	data   *history
	model  *demo.Model
	notes  *demoNotes
	url    string

	agent *demo.Agent
	bill  demoBill
	fact  string // what the model will need
	told  int    // the call with which the user said it
	gone  int    // the first call whose request no longer had it
	saved bool   // it was recalled when it was needed
	undo  *demoUndo
	cuts  int
}

// demoBill is the usage of the calls, with Oriel and as the agent sent them.
type demoBill struct {
	calls           int
	with, without   token.Usage
	most, mostAll   int
	cost, costWhole float64
}

func (b *demoBill) add(c *demo.Call) {
	b.calls++
	sum := func(to *token.Usage, u token.Usage) {
		to.Input, to.CacheRead, to.CacheWrite, to.Output = to.Input+u.Input, to.CacheRead+u.CacheRead,
			to.CacheWrite+u.CacheWrite, to.Output+u.Output
	}
	sum(&b.with, c.Used)
	sum(&b.without, c.Whole)
	b.most, b.mostAll = max(b.most, c.Used.Prompt()), max(b.mostAll, c.Whole.Prompt())
	b.cost, b.costWhole = b.cost+demo.Cost(c.Used), b.costWhole+demo.Cost(c.Whole)
}

// demoUndo is a plan that was undone.
type demoUndo struct {
	plan    string
	message string // the largest message that it had removed, for people
	text    string // and its text; "" once it is back
	hidden  int
	before  int // tokens of the last request without it
}

// tell runs the whole session. Its error says what went wrong.
func (d *demoStory) tell(ctx context.Context) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var err error
	if d.agent, err = demo.NewAgent(d.url, demoBudget, &http.Client{Transport: transport}, d.model); err != nil {
		return &failure{err}
	}
	d.screen.begin()
	for {
		err := d.call(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &failure{fmt.Errorf("demo: %w", err)}
		}
	}
	if err := d.check(); err != nil {
		return &failure{fmt.Errorf("demo: %w", err)}
	}
	d.screen.bill(&d.bill)
	return nil
}

// check returns an error unless everything happened that the story shows.
func (d *demoStory) check() error {
	switch {
	case d.cuts == 0:
		return errors.New("nothing was cut")
	case d.bill.most > demoBudget:
		return fmt.Errorf("a request of %d tokens went out, above the budget of %d", d.bill.most, demoBudget)
	case !d.saved:
		return errors.New("recall did not return what the agent needed")
	case d.undo == nil || d.undo.text != "":
		return errors.New("undo did not restore what was cut")
	case d.bill.cost >= d.bill.costWhole:
		return fmt.Errorf("the session cost $%.3f, and $%.3f without Oriel", d.bill.cost, d.bill.costWhole)
	}
	return nil
}

// call makes the next call and shows it.
func (d *demoStory) call(ctx context.Context) error {
	if turn := d.agent.Turn(); turn != nil {
		if turn.Undo {
			if err := d.takeBack(ctx); err != nil {
				return err
			}
		}
		fact := ""
		if d.fact == "" {
			fact = d.agent.Fact(turn.Text)
			d.fact, d.told = fact, d.bill.calls+1
		}
		d.screen.user(turn.Text, fact)
	}
	c, err := d.agent.Call(ctx)
	if err != nil {
		return err
	}
	events, err := d.notes.call(ctx)
	if err != nil {
		return err
	}
	d.bill.add(c)
	kinds := func(kind string) bool {
		return slices.ContainsFunc(events, func(e oriel.Event) bool { return e.Kind == kind })
	}
	mark := demoMark{cut: kinds(oriel.EventCut), recall: kinds(oriel.EventRecall), undo: kinds(oriel.EventUndo)}
	if mark.cut {
		d.cuts++
	}
	got := d.model.Last().Messages
	if d.fact != "" && d.gone == 0 && d.agent.Fact(demo.Unaided(got)) == "" {
		d.gone = c.N
	}
	d.screen.call(c, mark)
	if d.undo != nil && d.undo.text != "" {
		if !strings.Contains(demo.Text(got), d.undo.text) {
			return fmt.Errorf("call %d does not have what plan %s had taken out", c.N, d.undo.plan)
		}
		d.undo.text = ""
		d.screen.undone(d.undo, c)
	}
	if c.Needs && !d.saved && d.gone > 0 {
		return d.saves(ctx, c)
	}
	return nil
}

// saves shows what the call would have been without recall.
func (d *demoStory) saves(ctx context.Context, c *demo.Call) error {
	bare, err := d.agent.Bare(ctx)
	if err != nil {
		return err
	}
	switch {
	case !c.Knows:
		return fmt.Errorf("recall did not return %q with call %d", strings.Join(strings.Fields(d.fact), " "), c.N)
	case d.agent.Fact(demo.Text(d.model.Last().Messages)) != "":
		return fmt.Errorf("call %d has %q without recall", c.N, d.fact)
	}
	d.saved = true
	d.screen.recalled(d, c, bare)
	return nil
}

// takeBack undoes the newest plan like oriel undo, and remembers what the next
// request must contain.
func (d *demoStory) takeBack(ctx context.Context) error {
	before := demo.Text(d.model.Last().Messages)
	u := &demoUndo{}
	var plans []oriel.Plan
	err := d.data.withConversation(ctx, demo.Conversation, func(c *oriel.Conversation) (err error) {
		if plans, err = c.Plans(ctx, 0); err != nil {
			return err
		}
		would, err := c.WouldUndo(ctx, "")
		if err != nil {
			return err
		}
		u.plan = would.Plan
		return c.Undo(ctx, u.plan)
	})
	if err != nil {
		return err
	}
	err = d.data.with(ctx, func(s tenantStore) error {
		at := slices.IndexFunc(plans, func(p oriel.Plan) bool { return p.Undo == u.plan })
		conversation, err := s.Conversation(ctx, s.tenant, demo.Conversation)
		if err != nil {
			return err
		}
		for _, b := range plans[at].Blocks {
			if at > 0 && slices.ContainsFunc(plans[at-1].Blocks,
				func(o window.Block) bool { return o.Index == b.Index }) {
				continue // an earlier plan did that
			}
			u.hidden++
			err := s.Messages(ctx, s.tenant, conversation.Head, int64(b.Index), int64(b.Index), false,
				func(e *timeline.Entry) error {
					m, err := e.Chat()
					if text := demo.Text([]chat.Message{m}); err == nil && len(text) > len(u.text) &&
						!strings.Contains(before, text) {
						u.message, u.text = e.Text(), text
					}
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if u.text == "" {
		return fmt.Errorf("plan %s took nothing out of view", u.plan)
	}
	u.before = d.screen.last
	d.undo = u
	d.screen.undoing(u)
	return nil
}

// invite shows what can be looked at while the server runs.
func (d *demoStory) invite() {
	d.screen.invite(d.url, d.data.dir, ourName())
}

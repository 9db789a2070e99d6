package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// RecallOptions configures a search of the history. The zero value suits most programs.
type RecallOptions struct {
	// Budget is the most tokens of the result. Default: 2,048, for Context the room in
	// the view.
	Budget int
	// Top is the most passages. Default: as many as fit, 10 for recall.Dense.
	Top int
	// Floor is the least score of a passage, up to 1. Default: 0.15, 0.3 for
	// recall.Dense. A negative number means no floor.
	Floor float64
	// Mode selects how passages are found. Default: recall.Hybrid, by words and meaning.
	Mode recall.Mode
	// Reach selects the conversations to search. Default: this one. recall.ReachProject
	// adds all conversations of its project, recall.ReachUser all of the tenant.
	Reach recall.Reach
	// StrictState omits passages that do not fit Status.State. Otherwise passages that
	// fit it rank before others of the same score.
	StrictState bool
}

func (o *RecallOptions) check() error {
	switch {
	case o.Budget < 0:
		return fmt.Errorf("%w: recall with a Budget of %d: give a number above 0, or 0 for the default",
			fault.ErrConfig, o.Budget)
	case o.Top < 0:
		return fmt.Errorf("%w: recall with a Top of %d: give a number above 0, or 0 for the default", fault.ErrConfig,
			o.Top)
	case o.Floor > 1 || !number.Finite(o.Floor):
		return fmt.Errorf("%w: recall with a Floor of %g: scores are 0 to 1", fault.ErrConfig, o.Floor)
	}
	switch o.Mode {
	case "", recall.Hybrid, recall.Keyword, recall.Dense:
	default:
		return fmt.Errorf("%w: recall with the Mode %q: use hybrid, keyword or dense", fault.ErrConfig, o.Mode)
	}
	switch o.Reach {
	case "", recall.ReachConversation, recall.ReachProject, recall.ReachUser:
	default:
		return fmt.Errorf("%w: recall with the Reach %q: use conversation, project or user", fault.ErrConfig, o.Reach)
	}
	return nil
}

// Hits is the result of Recall.
type Hits struct {
	// Text is the result as a text for a model, Tokens its size.
	Text   string
	Tokens int
	// Mode is how passages were found: recall.Keyword if there were no vectors.
	Mode recall.Mode
	// Passages are sorted by time.
	Passages []Hit
}

// Hit is a passage of an item. Its Keyword, Dense and Prior explain its score.
type Hit struct {
	recall.Passage
	// Conversation and Item identify the item; Conversation.Item returns all of it.
	Conversation string
	Item         int64
}

// Recall implements oriel.Conversation.Recall.
func (c *Conversation) Recall(ctx context.Context, query string, o RecallOptions) (*Hits, error) {
	const op = "recall"
	if err := o.check(); err != nil {
		return nil, c.fail(op, err, "")
	}
	var at timeline.Place
	var state items.State
	var policy string
	err := c.either(ctx, op, func(r *call.Recorded) error {
		at = r.Head()
		tracker, err := c.tracked(ctx, r)
		state = tracker.State()
		return err
	}, func(p *loaded) error {
		at, state, policy = p.stored.Head, p.tracker.State(), p.policy
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, dismissed, err := c.directives(ctx, at, o.Reach)
	if err != nil {
		return nil, c.engine.storeError(ctx, op, c.id, err)
	}
	found, err := c.search(ctx, at, query, state, o, dismissed, nil)
	if err != nil {
		return nil, c.engine.storeError(ctx, op, c.id, err)
	}
	hits := &Hits{Text: found.Text, Tokens: found.Tokens, Mode: found.Mode, Passages: make([]Hit, len(found.Passages))}
	for i, p := range found.Passages {
		hits.Passages[i].Passage = p
		hits.Passages[i].Conversation, hits.Passages[i].Item = c.origin(p.Block)
	}
	if e := c.engine; e.config.Events != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		e.config.Events(event.Event{
			Time: e.config.Now(), Kind: event.Recall, Tenant: e.eventTenant(), Conversation: c.id, Policy: policy,
			TokensAfter: hits.Tokens, Recalled: hits.Tokens, Items: len(hits.Passages),
		})
	}
	return hits, nil
}

// stateBoost is added to the score of a passage that fits the state: a tenth of what all
// words of a question score. It decides between nearly equal passages (SPEC D5).
const stateBoost = .5

// search searches the library, without standing instructions: views show those for every
// query.
func (c *Conversation) search(ctx context.Context, at timeline.Place, query string, state items.State, o RecallOptions,
	dismissed map[string]bool, exclude func(block string) bool) (*recall.Result, error) {
	options := recall.RecallOptions{
		Budget: o.Budget, Top: o.Top, Floor: o.Floor, Mode: o.Mode, Exclude: exclude, Directives: -1,
		Now: c.engine.config.Now(),
	}
	if len(dismissed) > 0 {
		options.Dismissed = func(block string) bool { return dismissed[block] }
	}
	if state != items.StateGeneral {
		other := float32(0)
		if o.StrictState {
			other = float32(math.Inf(-1))
		}
		options.Boost = func(text string) float32 {
			if state.Matches(text) {
				return stateBoost
			}
			return other
		}
	}
	found, err := c.engine.library.Recall(ctx, c.where(at, o.Reach), query, options)
	if errors.Is(err, timeline.ErrNoConversation) { // it begins with its first item
		return &recall.Result{Query: query, Mode: recall.Keyword}, nil
	}
	return found, err
}

func (c *Conversation) where(at timeline.Place, reach recall.Reach) recall.Where {
	return recall.Where{Tenant: c.tenant, Conversation: c.id, At: at, Reach: reach}
}

// origin returns the conversation and the item of a block.
func (c *Conversation) origin(block string) (conversation string, id int64) {
	return origin(block, c.id)
}

// origin returns the conversation and the item of a block of a search that began in own. The
// name of another conversation precedes the item's id.
func origin(block, own string) (conversation string, id int64) {
	conversation = own
	if i := strings.LastIndexByte(block, '#'); i >= 0 {
		conversation, block = block[:i], block[i+1:]
	}
	id, _ = strconv.ParseInt(block, 10, 64) // the library made it
	return conversation, id
}

package report

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Conversation is a conversation as a list shows it. Its JSON form is that of the API, of oriel
// conversations and of oriel show.
type Conversation struct {
	ID string `json:"id"`
	// Row is its place in the list of all conversations, from 1 on; 0 if all were not listed.
	Row int `json:"row,omitempty"`
	// Title is the title of the agent's own file, or the person's first words.
	Title   string    `json:"title"`
	Project string    `json:"project"`
	Created time.Time `json:"created"`
	// Last is the time of the last message.
	Last     time.Time `json:"last"`
	Messages int64     `json:"messages"`
	// TokensBefore is the size of the newest request as it came; 0 if no call was recorded.
	TokensBefore int `json:"tokens_before"`
	// TokensAfter is the size of the newest request as it was sent.
	TokensAfter int `json:"tokens_after"`
	// Error is why the newest call was not answered; empty if it was.
	Error string `json:"error"`
	Calls int    `json:"calls"`
	// Imported is how many calls an imported session lists whose calls were not recorded. Then
	// tokens_before is the size of its messages (o200k_base), and model, cost and unknown_models are
	// its own.
	Imported int `json:"imported"`
	// Model is the model that was asked last; empty if it is not known.
	Model string `json:"model"`
	// Cost is in US dollars, without the calls of UnknownModels.
	Cost float64 `json:"cost"`
	// Without is the estimate of the cost had everything been sent.
	Without float64 `json:"without"`
	// UnknownModels are the models without a price.
	UnknownModels []string `json:"unknown_models"`
	Plans         int      `json:"plans"`
	// Continues is the id of the conversation that this one continues; empty if it begins anew.
	Continues string `json:"continues"`
}

// Describer describes conversations.
type Describer struct {
	Store  timeline.Store
	Tenant string
	Models *token.Models
	// Ledger remembers calls; nil reads them each time.
	Ledger *usage.Reader
	// Title returns the title of a conversation, About describes an imported session. A
	// server remembers both. Default: the functions of these names.
	Title func(*timeline.Conversation) (string, error)
	About func(*Listed) (About, error)
}

// All describes conversations, several at a time: those in which every word occurs, in the id,
// the project, the title or a message, whatever the case of its letters. An error of one is the
// error of all.
func (d *Describer) All(ctx context.Context, list []Listed, words ...string) ([]Conversation, error) {
	out, errs := make([]*Conversation, len(list)), make([]error, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(list), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				out[i], errs[i] = d.matching(ctx, &list[i], words)
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	found := []Conversation{}
	for _, c := range out {
		if c != nil {
			found = append(found, *c)
		}
	}
	return found, errors.Join(errs...)
}

// matching describes a conversation if every word occurs in it.
func (d *Describer) matching(ctx context.Context, l *Listed, words []string) (*Conversation, error) {
	if len(words) == 0 {
		return d.Conversation(ctx, l)
	}
	about, err := ReadAbout(ctx, d.Store, d.Tenant, l, d.Models, words...)
	if err != nil || about == nil {
		return nil, err
	}
	with := *d
	with.Title = func(*timeline.Conversation) (string, error) { return about.Title, nil }
	with.About = func(*Listed) (About, error) { return *about, nil }
	return with.Conversation(ctx, l)
}

// Conversation describes a conversation. It reads all messages only of one without recorded
// calls.
func (d *Describer) Conversation(ctx context.Context, l *Listed) (*Conversation, error) {
	c := &Conversation{
		ID: l.Name, Row: l.Row, Project: l.Project, Created: l.Created.UTC(), Last: l.Said.UTC(),
		Messages:      l.Head.Depth,
		UnknownModels: []string{}, Continues: l.Continues,
	}
	var err error
	if c.Title, err = d.title(ctx, &l.Conversation); err != nil {
		return nil, err
	}
	plans, err := d.Store.RecordKeys(ctx, d.Tenant, l.Name, timeline.KindPlan)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return nil, err
	}
	c.Plans = len(plans)
	ledger := d.Ledger
	if ledger == nil {
		ledger = usage.NewReader(d.Store)
	}
	err = ledger.Calls(ctx, d.Tenant, &l.Conversation, d.Models, c.addCalls)
	if errors.Is(err, usage.ErrUnread) {
		return c, nil // lists show the conversation all the same
	}
	if err != nil || c.Calls > 0 {
		return c, err
	}
	about, err := d.about(ctx, l)
	c.Model, c.Imported, c.TokensBefore, c.TokensAfter = about.Model, about.Calls, about.Tokens, about.Tokens
	c.Cost, c.Without, c.UnknownModels = about.Cost, about.Cost, append(c.UnknownModels, about.Unpriced...)
	return c, err
}

func (d *Describer) title(ctx context.Context, c *timeline.Conversation) (string, error) {
	if d.Title != nil {
		return d.Title(c)
	}
	return Title(ctx, d.Store, d.Tenant, c)
}

func (d *Describer) about(ctx context.Context, l *Listed) (About, error) {
	if d.About != nil {
		return d.About(l)
	}
	about, err := ReadAbout(ctx, d.Store, d.Tenant, l, d.Models)
	if err != nil {
		return About{}, err
	}
	return *about, nil
}

// addCalls adds what the recorded calls used and cost.
func (c *Conversation) addCalls(calls []usage.Priced) {
	c.Calls = len(calls)
	for i := range calls {
		p := &calls[i]
		c.Cost, c.Without = c.Cost+p.Cost, c.Without+p.Without
		if p.Billed && !p.Known && !slices.Contains(c.UnknownModels, p.Model) {
			c.UnknownModels = append(c.UnknownModels, p.Model)
		}
		c.Model, c.Error = cmp.Or(p.Model, c.Model), p.Call.Error
		if p.Came > 0 {
			c.TokensBefore, c.TokensAfter = p.Came, p.Call.Sent
		}
	}
	c.Cost, c.Without = usage.Dollars(c.Cost), usage.Dollars(c.Without)
}

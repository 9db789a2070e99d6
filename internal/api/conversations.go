package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// conversation is a conversation as a list shows it.
type conversation struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Project  string    `json:"project"`
	Created  time.Time `json:"created"`
	Last     time.Time `json:"last"`
	Messages int64     `json:"messages"`
	// Tokens are those of the newest request as it came, Sent as it was sent, Model is whom
	// it asked, Error why it was not answered.
	Tokens int    `json:"tokens"`
	Sent   int    `json:"sent"`
	Error  string `json:"error"`
	Calls  int    `json:"calls"`
	// Imported is how many calls an imported session lists whose calls were not recorded.
	// Tokens are then those of its messages, and Model, Cost and UnknownModels its own.
	Imported      int      `json:"imported"`
	Model         string   `json:"model"`
	Cost          float64  `json:"cost"`
	Without       float64  `json:"without"`
	UnknownModels []string `json:"unknown_models"`
	Plans         int      `json:"plans"`
	Continues     string   `json:"continues"`
}

// conversationDetail is a conversation with its notes.
type conversationDetail struct {
	conversation
	Pins     []int64 `json:"pins"`
	Holds    []hold  `json:"holds"`
	Branches int     `json:"branches"`
	// Private reports that searches from other conversations do not cover it.
	Private bool `json:"private"`
}

// hold is what an undone plan holds in view.
type hold struct {
	Plan string `json:"plan"`
	IDs  string `json:"ids"`
}

func (q *request) conversations() (any, error) {
	query := q.URL.Query()
	p, err := q.page("conversations")
	if err != nil {
		return nil, err
	}
	all, err := report.Conversations(q.Context(), q.Store, q.tenant)
	if err != nil {
		return nil, err
	}
	if project := query.Get("project"); project != "" {
		all = slices.DeleteFunc(all, func(c report.Listed) bool { return !report.InProject(&c.Conversation, project) })
	}
	words := strings.Fields(query.Get("search"))
	if len(words) > 0 {
		if all, err = q.search(all, words); err != nil {
			return nil, err
		}
	}
	out := &list[conversation]{Items: []conversation{}, Total: int64(len(all))}
	first, err := after(all, &p, len(words) > 0)
	if err != nil {
		return nil, err
	}
	for i := first; i < len(all); i++ {
		if len(out.Items) == p.limit {
			out.Next = next("conversations", place(all, i-1, len(words) > 0))
			break
		}
		c, err := q.describe(&all[i])
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, *c)
	}
	return out, nil
}

// place returns what the cursor after a conversation holds: the time of its last message
// and its name, so that a list that changes between two pages loses none that stays where
// it is; or its position among what a search found.
func place(all []report.Listed, i int, found bool) string {
	if found {
		return strconv.Itoa(i + 1)
	}
	return strconv.FormatInt(all[i].Said.UnixMicro(), 10) + " " + all[i].Name
}

// after returns the position of the first conversation of a page.
func after(all []report.Listed, p *page, found bool) (int, error) {
	if p.after == "" {
		return 0, nil
	}
	text, name, named := strings.Cut(p.after, " ")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || named == found || found && n < 0 {
		return 0, badCursor()
	}
	if found {
		return int(min(n, int64(len(all)))), nil
	}
	said := time.UnixMicro(n)
	i := slices.IndexFunc(all, func(c report.Listed) bool {
		return c.Said.Before(said) || c.Said.Equal(said) && c.Name > name
	})
	if i < 0 {
		i = len(all)
	}
	return i, nil
}

// search returns the conversations that words lead to: first those that recall finds, by
// word and by meaning, the best first, then those whose id, title or project has all words.
func (q *request) search(all []report.Listed, words []string) ([]report.Listed, error) {
	if len(all) == 0 {
		return all, nil
	}
	found, err := q.Engine.ForTenant(q.tenant).Recall(q.Context(), recall.Where{Conversation: all[0].Name, Reach: recall.ReachUser},
		strings.Join(words, " "), recall.RecallOptions{Budget: searchBudget, Directives: -1, VectorWait: vectorWait})
	if err != nil {
		return nil, err
	}
	var out []report.Listed
	taken := map[string]bool{}
	take := func(c *report.Listed) {
		if !taken[c.Name] {
			taken[c.Name] = true
			out = append(out, *c)
		}
	}
	for _, h := range report.Hits(found, all[0].Name) {
		if i := slices.IndexFunc(all, func(c report.Listed) bool { return c.Name == h.Conversation }); i >= 0 {
			take(&all[i])
		}
	}
	for i := range all {
		title, err := q.title(&all[i].Conversation)
		if err != nil {
			return nil, err
		}
		text := strings.ToLower(all[i].Name + "\n" + all[i].Project + "\n" + title)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) }) {
			take(&all[i])
		}
	}
	return out, nil
}

// searchBudget is how many tokens of passages a search over conversations looks at.
const searchBudget = 20_000

// title returns the title of a conversation.
func (q *request) title(c *timeline.Conversation) (string, error) {
	return q.titles.get(q.tenant, c, func() (string, error) {
		return report.Title(q.Context(), q.Store, q.tenant, c)
	})
}

func (q *request) describe(l *report.Listed) (*conversation, error) {
	c := &conversation{
		ID: l.Name, Project: l.Project, Created: l.Created.UTC(), Last: l.Said.UTC(), Messages: l.Head.Depth,
		UnknownModels: []string{}, Continues: l.Continues,
	}
	var err error
	if c.Title, err = q.title(&l.Conversation); err != nil {
		return nil, err
	}
	plans, err := q.Store.RecordKeys(q.Context(), q.tenant, l.Name, timeline.KindPlan)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return nil, err
	}
	c.Plans = len(plans)
	err = q.ledger.Calls(q.Context(), q.tenant, &l.Conversation, q.models(), func(calls []usage.Priced) {
		c.Calls = len(calls)
		for i := range calls {
			p := &calls[i]
			c.Cost, c.Without = c.Cost+p.Cost, c.Without+p.Without
			if p.Billed && !p.Known && !slices.Contains(c.UnknownModels, p.Model) {
				c.UnknownModels = append(c.UnknownModels, p.Model)
			}
			c.Model, c.Error = cmp.Or(p.Model, c.Model), p.Call.Error
			if p.Came > 0 {
				c.Tokens, c.Sent = p.Came, p.Call.Sent
			}
		}
		c.Cost, c.Without = usage.Dollars(c.Cost), usage.Dollars(c.Without)
	})
	if err != nil || c.Calls > 0 {
		return c, err
	}
	about, err := q.abouts.get(q.tenant, &l.Conversation, func() (report.About, error) {
		list, err := report.Abouts(q.Context(), q.Store, q.tenant, []report.Listed{*l}, q.models())
		if len(list) == 0 {
			return report.About{}, err
		}
		return list[0], err
	})
	c.Model, c.Imported, c.Tokens, c.Sent = about.Model, about.Calls, about.Tokens, about.Tokens
	c.Cost, c.Without, c.UnknownModels = about.Cost, about.Cost, append(c.UnknownModels, about.Unpriced...)
	return c, err
}

// find returns the conversation that the path names.
func (q *request) find(ctx context.Context) (*timeline.Conversation, error) {
	return q.findNamed(ctx, q.PathValue("conversation"))
}

func (q *request) findNamed(ctx context.Context, name string) (*timeline.Conversation, error) {
	if name == "" || len(name) > timeline.MaxName {
		return nil, notFound(hintList, "no such conversation")
	}
	c, err := report.Find(ctx, q.Store, q.tenant, name)
	return &c, err
}

func (q *request) conversation() (any, error) {
	ctx := q.Context()
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	said, err := timeline.Said(ctx, q.Store, q.tenant, c)
	if err != nil {
		return nil, err
	}
	d, err := q.describe(&report.Listed{Conversation: *c, Said: said})
	if err != nil {
		return nil, err
	}
	out := &conversationDetail{conversation: *d, Pins: []int64{}, Holds: []hold{}}
	notes := timeline.Notes{Store: q.Store, Tenant: q.tenant, Conversation: c.Name}
	if out.Pins, err = q.pinned(ctx, c); err != nil {
		return nil, err
	}
	plans, err := report.PlanIDs(ctx, q.Store, q.tenant, c.Name)
	if err != nil {
		return nil, err
	}
	holds, err := notes.Holds(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		out.Holds = append(out.Holds, hold{cmp.Or(plans[h.Plan], h.Plan), h.Held.String()})
	}
	if out.Private, err = notes.Private(ctx); err != nil {
		return nil, err
	}
	heads, err := q.Store.Heads(ctx, q.tenant, c.Name)
	out.Branches = len(heads)
	return out, err
}

// pinned returns the pinned messages on the way to where a conversation stands.
func (q *request) pinned(ctx context.Context, c *timeline.Conversation) ([]int64, error) {
	pins, err := timeline.Notes{Store: q.Store, Tenant: q.tenant, Conversation: c.Name}.Pins(ctx)
	if err != nil {
		return nil, err
	}
	out := []int64{}
	for i := range pins {
		here, err := timeline.Passes(ctx, q.Store, q.tenant, c.Head, pins[i].At)
		if err != nil {
			return nil, err
		}
		if here && pins[i].ID <= c.Head.Depth {
			out = append(out, pins[i].ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

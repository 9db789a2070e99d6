package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// conversationDetail is a conversation with its notes.
type conversationDetail struct {
	report.Conversation
	// The pinned messages.
	Pins []int64 `json:"pins"`
	// What undone plans hold in view.
	Holds []hold `json:"holds"`
	// How many branches it has: 1 if it was never edited.
	Branches int `json:"branches"`
	// Private reports that searches from other conversations do not cover it.
	Private bool `json:"private"`
}

// hold is what an undone plan holds in view.
type hold struct {
	Plan string `json:"plan"`
	// The messages, such as 24-37,40.
	IDs string `json:"ids"`
}

func (q *request) conversations() (*list[report.Conversation], error) {
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
	out := &list[report.Conversation]{Items: []report.Conversation{}, Total: int64(len(all))}
	first, err := after(all, &p, len(words) > 0)
	if err != nil {
		return nil, err
	}
	describer := q.describer()
	for i := first; i < len(all); i++ {
		if len(out.Items) == p.limit {
			out.Next = next("conversations", place(all, i-1, len(words) > 0))
			break
		}
		c, err := describer.Conversation(q.Context(), &all[i])
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
	found, err := q.Engine.ForTenant(q.tenant).Recall(q.Context(),
		recall.Where{Conversation: all[0].Name, Reach: recall.ReachUser},
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

// describer returns what describes conversations, with what this server remembers of them.
func (q *request) describer() *report.Describer {
	return &report.Describer{
		Store: q.Store, Tenant: q.tenant, Models: q.models(), Ledger: q.ledger, Title: q.title,
		About: func(l *report.Listed) (report.About, error) {
			return q.abouts.get(q.tenant, &l.Conversation, func() (report.About, error) {
				about, err := report.ReadAbout(q.Context(), q.Store, q.tenant, l, q.models())
				if err != nil {
					return report.About{}, err
				}
				return *about, nil
			})
		},
	}
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

func (q *request) conversation() (*conversationDetail, error) {
	ctx := q.Context()
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	said, err := timeline.Said(ctx, q.Store, q.tenant, c)
	if err != nil {
		return nil, err
	}
	d, err := q.describer().Conversation(ctx, &report.Listed{Conversation: *c, Said: said})
	if err != nil {
		return nil, err
	}
	out := &conversationDetail{Conversation: *d, Pins: []int64{}, Holds: []hold{}}
	notes := timeline.Notes{Store: q.Store, Tenant: q.tenant, Conversation: c.Name}
	if out.Pins, err = q.pinned(ctx, c); err != nil {
		return nil, err
	}
	plans, err := plan.Names(ctx, notes)
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

package usage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// By selects what a row of a report covers.
type By string

const (
	Hour         By = "hour"
	Day          By = "day"
	Week         By = "week"
	Month        By = "month"
	Model        By = "model"
	Project      By = "project"
	Conversation By = "conversation"
)

// Groupings lists the values of By.
var Groupings = []By{Hour, Day, Week, Month, Model, Project, Conversation}

// dated reports whether the rows are spans of time.
func (b By) dated() bool { return b == Hour || b == Day || b == Week || b == Month }

// Options say what is added up.
type Options struct {
	// By selects what a row covers. Default: Day.
	By By
	// Since leaves out the calls that began before it; zero means none.
	Since time.Time
	// Zone is the time zone of hours, days, weeks and months. Default: UTC.
	Zone *time.Location
	// Models is the table with the prices. Default: the built-in one.
	Models *token.Models
	// Conversation leaves out all other conversations; empty means none.
	Conversation string
}

func (o *Options) models() *token.Models {
	if o.Models == nil {
		return token.Builtin()
	}
	return o.Models
}

// Row is the sum of some calls. Its JSON form is a line of oriel usage --json.
type Row struct {
	// Key is the hour (2026-11-15T13), the day (2026-11-15), the week (2026-W46), the month
	// (2026-11), the model, the project or the conversation. A project or a model may be empty.
	Key   string `json:"key"`
	Calls int    `json:"calls"`
	// Failed counts those of Calls to which the provider, or the way to it,
	// gave no complete answer.
	Failed int `json:"failed"`
	// Input is all prompt tokens, with CacheRead and CacheWrite.
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	// LeftOut are the prompt tokens that were not sent, as counted here.
	LeftOut int `json:"left_out"`
	// Unreported are the calls of which the provider reported no usage: their prompts
	// are counted here, their output is unknown.
	Unreported int `json:"unreported"`
	// Cost is in US dollars, without the calls of UnknownModels.
	Cost float64 `json:"cost"`
	// Without is the estimate of the cost had everything been sent.
	Without float64 `json:"without"`
	// Summaries is the cost of summaries that a model wrote, in the background or
	// while a call waited; Cost excludes it.
	Summaries float64 `json:"summaries"`
	// Services counts the calls that the provider served at another price than the standard
	// one, by service tier ("flex", "priority").
	Services map[string]int `json:"services,omitempty"`
	// UnknownModels are the models without a price.
	UnknownModels []string `json:"unknown_models"`
	// Last is when the newest of the calls began.
	Last time.Time `json:"last"`
	// Observed are the calls under the profile observe, and what others would have sent and cost;
	// absent if there are none.
	Observed *Observed `json:"observed,omitempty"`
}

// Report is a sum of calls by rows.
type Report struct {
	By By
	// Rows are in the order of time, or the most expensive first.
	Rows  []Row
	Total Row
	// Oldest and Newest are when the prices that were used were looked up (YYYY-MM-DD);
	// empty if none were.
	Oldest, Newest string
}

// Read adds up the calls of a tenant.
func Read(ctx context.Context, store timeline.Store, tenant string, o Options) (*Report, error) {
	return NewReader(store).Read(ctx, tenant, o)
}

// Read adds up the calls of a tenant.
func (r *Reader) Read(ctx context.Context, tenant string, o Options) (*Report, error) {
	if o.By = cmp.Or(o.By, Day); !slices.Contains(Groupings, o.By) {
		return nil, fmt.Errorf("add up calls by %q: there are %v", o.By, Groupings)
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	s := &sum{Options: o, rows: map[string]*Row{}}
	err := r.Visit(ctx, tenant, o, func(c *timeline.Conversation, calls []Priced, paid []Paid) error {
		for i := range calls {
			s.add(s.row(c, calls[i].Model, calls[i].Began), &calls[i].Call, &calls[i].Price)
		}
		for _, p := range paid {
			s.row(c, p.Model, p.Time).Summaries += p.Cost
			s.total.Summaries += p.Cost
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.report(), nil
}

// sum adds up calls.
type sum struct {
	Options
	rows           map[string]*Row
	total          Row
	oldest, newest string
}

// Imported begins the keys of calls that were imported.
const Imported = "import "

// FromStored returns a recorded call.
func FromStored(conversation string, c *call.Stored) *Call {
	out := &Call{Conversation: conversation, Model: c.Model, Began: c.Began, Came: c.Came, Sent: c.Tokens,
		Repeats: c.Repeats, Would: c.Would, Outcome: c.Outcome, Error: c.Error}
	if u := c.Usage; u != nil {
		out.Usage = OfProvider(u)
	}
	return out
}

// OfProvider converts what a provider reported.
func OfProvider(u *event.Usage) *token.Usage {
	return &token.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.Hour,
		Output: u.Output, Service: u.Service}
}

// row returns the row of a call.
func (s *sum) row(c *timeline.Conversation, model string, at time.Time) *Row {
	key := ""
	switch local := at.In(s.Zone); s.By {
	case Hour:
		key = local.Format("2006-01-02T15")
	case Day:
		key = local.Format("2006-01-02")
	case Week:
		year, week := local.ISOWeek()
		key = fmt.Sprintf("%04d-W%02d", year, week)
	case Month:
		key = local.Format("2006-01")
	case Model:
		key = model
	case Project:
		key = c.Project
	case Conversation:
		key = c.Name
	}
	r := s.rows[key]
	if r == nil {
		r = &Row{Key: key}
		s.rows[key] = r
	}
	return r
}

func (s *sum) add(row *Row, c *Call, p *Price) {
	for _, r := range []*Row{row, &s.total} {
		r.Calls++
		if c.Outcome.Failed() {
			r.Failed++
		}
		if c.Began.After(r.Last) {
			r.Last = c.Began.UTC()
		}
		if !p.Billed {
			continue
		}
		r.LeftOut += max(0, c.Came-c.Sent)
		r.Input += p.Usage.Prompt()
		r.CacheRead += p.Usage.CacheRead
		r.CacheWrite += p.Usage.CacheWrite + p.Usage.CacheWrite1h
		r.Output += p.Usage.Output
		r.Cost += p.Cost
		r.Without += p.Without
		if len(p.Would) > 0 {
			if r.Observed == nil {
				r.Observed = new(Observed)
			}
			r.Observed.Add(p)
		}
		if tier := p.Usage.Service; tier != "" {
			if r.Services == nil {
				r.Services = map[string]int{}
			}
			r.Services[tier]++
		}
		if !p.Reported {
			r.Unreported++
		}
		if !p.Known && !slices.Contains(r.UnknownModels, c.Model) {
			r.UnknownModels = append(r.UnknownModels, c.Model)
		}
	}
	if p.Known {
		if s.oldest == "" || p.Date < s.oldest {
			s.oldest = p.Date
		}
		s.newest = max(s.newest, p.Date)
	}
}

func (s *sum) report() *Report {
	r := &Report{By: s.By, Rows: []Row{}, Total: s.total, Oldest: s.oldest, Newest: s.newest}
	r.Total.Key = "total"
	r.Total.finish()
	for _, row := range s.rows {
		row.finish()
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		if s.By.dated() {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input, a.Input), cmp.Compare(a.Key, b.Key))
	})
	return r
}

// Dollars rounds a sum of money to a ten-thousandth of a cent, so that the order of additions
// does not show.
func Dollars(sum float64) float64 { return math.Round(sum*1e6) / 1e6 }

func (r *Row) finish() {
	for _, d := range []*float64{&r.Cost, &r.Without, &r.Summaries} {
		*d = Dollars(*d)
	}
	if r.Observed != nil {
		r.Observed.Finish()
	}
	slices.Sort(r.UnknownModels)
	if r.UnknownModels == nil {
		r.UnknownModels = []string{}
	}
}

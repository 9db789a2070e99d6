package api

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// overview is the day so far.
type overview struct {
	Version string `json:"version"`
	Profile string `json:"profile"`
	// When the day began.
	Since time.Time `json:"since"`
	// When the server started.
	Started       time.Time     `json:"started"`
	Today         today         `json:"today"`
	Conversations conversations `json:"conversations"`
	FailOpen      failOpen      `json:"fail_open"`
	// Unread are requests since the start that were not read, by client, path and reason, the most
	// frequent first, 17 at most.
	Unread      []Unread    `json:"unread"`
	Calibration calibration `json:"calibration"`
	Store       storeSize   `json:"store"`
	// Queue is what waits to be written, of all tenants; only the tenant local sees it.
	Queue *queue `json:"queue,omitempty"`
	// Spool is what waits on disk; only the tenant local sees it.
	Spool *spool `json:"spool,omitempty"`
	// Limits are those that were learnt from refusals of providers.
	Limits []token.FoundLimit `json:"limits"`
	// The newest calls, newest first, 20 at most.
	Live []liveCall `json:"live"`
	// Running are the calls of this server that have not ended, newest first, 20 at most.
	Running []runningCall `json:"running"`
}

// today is the sums of the day.
type today struct {
	Calls  int       `json:"calls"`
	Failed int       `json:"failed"`
	Tokens dayTokens `json:"tokens"`
	Money  dayMoney  `json:"money"`
	// Plans that took messages out of view or shortened them.
	Cuts int `json:"cuts"`
	// Plans that brought passages back.
	Recalls int `json:"recalls"`
	// Passages that were brought back.
	Passages int `json:"passages"`
}

// dayTokens are the tokens of the day.
type dayTokens struct {
	// Prompt tokens as providers counted them.
	Sent int `json:"sent"`
	// The same, had everything been sent.
	Without    int `json:"without"`
	LeftOut    int `json:"left_out"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
}

// dayMoney is in US dollars.
type dayMoney struct {
	Cost float64 `json:"cost"`
	// The estimate had everything been sent.
	Without float64 `json:"without"`
	// Without less cost and summaries.
	Saved float64 `json:"saved"`
	// What summaries cost that a model wrote.
	Summaries     float64  `json:"summaries"`
	UnknownModels []string `json:"unknown_models"`
}

// conversations counts conversations.
type conversations struct {
	Count int `json:"count"`
	// Those that changed today.
	Active int `json:"active"`
}

// failOpen are the calls that went on without a part of Oriel, since the server started.
type failOpen struct {
	Total   int64     `json:"total"`
	Reasons []failure `json:"reasons"`
}

// calibration is how far counts were from what providers reported.
type calibration struct {
	// The mean of |counted − reported| / reported; 0.012 is 1.2 %.
	Error float64 `json:"error"`
	// How many calls had a reported prompt.
	Calls  int          `json:"calls"`
	Models []modelError `json:"models"`
}

// modelError is how far counts for one model were from what providers reported.
type modelError struct {
	Model string  `json:"model"`
	Error float64 `json:"error"`
	Calls int     `json:"calls"`
	// The factor that was learnt; 1 if none was.
	Scale float64 `json:"scale"`
}

// storeSize is what the history has.
type storeSize struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	// Bytes of the files, with all tenants; 0 for tenants other than local.
	Disk int64 `json:"disk"`
	// Bytes of all contents.
	Bytes int64 `json:"bytes"`
	// Bytes of all contents, compressed.
	Stored        int64 `json:"stored"`
	Conversations int64 `json:"conversations"`
	Messages      int64 `json:"messages"`
}

// queue is what waits to be written.
type queue struct {
	Calls int   `json:"calls"`
	Bytes int64 `json:"bytes"`
}

// spool is what waits on disk because the store did not accept it.
type spool struct {
	Calls int `json:"calls"`
	// Bytes of their files.
	Bytes int64 `json:"bytes"`
	// Calls that a newer version wrote; they wait for it.
	Newer int `json:"newer"`
	// Calls since the start that found a place neither in the store nor on disk.
	Lost int64 `json:"lost"`
}

// liveCall is one of the newest calls, with its conversation.
type liveCall struct {
	report.Call
	Conversation string `json:"conversation"`
	Title        string `json:"title"`

	of     timeline.Conversation
	priced usage.Priced
}

// maxLive is how many of the newest calls an overview has.
const maxLive = 20

func (q *request) overview() (*overview, error) {
	ctx := q.Context()
	now, err := q.now()
	if err != nil {
		return nil, err
	}
	o := &overview{
		Version: q.Version, Since: midnight(now), Started: q.started.UTC(),
		Live: []liveCall{},
	}
	if l := q.Settings(); l != nil {
		o.Profile = l.Profile
	}
	o.FailOpen.Total, o.FailOpen.Reasons = q.Hub.failed(q.tenant)
	o.Unread = append([]Unread{}, q.Unread(q.tenant)...)
	if q.operates() {
		waiting := call.Of(q.Engine).Spool()
		o.Queue, o.Spool = new(queue), &spool{waiting.Calls, waiting.Bytes, waiting.Newer, waiting.Lost}
		o.Queue.Calls, o.Queue.Bytes = call.Of(q.Engine).Backlog()
	}
	learnt, err := q.Learnt()
	if err != nil {
		return nil, err
	}
	o.Limits = q.limits(learnt)
	if err := q.storeSize(ctx, &o.Store); err != nil {
		return nil, err
	}
	o.Conversations.Count = int(o.Store.Conversations)
	options := usage.Options{By: usage.Day, Since: o.Since, Zone: now.Location(), Models: q.models()}
	sums, err := q.ledger.Read(ctx, q.tenant, options)
	if err != nil {
		return nil, err
	}
	o.Today.add(&sums.Total)
	if err := q.dayCalls(ctx, options, learnt, o); err != nil {
		return nil, err
	}
	o.Running = q.running(now)
	q.nameRunning(ctx, o.Running)
	return o, q.nameLive(ctx, o)
}

// midnight returns when the day of a time began.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// add adds what calls used and cost.
func (t *today) add(r *usage.Row) {
	t.Calls, t.Failed = r.Calls, r.Failed
	t.Tokens = dayTokens{r.Input, r.Input + r.LeftOut, r.LeftOut, r.CacheRead, r.CacheWrite, r.Output}
	t.Money = dayMoney{r.Cost, r.Without, math.Round((r.Without-r.Cost-r.Summaries)*1e6) / 1e6, r.Summaries,
		r.UnknownModels}
}

func (q *request) storeSize(ctx context.Context, s *storeSize) error {
	n, err := q.Store.Stats(ctx, q.tenant)
	if err != nil {
		return err
	}
	*s = storeSize{"ok", q.storeError(ctx), n.Disk, n.Bytes, n.Stored, n.Conversations, n.Messages}
	if s.Error != "" {
		s.Status = "failed"
	}
	if !q.operates() {
		s.Disk = 0
	}
	return nil
}

// dayCalls reads what sums of the day do not have: the newest calls, how far counts were
// from what was reported, cuts and recalls.
func (q *request) dayCalls(ctx context.Context, options usage.Options, learnt *token.Learnt, o *overview) error {
	errs := map[string]*modelError{}
	total := 0.0
	err := q.ledger.Visit(ctx, q.tenant, options, func(c *timeline.Conversation, calls []usage.Priced,
		_ []usage.Paid) error {
		if len(calls) > 0 { // others have changed, as imported ones have
			o.Conversations.Active++
		}
		for i := range calls {
			p := &calls[i]
			if p.Reported && p.Sent > 0 && p.Price.Usage.Prompt() > 0 {
				m := errs[p.Model]
				if m == nil {
					m = &modelError{Model: p.Model, Scale: 1}
					errs[p.Model] = m
				}
				off := math.Abs(float64(p.Sent-p.Price.Usage.Prompt())) / float64(p.Price.Usage.Prompt())
				m.Error, m.Calls = m.Error+off, m.Calls+1
				total, o.Calibration.Calls = total+off, o.Calibration.Calls+1
			}
			if i >= len(calls)-maxLive {
				o.Live = append(o.Live, liveCall{Conversation: c.Name, of: *c, priced: *p})
			}
		}
		return q.dayPlans(ctx, c, &o.Today, options.Since)
	})
	if err != nil {
		return err
	}
	o.Calibration.Error = total / float64(max(1, o.Calibration.Calls))
	o.Calibration.Models = []modelError{}
	for _, m := range errs {
		m.Error /= float64(m.Calls)
		if learnt != nil {
			if s := learnt.Calibration.Scale(token.LearntKey(q.tenant, m.Model)).Slope; s > 0 {
				m.Scale = s
			}
		}
		o.Calibration.Models = append(o.Calibration.Models, *m)
	}
	slices.SortFunc(o.Calibration.Models, func(a, b modelError) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Model, b.Model))
	})
	return nil
}

// nameLive keeps the newest calls, reads them and gives them titles.
func (q *request) nameLive(ctx context.Context, o *overview) error {
	slices.SortStableFunc(o.Live, func(a, b liveCall) int { return b.priced.Began.Compare(a.priced.Began) })
	all := o.Live[:min(len(o.Live), maxLive)]
	o.Live = all[:0]
	for _, l := range all {
		calls, err := q.allCalls(ctx, &l.of)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(calls, func(c report.Call) bool { return c.ID == l.priced.ID })
		if i < 0 { // it was deleted since
			continue
		}
		l.Call = calls[i]
		l.SetPrice([]usage.Priced{l.priced})
		if l.Title, err = q.title(&l.of); err != nil {
			return err
		}
		o.Live = append(o.Live, l)
	}
	return nil
}

// usageReport is sums of calls.
type usageReport struct {
	By     usage.By    `json:"by"`
	Since  *time.Time  `json:"since,omitempty"`
	Rows   []usage.Row `json:"rows"`
	Total  usage.Row   `json:"total"`
	Prices priceDates  `json:"prices"`
}

// priceDates are the days on which the prices that were used were looked up.
type priceDates struct {
	Oldest string `json:"oldest"`
	Newest string `json:"newest"`
}

func (q *request) usage() (*usageReport, error) {
	now, err := q.now()
	if err != nil {
		return nil, err
	}
	by, err := q.choice(byParam)
	if err != nil {
		return nil, err
	}
	o := usage.Options{By: usage.By(by), Zone: now.Location(), Models: q.models()}
	if o.Since, err = q.since(now); err != nil {
		return nil, err
	}
	if name := q.URL.Query().Get("conversation"); name != "" {
		c, err := q.findNamed(q.Context(), name)
		if err != nil {
			return nil, err
		}
		o.Conversation = c.Name
	}
	r, err := q.ledger.Read(q.Context(), q.tenant, o)
	if err != nil {
		return nil, err
	}
	out := &usageReport{By: r.By, Rows: r.Rows, Total: r.Total, Prices: priceDates{r.Oldest, r.Newest}}
	if !o.Since.IsZero() {
		since := o.Since.UTC()
		out.Since = &since
	}
	return out, nil
}

func (q *request) cache() (*misses.CacheReport, error) {
	now, err := q.now()
	if err != nil {
		return nil, err
	}
	o := misses.Options{Models: q.models()}
	if o.Since, err = q.since(now); err != nil {
		return nil, err
	}
	return q.misses.Read(q.Context(), q.tenant, o)
}

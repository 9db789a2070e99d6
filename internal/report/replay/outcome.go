package replay

import (
	"time"

	"github.com/oriel-context/oriel/token"
)

// Policy is a way to send a session.
type Policy struct {
	// Name is "append", which sends all, a profile (balanced), or a policy of package
	// window (ladder, slide, …), which has Window.
	Name string
	// Window is the most tokens of a request, 0 for what the profile says.
	Window int
	// Low is the low mark of a policy of package window; 0 is its default.
	Low float64
	// NoRecall switches recall off.
	NoRecall bool
}

// Outcome is what one policy made of some calls.
type Outcome struct {
	Session string `json:"session"`
	Policy  string `json:"policy"`
	Window  int    `json:"window"`
	Calls   int    `json:"calls"`
	// PromptTokens is the sum of the next three.
	PromptTokens int `json:"prompt_tokens"`
	CacheRead    int `json:"cache_read"`
	CacheWrite   int `json:"cache_write"`
	Uncached     int `json:"uncached"`
	// Cost is that of the prompts in US dollars, or in millions of uncached input tokens
	// if the session's model has no price. Replies cost the same with every policy.
	Cost float64 `json:"cost"`
	// CostRatio is Cost by that of append on the same calls.
	CostRatio float64 `json:"cost_ratio"`
	// PairViolations counts calls and results without each other that the request did not
	// come with.
	PairViolations int `json:"pair_violations"`
	// PrefixStable is the part of the last request with which a request begins, on average
	// of all requests whose client had changed nothing of it.
	PrefixStable float64 `json:"prefix_stable"`
	Cuts         int     `json:"cuts"`
	// RereadCovered is the part of the files and commands read or run again after a cut
	// whose newest result was in the window; 1 if there were none.
	RereadCovered float64 `json:"reread_covered"`

	Detail `json:"-"`
}

// Detail is what the screens show beside the fields of an Outcome.
type Detail struct {
	// Needed counts what replies needed of the history, Missing what of it was not in the
	// window, Back what of that was there as something recalled.
	Needed, Missing, Back int
	Again, Held           int
	// Recalls counts requests to which something was recalled.
	Recalls int
	// Idle are the tokens that a pause had written to the cache again, IdleCost what that
	// cost beyond reading them, IdleCalls how many calls that were.
	Idle, IdleCalls int
	IdleCost        float64
	// Longest is the largest prompt.
	Longest int
	// Unpriced counts calls of models without a price.
	Unpriced int
	// Points has a point for each call, if they were asked for.
	Points []Point

	stable  float64
	stables int
	units   float64 // the cost of calls without a price
}

// Point is one call of one policy.
type Point struct {
	Prompt, Read int
	Cost         float64
	Cut, Idle    bool
}

// Add adds the outcome of other calls of the same policy.
func (o *Outcome) Add(p *Outcome) {
	o.Calls += p.Calls
	o.PromptTokens += p.PromptTokens
	o.CacheRead, o.CacheWrite, o.Uncached = o.CacheRead+p.CacheRead, o.CacheWrite+p.CacheWrite, o.Uncached+p.Uncached
	o.Cost += p.Cost
	o.PairViolations += p.PairViolations
	o.Cuts += p.Cuts
	o.Needed, o.Missing, o.Back = o.Needed+p.Needed, o.Missing+p.Missing, o.Back+p.Back
	o.Again, o.Held = o.Again+p.Again, o.Held+p.Held
	o.Recalls += p.Recalls
	o.Idle, o.IdleCalls, o.IdleCost = o.Idle+p.Idle, o.IdleCalls+p.IdleCalls, o.IdleCost+p.IdleCost
	o.Longest = max(o.Longest, p.Longest)
	o.Unpriced += p.Unpriced
	o.stable, o.stables = o.stable+p.stable, o.stables+p.stables
	o.finish()
}

// finish sets the shares from the sums.
func (o *Outcome) finish() {
	o.PrefixStable, o.RereadCovered = 1, 1
	if o.stables > 0 {
		o.PrefixStable = o.stable / float64(o.stables)
	}
	if o.Again > 0 {
		o.RereadCovered = float64(o.Held) / float64(o.Again)
	}
}

// bill adds a prompt.
func (o *Outcome) bill(r Rules, u token.Usage) float64 {
	u.Output = 0
	cost := r.Prices.Cost(u)
	o.Calls++
	o.PromptTokens += u.Prompt()
	o.CacheRead += u.CacheRead
	o.CacheWrite += u.CacheWrite + u.CacheWrite1h
	o.Uncached += u.Input
	o.Longest = max(o.Longest, u.Prompt())
	if r.Priced {
		o.Cost += cost
	} else {
		o.Unpriced++
		o.units += cost
	}
	return cost
}

// Session is one replayed session.
type Session struct {
	Name, Project, Source, File string
	// Models are the models that were called, most calls first.
	Models []ModelUse
	// Began and Ended are the times of the first and the last call; Active is the time
	// between calls without pauses of more than an hour.
	Began, Ended time.Time
	Active       time.Duration
	Calls        int
	// Histories counts the histories: a compaction begins another.
	Histories int
	// Paid is what the recorded usage costs, replies included.
	Paid Paid
	// Calibration compares the replay of append with what was recorded.
	Calibration Calibration
	// Priced reports that a call's model has a price. If none has, the costs of outcomes are in
	// millions of uncached input tokens; otherwise calls without a price cost nothing in them.
	Priced bool
	// Outcomes are in the order of the policies; the first is append.
	Outcomes []*Outcome
}

// ModelUse is what calls of one model used, as recorded.
type ModelUse struct {
	Model string
	Calls int
	Paid
}

// Paid is what calls cost by the usage that was recorded.
type Paid struct {
	// Reported counts calls with recorded usage, Unpriced those of them whose model has no
	// price.
	Reported, Unpriced int
	Usage              token.Usage
	// Prompts and Replies are in US dollars.
	Prompts, Replies float64
}

// Cost returns the cost of prompts and replies.
func (p *Paid) Cost() float64 { return p.Prompts + p.Replies }

func (p *Paid) add(q *Paid) {
	p.Reported, p.Unpriced = p.Reported+q.Reported, p.Unpriced+q.Unpriced
	p.Usage.Input += q.Usage.Input
	p.Usage.CacheRead += q.Usage.CacheRead
	p.Usage.CacheWrite += q.Usage.CacheWrite
	p.Usage.CacheWrite1h += q.Usage.CacheWrite1h
	p.Usage.Output += q.Usage.Output
	p.Prompts, p.Replies = p.Prompts+q.Prompts, p.Replies+q.Replies
}

// call adds one call.
func (p *Paid) call(r Rules, u token.Usage) {
	one := Paid{Reported: 1, Usage: u}
	if r.Priced {
		all := r.Prices.Cost(u)
		u.Output = 0
		one.Prompts = r.Prices.Cost(u)
		one.Replies = all - one.Prompts
	} else {
		one.Unpriced = 1
	}
	p.add(&one)
}

// Calibration compares what the replay of append-only calls reads and writes with what
// providers reported, over the calls that they reported.
type Calibration struct {
	Calls int `json:"calls"`
	// Recorded, Replayed and ByRules are tokens: as reported, as the replay has them, and
	// as rules and clock alone would have them.
	Recorded, Replayed, ByRules ReadsWrites
	// Losses counts calls of which the provider read less than the rules say, Finds those
	// of which it read more.
	Losses, Finds int
}

// ReadsWrites are tokens of a cache.
type ReadsWrites struct{ Read, Write int }

func (c *Calibration) add(d *Calibration) {
	c.Calls, c.Losses, c.Finds = c.Calls+d.Calls, c.Losses+d.Losses, c.Finds+d.Finds
	for _, p := range []struct{ to, from *ReadsWrites }{{&c.Recorded, &d.Recorded}, {&c.Replayed, &d.Replayed},
		{&c.ByRules, &d.ByRules}} {
		p.to.Read, p.to.Write = p.to.Read+p.from.Read, p.to.Write+p.from.Write
	}
}

// Tolerance is how far from what was recorded a session may be before reports name it.
const Tolerance = .05

// Error returns the larger relative error of reads and writes; 0 without recorded ones.
func (c *Calibration) Error() float64 { return relativeError(c.Replayed, c.Recorded) }

// ErrorByRules is Error of rules and clock alone.
func (c *Calibration) ErrorByRules() float64 { return relativeError(c.ByRules, c.Recorded) }

func relativeError(got, want ReadsWrites) float64 {
	rel := func(a, b int) float64 {
		if b == 0 {
			return 0
		}
		return float64(max(a-b, b-a)) / float64(b)
	}
	return max(rel(got.Read, want.Read), rel(got.Write, want.Write))
}

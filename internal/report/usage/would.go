package usage

import (
	"slices"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/token"
)

// Would is what a call would have used and cost under another profile.
type Would struct {
	Profile string
	Usage   token.Usage
	Cost    float64
	// Cut reports that the profile would have cut the call anew.
	Cut bool
}

// others returns what a call would have used under other profiles. Until one of them leaves
// something out, that is what the call used. From then on what it repeats of its own last prompt is
// read from the cache, as far as the provider reads what calls repeat, and the rest is new.
func (s *line) others(rule *token.CacheRule, c *Call, used token.Usage, hit float64) (all []Would) {
	for _, profile := range call.Observed {
		w, ok := c.Would[profile]
		if !ok {
			continue
		}
		if s.would == nil {
			s.would = map[string]bool{}
		}
		s.would[profile] = s.would[profile] || w.Sent < c.Sent
		one := Would{Profile: profile, Usage: used, Cut: w.Cut}
		if s.would[profile] {
			part := func(of, n int) int { return int(float64(of) * float64(n) / float64(max(1, c.Sent))) }
			had := 0
			switch {
			case !s.cached:
			case w.Repeats < 0: // the call before is not known
				had = part(used.CacheRead, w.Sent)
			default:
				repeated := part(used.Prompt(), w.Repeats)
				had = max(cacheable(rule, int(hit*float64(repeated))), min(used.CacheRead, repeated))
			}
			one.Usage = asItCame(used, part(used.Prompt(), w.Sent), had)
		}
		all = append(all, one)
	}
	return all
}

// Observed is the sum of calls that were sent as they came, and of what they would have been
// under other profiles.
type Observed struct {
	Calls int `json:"calls"`
	// Input is their prompt tokens, Cost what they cost in US dollars.
	Input int     `json:"input"`
	Cost  float64 `json:"cost"`
	// Would are the profiles, the one that sends most first.
	Would []WouldRow `json:"would"`
}

// WouldRow is the sum of calls as a profile would have sent them.
type WouldRow struct {
	Profile   string `json:"profile"`
	Input     int    `json:"input"`
	CacheRead int    `json:"cache_read"`
	// Cuts is how often it would have cut.
	Cuts int     `json:"cuts"`
	Cost float64 `json:"cost"`
}

// Add adds a call. It does nothing for one that was not observed.
func (o *Observed) Add(p *Price) {
	if len(p.Would) == 0 {
		return
	}
	o.Calls++
	o.Input += p.Usage.Prompt()
	o.Cost += p.Cost
	for i := range p.Would {
		w := &p.Would[i]
		k := slices.IndexFunc(o.Would, func(r WouldRow) bool { return r.Profile == w.Profile })
		if k < 0 {
			k = len(o.Would)
			o.Would = append(o.Would, WouldRow{Profile: w.Profile})
		}
		r := &o.Would[k]
		r.Input += w.Usage.Prompt()
		r.CacheRead += w.Usage.CacheRead
		r.Cost += w.Cost
		if w.Cut {
			r.Cuts++
		}
	}
}

// Finish rounds the sums of money.
func (o *Observed) Finish() {
	o.Cost = Dollars(o.Cost)
	for i := range o.Would {
		o.Would[i].Cost = Dollars(o.Would[i].Cost)
	}
}

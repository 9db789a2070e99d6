package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// Mode selects how a search scores passages.
type Mode string

// The modes.
const (
	// Hybrid uses words, meaning, neighbours and priors, and words alone if
	// there are no vectors.
	Hybrid Mode = "hybrid"
	// Keyword is Hybrid without meaning.
	Keyword Mode = "keyword"
	// Dense uses the cosine alone.
	Dense Mode = "dense"
)

// Defaults of RecallOptions.
const (
	DefaultBudget     = 2048
	DefaultFloor      = .15
	DefaultDenseFloor = .3 // SPEC D2
	DefaultDenseTop   = 10 // SPEC D2
)

// RecallOptions configures a search.
type RecallOptions struct {
	// Budget is the most tokens that the text may have. 0 means DefaultBudget.
	Budget int
	// Top is the most passages. 0 means DefaultDenseTop for Dense and
	// otherwise no limit; a negative number means no limit.
	Top int
	// Floor is the score below which nothing is shown; see Passage.Score. 0
	// means DefaultFloor, or DefaultDenseFloor for Dense; a negative number
	// means no floor.
	Floor float64
	// Mode selects the scoring. Empty means Hybrid.
	Mode Mode
	// Exclude, if not nil, reports whether a block must not be shown, because
	// the window shows it already (SPEC D3).
	Exclude func(block string) bool
	// Had, if not nil, reports whether the window shows one passage of a block, numbered
	// like Passage.Part. It must not be shown again.
	Had func(block string, part int) bool
	// Since and Until, unless they are zero, leave out what was said before Since or at
	// Until and later, and what has no time.
	Since, Until time.Time
	// Dismissed, if not nil, reports whether the directives of a block no
	// longer hold. Its passages are still found like all others.
	Dismissed func(block string) bool
	// Boost, if not nil, returns what to add to the score of a passage. It is
	// called for the best passages only: a quarter as many as the budget has
	// tokens, at least 256. One of the n words of a query is worth
	// Weights.Question/n. Negative infinity removes the passage; for Dense all
	// other values are ignored.
	Boost func(text string) float32
	// Directives is how many tokens of standing instructions come before
	// everything else. 0 means Weights.Pins of the budget, a sixteenth; a
	// negative number means none.
	Directives int
	// Neighbours is how many messages before and after are added to each
	// passage. The score considers neighbours already; adding more of them
	// costs more than it gains.
	Neighbours int
	// Whole leaves out a long passage that does not fit, instead of showing its
	// beginning.
	Whole bool
	// Sized shows only what is likely to be needed, for a reader whom every further
	// passage distracts: a quarter of the budget, up to a half while passages are nearly
	// as good as the best, and less if few are; nothing for a remark in a talk, which asks
	// for nothing. Without it the budget is filled with everything that is near enough.
	Sized bool
	// Shown, if not nil, reports whether the reader sees a block already. A sized search
	// shows little or nothing if such a block fits the query better than all others, any
	// other search no calls without their results.
	Shown func(block string) bool
	// Now is the time that "yesterday" is relative to. With the zero time,
	// relative dates are ignored.
	Now time.Time
	// VectorWait is how long the first search of a library's scope waits for its vectors,
	// which a program that has just begun must read first. 0 means as long as
	// Library.Recall says.
	VectorWait time.Duration
}

// A Result is what a search found, in chronological order.
type Result struct {
	Query    string    `json:"query"`
	Mode     Mode      `json:"mode"`
	TookMS   float64   `json:"took_ms"`
	Tokens   int       `json:"tokens"`
	Passages []Passage `json:"passages"`
	Text     string    `json:"text"`
	// Unembedded is the number of passages of a library's scope that were searched by
	// words alone, because they have no vector yet.
	Unembedded int `json:"-"`
}

// A Passage is one hit.
type Passage struct {
	Block string     `json:"block"`
	Ref   string     `json:"ref"`
	Time  *time.Time `json:"time,omitempty"`
	Role  string     `json:"role"`
	Name  string     `json:"name,omitempty"`
	// Score is between 0 and 1: the geometric mean of the certainty that the
	// scope holds anything relevant and of the passage's position between the
	// worst and the best. For Dense it is the cosine.
	Score float64 `json:"score"`
	// Keyword is the BM25 of the passage's own words, as a share of the most
	// that the query's words could score.
	Keyword float64 `json:"keyword"`
	// Dense is the cosine.
	Dense float64 `json:"dense"`
	// Prior is what speaker, role, date and directives added.
	Prior  float64 `json:"prior"`
	Tokens int     `json:"tokens"`
	Text   string  `json:"text"`
	// Cut reports that Text is only the beginning of the passage, because the
	// rest did not fit.
	Cut bool `json:"cut,omitempty"`
	// Part numbers the passages of a message from 0; Parts is how many there
	// are.
	Part  int `json:"-"`
	Parts int `json:"-"`
	// Tool marks tool input and output. Such a passage does not continue the
	// one before it.
	Tool bool `json:"-"`
	// Mixed marks a user's message with what a program put beside the user's words; see
	// QuoteMixed.
	Mixed bool `json:"-"`
}

// Recall searches the scope for a query and returns what fits the budget.
func (s *Scope) Recall(ctx context.Context, query string, o RecallOptions) (*Result, error) {
	began := time.Now()
	ranked, err := s.Rank(ctx, query, o)
	if err != nil {
		return nil, err
	}
	r := ranked.Pack(o)
	s.free.Put(ranked.scores)
	r.TookMS = float64(time.Since(began).Microseconds()) / 1000
	return r, nil
}

// A Ranking is the scores of a scope for one query, before a budget is known.
// It is valid until something is removed from the scope.
type Ranking struct {
	s      *Scope
	query  string
	mode   Mode
	scores *scores
	n      int // number of passages when it was made

	byTime  bool // a ranking by time, which keeps repetitions
	boosted bool
	chosen  []int32 // the passages that the caller accepts, best first
}

// Rank scores the whole scope once, for packing under several budgets.
func (s *Scope) Rank(ctx context.Context, query string, o RecallOptions) (*Ranking, error) {
	mode := cmp.Or(o.Mode, Hybrid)
	query = withoutForm(query)
	var vector []float32
	s.mu.RLock()
	ready := s.vectors != nil
	s.mu.RUnlock()
	if mode != Keyword && s.o.Model != nil && ready && strings.TrimSpace(query) != "" {
		var err error
		if vector, err = s.queryVector(ctx, query); err != nil {
			return nil, err
		}
	}
	if vector == nil {
		mode = Keyword
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if vector != nil {
		if err := s.checkVector(vector, s.vectors.Dimensions()); err != nil {
			return nil, err
		}
	}
	r := &Ranking{s: s, query: query, mode: mode, n: s.texts.count()}
	r.scores, _ = s.free.Get().(*scores)
	if r.scores == nil {
		r.scores = new(scores)
	}
	if err := s.score(r.scores, query, vector, &o); err != nil {
		return nil, err
	}
	if mode == Dense {
		for i := range r.scores.total {
			if s.flags[i]&flagRemoved == 0 {
				r.scores.total[i] = s.cosine(r.scores, int32(i))
			}
		}
	}
	if o.Boost != nil {
		r.boost(&o)
	}
	return r, nil
}

// allowed returns a function that reports whether a passage may be shown.
func (r *Ranking) allowed(o *RecallOptions) func(i int32) bool {
	s := r.s
	return func(i int32) bool {
		return int(i) < r.n && s.flags[i]&flagRemoved == 0 && !s.excludes(o, i)
	}
}

// excludes reports whether a passage must not be shown.
func (s *Scope) excludes(o *RecallOptions, i int32) bool {
	m := s.messageOf[i]
	return o.excludes(&s.origins[m]) || o.Had != nil && o.Had(s.origins[m].block, int(i-s.messages[m].first))
}

// excludes reports whether messages of an origin must not be shown.
func (o *RecallOptions) excludes(from *origin) bool {
	if !o.Since.IsZero() && from.time.Before(o.Since) ||
		!o.Until.IsZero() && (from.time.IsZero() || !from.time.Before(o.Until)) {
		return true
	}
	return o.Exclude != nil && o.Exclude(from.block)
}

// value returns a passage's score on the scale of the floor.
func (r *Ranking) value(i int32) float32 {
	if r.mode == Dense {
		return r.s.cosine(r.scores, i)
	}
	return r.scores.share(i)
}

// Pack selects the passages that fit a budget.
func (r *Ranking) Pack(o RecallOptions) *Result {
	s := r.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	budget, floor, top := cmp.Or(o.Budget, DefaultBudget), float32(cmp.Or(o.Floor, DefaultFloor)), o.Top
	if r.mode == Dense {
		floor, top = float32(cmp.Or(o.Floor, DefaultDenseFloor)), cmp.Or(o.Top, DefaultDenseTop)
	}
	if floor >= 0 && r.mode != Dense {
		budget = r.scores.allowance(budget)
	}
	p := s.packing(budget, top)
	p.repeats, p.whole, p.now = r.byTime, o.Whole, o.Now
	allowed := r.allowed(&o)
	candidates := slices.DeleteFunc(slices.Clone(r.chosen), func(i int32) bool { return !allowed(i) })
	if !r.boosted {
		candidates = r.best(candidatesFor(budget), allowed)
	}
	if r.mode != Dense && o.Directives >= 0 && len(candidates) > 0 && r.value(candidates[0]) >= floor {
		r.directives(p, cmp.Or(o.Directives, int(s.weights.Pins*float32(budget))), allowed)
	}
	newest := r.newest(candidates)
	limit := r.limits(&o, budget, candidates)
	for _, i := range candidates {
		if p.full() {
			break
		}
		if r.value(i) < floor {
			continue
		}
		if floor >= 0 {
			most := limit(i)
			if most == skipped {
				continue
			}
			if p.budget = most; p.full() {
				break
			}
		}
		if i = newest(i); p.add(i) && o.Neighbours > 0 {
			r.around(p, i, o.Neighbours, allowed)
		}
	}
	p.budget = budget
	text, tokens, order, texts := p.finish()
	out := &Result{Query: r.query, Mode: r.mode, Tokens: tokens, Text: text, Passages: make([]Passage, len(order))}
	for k, i := range order {
		out.Passages[k] = r.passage(i, texts[k])
		if b, cut := p.begun[i]; cut {
			out.Passages[k].Cut, out.Passages[k].Tokens = true, int(b.cost)
		}
	}
	return out
}

// directives packs the standing instructions, newest first.
func (r *Ranking) directives(p *packing, limit int, allowed func(int32) bool) {
	for _, i := range slices.Backward(r.s.instructions) {
		if r.s.flags[i]&flagInstruction != 0 && !r.scores.dismissed[i] && allowed(i) &&
			p.used+int(r.s.cost[i]) <= limit {
			p.add(i)
		}
	}
}

// newest returns a function that maps a candidate to the newest candidate with
// the same words. If the query names a date, an older one may be meant, and
// each candidate maps to itself.
func (r *Ranking) newest(candidates []int32) func(int32) int32 {
	if r.byTime || r.scores.prior.session != nil {
		return func(i int32) int32 { return i }
	}
	latest := make(map[uint64]int32, len(candidates))
	for _, i := range candidates {
		said := r.s.saying[i]
		if other, ok := latest[said]; !ok || r.s.later(i, other) {
			latest[said] = i
		}
	}
	return func(i int32) int32 { return latest[r.s.saying[i]] }
}

// around packs the messages before and after that of a passage.
func (r *Ranking) around(p *packing, i int32, n int, allowed func(int32) bool) {
	s := r.s
	before, after := s.messageOf[i], s.messageOf[i]
	for range n {
		if before >= 0 {
			before = s.messages[before].prev
		}
		if after >= 0 {
			after = s.messages[after].next
		}
		for _, m := range []int32{before, after} {
			if m < 0 {
				continue
			}
			for k := s.messages[m].first; k < s.messages[m].first+s.messages[m].count; k++ {
				if allowed(k) {
					p.add(k)
				}
			}
		}
	}
}

func (r *Ranking) passage(i int32, text string) Passage {
	s := r.s
	m, from := &s.messages[s.messageOf[i]], &s.origins[s.messageOf[i]]
	out := Passage{
		Block: from.block, Ref: from.ref, Role: roleOf(from.role, s.flags[i]), Tokens: int(s.cost[i]), Text: text,
		Score: round(r.value(i)), Keyword: round(s.keyword(r.scores, i)), Dense: round(s.cosine(r.scores, i)),
		Prior: round(s.priorOf(r.scores, i)),
		Part:  int(i - m.first), Parts: int(m.count), Tool: s.flags[i]&flagTool != 0, Mixed: s.flags[i]&flagMixed != 0,
	}
	if !from.time.IsZero() {
		t := from.time.UTC()
		out.Time = &t
	}
	if m.speaker >= 0 && s.flags[i]&flagGiven == 0 {
		out.Name = s.people.names[m.speaker]
	}
	return out
}

// round keeps three decimals; more would be noise.
func round(x float32) float64 { return math.RoundToEven(float64(x)*1000) / 1000 }

// best returns the k best allowed passages, best first, ties by age.
func (r *Ranking) best(k int, allowed func(int32) bool) []int32 {
	// A heap with the worst on top. Numbers ascend, so a later passage that
	// equals the worst does not replace it.
	total := r.scores.total[:r.n]
	k = min(k, len(total))
	ids := make([]int32, 0, k)
	worse := func(a, b int32) bool { return total[a] < total[b] || total[a] == total[b] && a > b }
	bar := float32(lowest)
	for i, t := range total {
		if t <= bar || !allowed(int32(i)) {
			continue
		}
		if len(ids) < k {
			ids = append(ids, int32(i))
			for at := len(ids) - 1; at > 0 && worse(ids[at], ids[(at-1)/2]); at = (at - 1) / 2 {
				ids[at], ids[(at-1)/2] = ids[(at-1)/2], ids[at]
			}
		} else {
			ids[0] = int32(i)
			for at := 0; 2*at+1 < k; {
				child := 2*at + 1
				if child+1 < k && worse(ids[child+1], ids[child]) {
					child++
				}
				if !worse(ids[child], ids[at]) {
					break
				}
				ids[child], ids[at] = ids[at], ids[child]
				at = child
			}
		}
		if len(ids) == k {
			bar = total[ids[0]]
		}
	}
	slices.SortFunc(ids, r.better)
	return ids
}

// Newest returns a ranking by time alone, as a sliding window would show.
func (s *Scope) Newest() *Ranking {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.texts.count()
	r := &Ranking{s: s, mode: Keyword, n: n, byTime: true, scores: &scores{total: make([]float32, n),
		words: make([]float32, n), prior: prior{speaker: make([]float32, len(s.people.names))}}}
	for i := range r.scores.total {
		r.scores.total[i] = float32(i)
	}
	return r
}

// Embeds reports whether the scope has a model.
func (s *Scope) Embeds() bool { return s.o.Model != nil }

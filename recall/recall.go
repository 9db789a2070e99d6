package recall

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode is what a search goes by.
type Mode string

// The modes.
const (
	// Hybrid goes by words, meaning, neighbours and priors; by words alone where
	// there are no vectors.
	Hybrid Mode = "hybrid"
	// Keyword is Hybrid without meaning.
	Keyword Mode = "keyword"
	// Dense goes by cosine alone.
	Dense Mode = "dense"
)

// Defaults of RecallOptions.
const (
	DefaultBudget     = 2048
	DefaultFloor      = .15
	DefaultDenseFloor = .3 // SPEC D2
	DefaultDenseTop   = 10 // SPEC D2
)

// RecallOptions say what is wanted of a search.
type RecallOptions struct {
	// Budget is the most tokens that the text may have. 0 means DefaultBudget.
	Budget int
	// Top is the most passages. 0 means DefaultDenseTop for Dense and no limit
	// else; a negative number no limit.
	Top int
	// Floor is the score below which nothing is shown: see Passage.Score. 0 means
	// DefaultFloor, for Dense DefaultDenseFloor; a negative number no floor.
	Floor float64
	// Mode is what the search goes by. Empty means Hybrid.
	Mode Mode
	// Exclude, where it is set, tells what is not to be shown, by its block: what
	// the window shows already (SPEC D3).
	Exclude func(block string) bool
	// Directives is how many tokens of standing instructions go before all else. 0
	// means Weights.Pins of the budget, a sixteenth; a negative number none.
	Directives int
	// Neighbours is how many messages before and after go with each passage. The
	// score has them in mind already; more of them cost more than they bring.
	Neighbours int
	// Now is what "yesterday" counts from; zero means that nothing is relative.
	Now time.Time
}

// Result is what a search found, in the order of time.
type Result struct {
	Query    string    `json:"query"`
	Mode     Mode      `json:"mode"`
	TookMS   float64   `json:"took_ms"`
	Tokens   int       `json:"tokens"`
	Passages []Passage `json:"passages"`
	Text     string    `json:"text"`
}

// Passage is something that was found.
type Passage struct {
	Block string     `json:"block"`
	Ref   string     `json:"ref"`
	Time  *time.Time `json:"time,omitempty"`
	Role  string     `json:"role"`
	Name  string     `json:"name,omitempty"`
	// Score is 0 to 1: the geometric mean of how sure it is that the scope has
	// anything to say, and of where the passage stands between the worst and the
	// best. For Dense it is the cosine.
	Score float64 `json:"score"`
	// Keyword is the share of the query's words, by their weight, that the
	// passage has itself; Dense its cosine; Prior what speaker, role, date and
	// directives added.
	Keyword float64 `json:"keyword"`
	Dense   float64 `json:"dense"`
	Prior   float64 `json:"prior"`
	Tokens  int     `json:"tokens"`
	Text    string  `json:"text"`
	// Part numbers the passages of a message from 0; Parts is how many there are.
	Part  int `json:"-"`
	Parts int `json:"-"`
}

// Recall finds what a query needs, under a budget.
func (s *Scope) Recall(ctx context.Context, query string, o RecallOptions) (*Result, error) {
	began := time.Now()
	ranked, err := s.Rank(ctx, query, o)
	if err != nil {
		return nil, err
	}
	r := ranked.Pack(o)
	r.TookMS = float64(time.Since(began).Microseconds()) / 1000
	return r, nil
}

// Ranking is what a query made of a scope, before a budget is known. It holds for
// as long as nothing is removed from the scope.
type Ranking struct {
	s      *Scope
	query  string
	mode   Mode
	scores *scores
	n      int // passages when it was made
}

// Rank scores the whole scope once, for packing under several budgets.
func (s *Scope) Rank(ctx context.Context, query string, o RecallOptions) (*Ranking, error) {
	mode := cmp.Or(o.Mode, Hybrid)
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
	r := &Ranking{s: s, query: query, mode: mode, n: len(s.texts)}
	var err error
	if r.scores, err = s.score(query, vector, &o); err != nil {
		return nil, err
	}
	if mode == Dense {
		for i := range r.scores.total {
			if s.flags[i]&flagRemoved == 0 {
				r.scores.total[i] = r.scores.dense[i]
			}
		}
	}
	return r, nil
}

// value is a passage's score on the scale of the floor.
func (r *Ranking) value(i int32) float32 {
	if r.mode == Dense {
		return r.scores.dense[i]
	}
	return r.scores.share(i)
}

// Pack chooses under a budget.
func (r *Ranking) Pack(o RecallOptions) *Result {
	s := r.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	budget, floor, top := cmp.Or(o.Budget, DefaultBudget), float32(cmp.Or(o.Floor, DefaultFloor)), o.Top
	if r.mode == Dense {
		floor, top = float32(cmp.Or(o.Floor, DefaultDenseFloor)), cmp.Or(o.Top, DefaultDenseTop)
	}
	p := s.packing(budget)
	allowed := func(i int32) bool {
		return s.flags[i]&flagRemoved == 0 && (o.Exclude == nil || !o.Exclude(s.origins[s.messageOf[i]].block))
	}
	candidates := r.best(max(256, budget/4))
	if r.mode != Dense && s.people.instruct() && o.Directives >= 0 && len(candidates) > 0 && r.value(candidates[0]) >= floor {
		r.directives(p, cmp.Or(o.Directives, int(s.weights.Pins*float32(budget))), allowed)
	}
	pinned := len(p.chosen)
	for _, i := range candidates {
		if p.full() || top > 0 && len(p.chosen)-pinned >= top {
			break
		}
		if r.value(i) >= floor && allowed(i) && p.add(i) && o.Neighbours > 0 {
			r.around(p, i, o.Neighbours, allowed)
		}
	}
	text, tokens, order := p.finish()
	out := &Result{Query: r.query, Mode: r.mode, Tokens: tokens, Text: text, Passages: make([]Passage, len(order))}
	for k, i := range order {
		out.Passages[k] = r.passage(i)
	}
	return out
}

// directives packs the standing instructions, the newest first.
func (r *Ranking) directives(p *packing, limit int, allowed func(int32) bool) {
	for i := int32(r.n) - 1; i >= 0; i-- {
		if r.s.flags[i]&flagInstruction != 0 && allowed(i) && p.used+int(r.s.cost[i]) <= limit {
			p.add(i)
		}
	}
}

// around packs the messages beside that of a passage.
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

func (r *Ranking) passage(i int32) Passage {
	s := r.s
	m, from := &s.messages[s.messageOf[i]], &s.origins[s.messageOf[i]]
	out := Passage{
		Block: from.block, Ref: from.ref, Role: from.role, Tokens: int(s.cost[i]), Text: s.texts[i],
		Score: round(r.value(i)), Keyword: round(r.scores.keyword[i]), Dense: round(r.scores.dense[i]), Prior: round(r.scores.prior[i]),
		Part: int(i - m.first), Parts: int(m.count),
	}
	if !from.time.IsZero() {
		t := from.time.UTC()
		out.Time = &t
	}
	if m.speaker >= 0 {
		out.Name = s.people.names[m.speaker]
	}
	return out
}

// round keeps three digits: more would be noise.
func round(x float32) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'f', 3, 32), 64)
	return f
}

// best are the k best passages, best first; of equals the older.
func (r *Ranking) best(k int) []int32 {
	h := &worst{total: r.scores.total}
	for i := range int32(r.n) {
		switch {
		case r.scores.total[i] == lowest:
		case len(h.ids) < k:
			heap.Push(h, i)
		case r.scores.total[i] > r.scores.total[h.ids[0]]:
			h.ids[0] = i
			heap.Fix(h, 0)
		}
	}
	slices.SortFunc(h.ids, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.scores.total[b], r.scores.total[a]), cmp.Compare(a, b))
	})
	return h.ids
}

// worst is a heap whose first is the worst.
type worst struct {
	ids   []int32
	total []float32
}

func (h *worst) Len() int { return len(h.ids) }
func (h *worst) Less(a, b int) bool {
	x, y := h.total[h.ids[a]], h.total[h.ids[b]]
	return x < y || x == y && h.ids[a] > h.ids[b]
}
func (h *worst) Swap(a, b int) { h.ids[a], h.ids[b] = h.ids[b], h.ids[a] }
func (h *worst) Push(x any)    { h.ids = append(h.ids, x.(int32)) }
func (h *worst) Pop() any {
	last := h.ids[len(h.ids)-1]
	h.ids = h.ids[:len(h.ids)-1]
	return last
}

// Newest ranks by time alone: what a sliding window shows.
func (s *Scope) Newest() *Ranking {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := len(s.texts)
	r := &Ranking{s: s, mode: Keyword, n: n, scores: &scores{total: make([]float32, n), keyword: make([]float32, n), dense: make([]float32, n), prior: make([]float32, n)}}
	for i := range r.scores.total {
		r.scores.total[i] = float32(i)
	}
	return r
}

// Embeds reports whether the scope has a model.
func (s *Scope) Embeds() bool { return s.o.Model != nil }

package recall

import (
	"math"
	"slices"

	"github.com/oriel-context/oriel/internal/keyword"
)

// certainty is the confidence that the scope holds anything relevant to the
// query. It decides how much of the budget is spent: nothing if no passage is
// near the query, a little if one might be near by chance, all of it if one
// surely is.
type certainty struct {
	sure     float32 // 0 to 1
	evidence float32 // the figure that sure was derived from
	scale    *scale  // nil if the whole budget is spent
}

// scale maps evidence to the part of the budget that is spent:
//
//	below none          nothing
//	from none to some   leastTokens, rising to someTokens
//	from some to more   someTokens
//	from more to all    someTokens, rising to the whole budget
//
// sure is the evidence from which on the search is certain. docs/reference/retrieval.md
// shows the distributions of evidence that the figures come from.
type scale struct{ none, some, more, all, sure float32 }

var (
	asked = scale{none: .37, some: .40, more: .40, all: .44, sure: .61}
	// Statements usually refer to something said earlier, but their vectors
	// are seldom near it.
	stated = scale{none: .18, some: .33, more: .52, all: .54, sure: .53}
)

const (
	leastTokens = 160
	someTokens  = 512

	// halfWords weighs the best share of words in the evidence of a question.
	halfWords = .5
	// ourCos and ourWords are added to the evidence of a query that mentions
	// the speakers: "What did I inherit?" is about the conversation, "What is
	// a monad?" seldom is.
	ourCos, ourWords = .15, .02

	// Without vectors the best share of words alone decides. It separates less
	// well: 98 % of questions about a conversation have a share of at least
	// 0.08, half of the others at least 0.1.
	wordNone, wordSure = .06, .40
	// Queries of a working agent are usually about what was done before.
	workNone, workSure = .47, .87
)

// ramp rises linearly from 0 at from to 1 at to.
func ramp(x, from, to float32) float32 { return min(1, max(0, (x-from)/(to-from))) }

// judge returns the certainty of a query from the best share of words and the
// best cosine of a passage. It ignores the words of statements, because they
// share common words with everything.
func judge(a aim, word, cos float32, vectors, statement, personal bool) certainty {
	switch {
	case !vectors && personal:
		return certainty{sure: ramp(word+ourWords, wordNone, wordSure)}
	case !vectors:
		return certainty{sure: ramp(word, wordNone, wordSure)}
	case a == work:
		return certainty{sure: ramp(word+cos, workNone, workSure)}
	}
	c := certainty{scale: &asked, evidence: cos + halfWords*word}
	if statement {
		c = certainty{scale: &stated, evidence: cos}
	}
	if personal {
		c.evidence += ourCos
	}
	c.sure = ramp(c.evidence, c.scale.none, c.scale.sure)
	return c
}

// unsure reports whether more evidence would bring back more.
func (c *certainty) unsure() bool {
	return c.sure < 1 || c.scale != nil && c.evidence < c.scale.all
}

// trust takes the share of the query's words on the best line as evidence: if it is at
// least lineSure, the scope surely holds something relevant. An order brings back little
// for it, because its words may be on the line by chance.
func (c *certainty) trust(line float32, order bool) {
	if line < lineSure {
		return
	}
	if c.scale == nil && c.sure == 0 && order {
		c.scale = &stated
	}
	c.sure = max(c.sure, line)
	switch {
	case c.scale == nil:
	case order:
		c.evidence = max(c.evidence, c.scale.some)
	default:
		c.evidence = max(c.evidence, c.scale.all)
	}
}

// allowance returns how much of a budget may be used: the more evidence, the
// more.
func (c *certainty) allowance(budget int) int {
	if c.scale == nil {
		return budget
	}
	e, most := c.scale, float32(budget)
	some := leastTokens + (someTokens-leastTokens)*ramp(c.evidence, e.none, e.some)
	return int(min(most, some+max(0, most-someTokens)*ramp(c.evidence, e.more, e.all)))
}

// share returns a passage's score on the scale of the floor: the geometric
// mean of the certainty that the scope holds anything relevant and of the
// passage's position between the worst and the best.
func (sc *scores) share(i int32) float32 {
	return float32(math.Sqrt(float64(sc.sure * sc.position(i, sc.top))))
}

// A passage's position is where its total lies between the worst of the scope, near 0, and
// the best, 1. What is shown ends where the positions fall off, so that a certain hit does
// not bring unrelated passages with it. docs/reference/retrieval.md shows how the limits were found.
const (
	// gapAt is the position below which nothing is shown for a question. Statements and
	// searches by words alone have no such gap, nor have scopes of few passages.
	gapAt, gapLeast = .35, 32
	// A sized search stops at sizedGap, and exceeds its usual size only for passages from
	// sizedNear on, or talkNear: what a talk has to say about a question is often in several
	// places.
	sizedGap, sizedNear, talkNear = .55, .7, .6
	sizedLeast                    = 8
)

// position returns where a passage lies between the worst and top.
func (sc *scores) position(i int32, top float32) float32 {
	const pad = 1 // if there are few passages, even the worst may be good
	return (sc.total[i] - sc.low + pad) / (top - sc.low + pad)
}

// lead returns how much better the best of the candidates fits the query than the best
// passage that the window shows: above 1 if it fits better. It is 0 while that is not known:
// the window shows nothing of the scope, or most of what it shows has no vectors.
func (r *Ranking) lead(top float32, shown func(block string) bool) float32 {
	sc, s := r.scores, r.s
	best, all, ready := float32(lowest), 0, 0
	for i, t := range sc.total[:r.n] {
		if s.flags[i]&(flagRemoved|flagShort) != 0 || !shown(s.origins[s.messageOf[i]].block) {
			continue
		}
		if all++; s.vectorOf[i] >= 0 {
			ready++
		}
		if t > best && !r.asksTheSame(int32(i)) {
			best = t
		}
	}
	if r.mode == Keyword || best == float32(lowest) || 2*ready < all {
		return 0
	}
	const pad = 1
	return (top - sc.low + pad) / (best - sc.low + pad)
}

// A window that shows what fits a question much better than all that it hides has the
// answer: below answered a search shows nothing, and below partly at most partlyTokens,
// because an answer often has one part in the window and another that left it. In work
// everything is near everything, so only a clear lead of the window counts. In a scope of
// fewer than leadLeast passages the worst is too near the best to tell.
// docs/reference/retrieval.md has the distributions.
const (
	answered, workAnswered = .7, .5
	partly                 = .95
	partlyTokens           = 256
	leadLeast              = 64
)

// most returns the most tokens that are shown for a query, given what the window shows.
func (r *Ranking) most(o *RecallOptions, top float32, budget int) int {
	if !o.Sized || o.Shown == nil || r.scores.whole || r.n < leadLeast {
		return budget
	}
	lead := r.lead(top, o.Shown)
	switch work := r.scores.work; {
	case lead == 0:
		return budget
	case work && lead < workAnswered, !work && lead < answered:
		return 0
	case !work && lead < partly:
		return min(budget, partlyTokens)
	}
	return budget
}

// nearTokens is the least room of the best passages, as far as the budget allows it.
const nearTokens = 512

// bestAnswer returns the total of the best candidate that does not repeat the query: one who
// asks again needs what was answered, which seldom has as many of the words.
func (r *Ranking) bestAnswer(candidates []int32) float32 {
	for _, i := range candidates {
		if r.s.keyword(r.scores, i) < repeatsQuery {
			return r.scores.total[i]
		}
	}
	return r.scores.total[candidates[0]]
}

// repeatsQuery is the share of the query's words from which on a passage repeats the query, and
// sameQuestion that of its different terms from which on a person's question asks the same.
const repeatsQuery, sameQuestion = .8, .7

// asksTheSame reports whether a passage repeats the query, or is a person's question with most
// of its terms, whatever stands beside it: such a passage fits the query, and answers nothing.
func (r *Ranking) asksTheSame(i int32) bool {
	if r.s.keyword(r.scores, i) >= repeatsQuery {
		return true
	}
	if r.s.flags[i]&flagUser == 0 {
		return false
	}
	texts := r.s.texts.reader()
	text := texts.at(i)
	return asks(text) && sharedTerms(r.query, text) >= sameQuestion
}

// sharedTerms returns which part of the different terms of a query a text has.
func sharedTerms(query, text string) float32 {
	var a keyword.Analyser
	wanted, _ := a.Terms(nil, query)
	there, _ := a.Terms(nil, text)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	shared := 0
	for _, t := range wanted {
		if slices.Contains(there, t) {
			shared++
		}
	}
	return float32(shared) / float32(max(1, len(wanted)))
}

// skipped is the limit of a passage that is left out alone.
const skipped = -1

// bareCall reports whether a passage is a call without much to read, such as "Read a.go":
// without its result it says nothing.
func (s *Scope) bareCall(i int32) bool {
	return s.flags[i]&flagTool != 0 && s.flags[i]&flagGiven == 0 && s.cost[i] < bareTokens
}

const bareTokens = 24

// limits returns a function that returns how many tokens may be used up to and with one of
// the candidates, which are sorted best first; 0 ends the search, and skipped leaves the
// candidate out. The best is that of the candidates: the window may show the query itself.
func (r *Ranking) limits(o *RecallOptions, budget int, candidates []int32) func(i int32) int {
	sc := r.scores
	switch {
	case r.mode == Dense || r.byTime || len(candidates) == 0:
		return func(int32) int { return budget }
	case o.Sized && sc.remark:
		return func(int32) int { return 0 }
	}
	top := r.bestAnswer(candidates)
	gap := float32(0)
	switch {
	case o.Sized && r.n >= sizedLeast:
		gap = sizedGap
	case sc.scale == &asked && r.n >= gapLeast:
		gap = gapAt
	}
	usual, most, near := budget, budget, float32(sizedNear)
	switch {
	case !o.Sized || sc.whole:
	case sc.work || r.s.tools: // in a small window a passage takes as much as in a large one
		usual, most = budget/4, max(budget/2, min(budget, nearTokens))
	default:
		usual, near = budget/4, talkNear
	}
	room := r.most(o, top, budget)
	usual, most = min(usual, room), min(most, room)
	var calls float32 // the position below which bare calls are left out
	switch {
	case o.Sized: // a person may ask for a call
		calls = near
	case o.Shown != nil: // what an agent works on does not
		calls = 2
	}
	return func(i int32) int {
		switch at := sc.position(i, top); {
		case at < gap:
			return 0
		case at < calls && r.s.bareCall(i):
			return skipped
		case at < near:
			return usual
		default:
			return most
		}
	}
}

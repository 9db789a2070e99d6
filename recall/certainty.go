package recall

import "math"

// certainty is how sure a search is that the scope has anything to say about the query.
// It decides how much of the budget is spent: nothing where no passage is near the
// query, a little where one might be near by chance, all of it where one surely is.
type certainty struct {
	sure     float32 // 0 to 1
	evidence float32 // what sure was judged by
	scale    *scale  // nil where the whole budget is spent
}

// scale says how much is spent on what evidence:
//
//	below none          nothing
//	from none to some   leastTokens, rising to someTokens
//	from some to more   someTokens
//	from more to all    someTokens, rising to the whole budget
//
// sure is the evidence from which the search is wholly sure. docs/retrieval.md has the
// distributions of evidence from which the figures come.
type scale struct{ none, some, more, all, sure float32 }

var (
	asked = scale{none: .37, some: .40, more: .40, all: .44, sure: .61}
	// Statements mostly bear on something that was said, but are seldom near it.
	stated = scale{none: .18, some: .33, more: .50, all: .53, sure: .53}
)

const (
	leastTokens = 160
	someTokens  = 512

	// halfWords is what the best share of words adds to the evidence of a question.
	halfWords = .5
	// ourCos is what a query adds to its evidence that speaks of the people who talk:
	// "What did I inherit?" is about the conversation, "What is a monad?" seldom is.
	ourCos, ourWords = .15, .02

	// Without vectors the best share of words alone decides, which tells less: 98 % of
	// questions about a conversation have a share of 0.08 and more, half of the others
	// 0.1 and more.
	wordNone, wordSure = .06, .40
	// An agent's work is about what was done before, as a rule.
	workNone, workSure = .47, .87
)

// ramp rises from 0 at from to 1 at to.
func ramp(x, from, to float32) float32 { return min(1, max(0, (x-from)/(to-from))) }

// judge finds the certainty of a query by the best share of words and the best cosine of
// a passage. A statement's words tell nothing: it shares common ones with everything.
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

// allowance is how much of a budget is spent.
func (c *certainty) allowance(budget int) int {
	if c.scale == nil {
		return budget
	}
	e, most := c.scale, float32(budget)
	some := leastTokens + (someTokens-leastTokens)*ramp(c.evidence, e.none, e.some)
	return int(min(most, some+max(0, most-someTokens)*ramp(c.evidence, e.more, e.all)))
}

// share is a passage's score on the floor's scale: the geometric mean of how sure it
// is that the scope has anything to say, and of where the passage stands between the
// worst and the best.
func (sc *scores) share(i int32) float32 {
	const pad = 1 // the worst of few may be good
	return float32(math.Sqrt(float64(sc.sure * (sc.total[i] - sc.low + pad) / (sc.top - sc.low + pad))))
}

package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/keyword"
	"github.com/oriel-context/oriel/recall"
)

// Hit is a message, or a part of one, that a search found.
type Hit struct {
	Conversation string
	ID           int64
	Time         time.Time
	Role         string
	Tool         bool // what a tool was told or returned
	Mixed        bool // a user's words beside a page; see recall.QuoteMixed
	// Near scores how well its best passage matches the query, by words and meaning.
	// Questions of people and what tools were asked or returned score less, because they
	// rarely contain the answer. Scores of different searches cannot be compared.
	Near float64
	// Match is Near without these deductions, for agents, which also look for what their
	// tools returned.
	Match float64
	// Text holds its passages in their order, with an ellipsis between them. Best and
	// BestEnd are where the best one begins and ends.
	Text          string
	Best, BestEnd int

	parts []recall.Passage
	sure  float64 // Near with a lower guess for passages without a vector
}

// The weights of words and of meaning in Near, the deduction for a question of a person,
// and the share that remains for what a tool was asked or returned.
const (
	forWords        = 1.5
	forMeaning      = .7
	lessForQuestion = .2
	shareOfTools    = .6
)

// nearness returns how near a passage is. unknown replaces the cosine of a passage that has no
// vector yet.
func nearness(p *recall.Passage, unknown float64) float64 {
	n := match(p, unknown)
	switch {
	case p.Tool:
		return n * shareOfTools
	case p.Role == "user" && strings.HasSuffix(strings.TrimSpace(p.Text), "?"):
		return n - lessForQuestion
	}
	return n
}

// match returns how near a passage is by its own words and meaning.
func match(p *recall.Passage, unknown float64) float64 {
	return forWords*p.Keyword + forMeaning*cmp.Or(p.Dense, unknown)
}

// unknownShare times the mean cosine of the passages found is the cosine of a passage without
// a vector. It is below 1, because passages with a vector were found for being near. For the
// floor it is at most mostUnknown: a few that are very near say nothing about the others.
const (
	unknownShare = .8
	mostUnknown  = .3
)

// meanDense returns the mean cosine of the passages that have one.
func meanDense(passages []recall.Passage) float64 {
	sum, n := 0.0, 0
	for i := range passages {
		if d := passages[i].Dense; d != 0 {
			sum, n = sum+d, n+1
		}
	}
	return sum / float64(max(n, 1))
}

// Hits returns what a search found, the best first. own is the conversation that the search
// began in, whose blocks have no name before them. Passages of one message are one hit.
func Hits(r *recall.Result, own string) []Hit {
	var hits []Hit
	at := map[[2]string]int{}
	unknown := unknownShare * meanDense(r.Passages)
	for _, p := range r.Passages {
		name, id := Origin(p.Block, own)
		key := [2]string{name, p.Block}
		i, known := at[key]
		if !known {
			i = len(hits)
			at[key] = i
			h := Hit{Conversation: name, ID: id, Role: cmp.Or(p.Name, p.Role), Tool: p.Tool, Mixed: p.Mixed}
			if p.Time != nil {
				h.Time = *p.Time
			}
			hits = append(hits, h)
		}
		if p.Role == string(chat.Tool) { // also where the words of a person are in the message
			hits[i].Role = p.Role
		}
		hits[i].Near = max(hits[i].Near, nearness(&p, unknown))
		hits[i].sure = max(hits[i].sure, nearness(&p, min(unknown, mostUnknown)))
		hits[i].Match = max(hits[i].Match, match(&p, unknown))
		hits[i].parts = append(hits[i].parts, p)
	}
	for i := range hits {
		hits[i].join(unknown)
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Near, a.Near) })
	return hits
}

// Nearest leaves out hits that are less near than leastNear or than shareOfBest of the best
// hit. It ignores leastNear for searches by words alone, which have no such scale.
const (
	leastNear   = .2
	shareOfBest = .35
)

// Nearest returns the hits of a search that are near enough to be of use to people, in their
// order.
func Nearest(hits []Hit, mode recall.Mode) []Hit {
	return nearest(hits, mode, func(h *Hit) float64 { return h.sure })
}

// BestMatches returns the hits of a search that are near enough to be of use to an agent, the
// best first.
func BestMatches(hits []Hit, mode recall.Mode) []Hit {
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Match, a.Match) })
	return nearest(hits, mode, func(h *Hit) float64 { return h.Match })
}

// Beside returns the hits that are near enough to be of use to an agent beside another hit.
func Beside(best *Hit, hits []Hit) []Hit {
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Match < best.Match*shareOfBest })
}

func nearest(hits []Hit, mode recall.Mode, near func(*Hit) float64) []Hit {
	if len(hits) == 0 {
		return hits
	}
	least := 0.0
	for i := range hits {
		least = max(least, near(&hits[i])*shareOfBest)
	}
	if mode != recall.Keyword {
		least = max(least, leastNear)
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return near(&h) < least })
}

// Origin returns the conversation and the message's id that a block stands for.
func Origin(block, own string) (conversation string, id int64) {
	conversation = own
	if i := strings.LastIndexByte(block, '#'); i >= 0 {
		conversation, block = block[:i], block[i+1:]
	}
	id, _ = strconv.ParseInt(block, 10, 64) // a block of an index has a number
	return conversation, id
}

// join puts the passages of a message together again.
func (h *Hit) join(unknown float64) {
	slices.SortStableFunc(h.parts, func(a, b recall.Passage) int { return a.Part - b.Part })
	var b strings.Builder
	for i, p := range h.parts {
		switch {
		case i > 0 && (p.Part != h.parts[i-1].Part+1 || p.Tool || h.parts[i-1].Tool):
			b.WriteString("\n…\n")
		case i == 0 && p.Part > 0 && !p.Tool:
			b.WriteString("… ")
		}
		if nearness(&p, unknown) == h.Near {
			h.Best, h.BestEnd = b.Len(), b.Len()+len(p.Text)
		}
		b.WriteString(p.Text)
	}
	if last := h.parts[len(h.parts)-1]; last.Part+1 < last.Parts && !last.Tool {
		b.WriteString(" …")
	}
	h.Text = b.String()
}

// HitGroup is the hits of one conversation on one day, the best first.
type HitGroup struct {
	Conversation string
	Day          time.Time // its first hit
	Hits         []Hit
	More         int // hits that are left out
}

// groupHits limits the hits of a group if there are several groups, so that a person reads
// the best of each group first.
const groupHits = 4

// Groups groups hits by conversation and day, the group with the best hit first. A group
// counts the hits that it leaves out.
func Groups(hits []Hit, zone *time.Location) []HitGroup {
	type key struct{ conversation, day string }
	var groups []HitGroup
	at := map[key]int{}
	for _, h := range hits {
		k := key{h.Conversation, h.Time.In(zone).Format(time.DateOnly)}
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, HitGroup{Conversation: h.Conversation, Day: h.Time.In(zone)})
		}
		groups[i].Hits = append(groups[i].Hits, h)
	}
	for i := range groups {
		if g := &groups[i]; len(groups) > 1 && len(g.Hits) > groupHits {
			g.More = len(g.Hits) - groupHits
			g.Hits = g.Hits[:groupHits]
		}
	}
	return groups
}

// Matcher finds the words of a query in texts, as the search by words does: whatever their
// endings, and the parts of identifiers.
type Matcher struct{ terms map[keyword.Term]bool }

// NewMatcher returns a matcher for a query.
func NewMatcher(query string) *Matcher {
	terms, _ := new(keyword.Analyser).Terms(nil, query)
	m := &Matcher{terms: make(map[keyword.Term]bool, len(terms))}
	for _, t := range terms {
		m.terms[t] = true
	}
	return m
}

// Find returns where words of the query begin and end in a text, in order.
func (m *Matcher) Find(text string) (spans [][2]int) {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	var analyser keyword.Analyser
	var terms []keyword.Term
	for begin := 0; begin < len(text); {
		i := strings.IndexFunc(text[begin:], inWord)
		if i < 0 {
			break
		}
		begin += i
		end := strings.IndexFunc(text[begin:], func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text) - begin
		}
		end += begin
		terms, _ = analyser.Terms(terms[:0], text[begin:end])
		if slices.ContainsFunc(terms, func(t keyword.Term) bool { return m.terms[t] }) {
			spans = append(spans, [2]int{begin, end})
		}
		begin = end
	}
	return spans
}

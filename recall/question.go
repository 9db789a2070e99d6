package recall

import (
	"regexp"
	"slices"
	"strings"
)

// asks reports whether a query is a question or a request. A question shares
// its rare words with the answer; a statement shares them with everything on
// the same subject.
func asks(query string) bool { return strings.Contains(query, "?") || asking.MatchString(query) }

// Questions reports whether a text is a question or a request, not a remark.
func Questions(text string) bool { return asks(withoutForm(text)) }

// searches reports whether a query is a few search words rather than a
// sentence.
func searches(query string) bool { return len(strings.Fields(query)) <= 3 }

var asking = regexp.MustCompile(`(?i)^\W*(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|am|do|does|did|can|could|would|will|should|shall|may|might|has|have|had|list|name|tell me|show me|find|summari[sz]e|describe|explain|give me)\b`)

// withoutForm returns a query without the sentences that only say in which form it is to be
// answered, and without a label before it. Their words are not what the query is about.
func withoutForm(query string) string {
	if len(query) > longQuery {
		return query
	}
	if rest := strings.TrimSpace(form.ReplaceAllString(labelled.ReplaceAllString(query, ""), "$1")); rest != "" {
		return rest
	}
	return query
}

// longQuery is more bytes than a question has whose form is said with it.
const longQuery = 2000

var (
	labelled = regexp.MustCompile(`(?i)^\s*(?:question|query|q)\s*:\s+`)
	form     = regexp.MustCompile(`(?i)(^|[.!?:]\s|\n)[ \t]*(?:please,? )?(?:(?:answer|reply|respond)(?: me| to me| this)?(?: (?:only|just|briefly|shortly|concisely|directly|honestly|truthfully))?(?: (?:in|with|as|by|using) (?:[\w-]+ ){0,4}(?:words?|sentences?|lines?|paragraphs?|letters?|numbers?|bullets?|points|json|markdown|english|yes or no))?|(?:be|keep (?:it|your (?:answer|reply|response))) (?:very )?(?:brief|short|concise|precise)|no explanations?|one (?:word|line|sentence)(?: only)?)\s*(?:[.!]|$|\n)`)
)

// asksAssistant reports whether a query is about what the assistant said:
// "what did you recommend?". A request ("could you list …") is not.
func asksAssistant(query string) bool {
	q := request.ReplaceAllString(query, "")
	if youSaid.MatchString(q) {
		return true
	}
	for _, at := range youSay.FindAllStringIndex(q, -1) {
		if strings.Contains(q[at[1]:], "?") {
			return true
		}
	}
	return false
}

// saying matches the beginnings of verbs of saying and advising.
const saying = `(?:recommend|suggest|advis|propos|sa(?:y|id)|t(?:ell|old)|explain|describ|outlin|mention|provid|g(?:i|a)ve|list|show|walk|help|respond|repl|answer|warn|point|instruct|guid|define|clarif|present|detail|lay|laid|break|broke|structur|writ|wrote|generat|creat|design)`

var (
	request = regexp.MustCompile(`(?i)\b(?:can|could|would|will|do) you (?:please )?\w+`)
	youSaid = regexp.MustCompile(`(?i)\b(?:did|had|have) you (?:\w+ ){0,2}?` + saying +
		`|\byour (?:\w+ )?(?:recommendation|suggestion|advice|answer|explanation|response|reply|example|instructions|steps|guidance|proposal|plan)s?\b`)
	youSay = regexp.MustCompile(`(?i)\byou (?:\w+ly )?(?:had |have |also )?` + saying + `\w*`)
)

// aim is the kind of answer that a query needs.
type aim uint8

const (
	fact    aim = iota
	said        // the assistant's words
	course      // a course of events: something of every time
	summary     // a summary of a subject, whoever spoke of it
	work        // what an agent needs for its next step; not a question
)

func aimOf(query string) aim {
	switch {
	case sums.MatchString(query):
		return summary
	case orders.MatchString(query):
		return course
	case asksAssistant(query):
		return said
	}
	return fact
}

// personal reports whether a query mentions the people in the conversation:
// the asker, or a speaker by name. "How do I …?" and "What should I …?" do
// not count, because they ask for general advice.
func (s *Scope) personal(query string) bool {
	if us.MatchString(advice.ReplaceAllString(query, "")) {
		return true
	}
	q := strings.ToLower(query)
	return slices.ContainsFunc(s.people.lower, func(name string) bool { return containsWord(q, name) })
}

var (
	us     = regexp.MustCompile(`\b(?:(?i:i|we|my|our|me|mine|ours)|us)\b`)
	advice = regexp.MustCompile(`(?i)\bhow (?:do|can|could|would) (?:i|we)\b|\b(?:should|shall) (?:i|we)\b`)
	sums   = regexp.MustCompile(`(?i)\b(?:summar|overview|recap)`)
	orders = regexp.MustCompile(`(?i)\b(?:in (?:what|which) order|the order in which|in order\b|chronolog|sequence of|throughout|across (?:my|our|all)|over time|progress(?:ed)?\b|evolv|walk me through how|step by step how my)`)
)

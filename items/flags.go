package items

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/clip"
)

// AutoFlags returns the flags that the rules give to a text (SPEC A1). failed reports that
// the text is the result of a tool that failed.
func AutoFlags(content string, source Source, failed bool) []Flag {
	c := arrival{text: content, source: source, failed: failed}
	c.prose, c.code = splitCode(bothEnds(content))
	var flags []Flag
	for _, r := range flagRules {
		if !slices.Contains(flags, r.flag) && r.holds(&c) {
			flags = append(flags, r.flag)
		}
	}
	return flags
}

// flagRules are the rules of AutoFlags. They rather miss a flag than set a wrong one,
// because a flag keeps an item in the window for a long time.
var flagRules = []struct {
	flag  Flag
	holds func(*arrival) bool
}{
	// A failed tool, or the source of errors.
	{FlagError, func(c *arrival) bool { return c.failed || c.source == SourceError }},
	// The output of a program that failed.
	{FlagError, func(c *arrival) bool {
		return anyLine(c.prose, failureStems, failurePrint.MatchString) ||
			anyLine(c.code, failureStems, failurePrint.MatchString)
	}},
	// A word for an error that is neither denied nor hypothetical. In a file such words
	// are names.
	{FlagError, func(c *arrival) bool {
		return c.source != SourceFile && anyLine(c.prose, errorStems, reportsError)
	}},
	// A code fence.
	{FlagCode, func(c *arrival) bool { return hasFence(c.text) }},
	// A question.
	{FlagQuestion, func(c *arrival) bool { return c.speaks() && asks(c.prose, c.source) }},
	// A sentence that confirms a fix.
	{FlagSolution, func(c *arrival) bool { return c.speaks() && anyLine(c.prose, fixStems, confirmsFix) }},
}

// arrival is a text that the rules look at.
type arrival struct {
	text   string
	source Source
	failed bool
	// prose is the text outside of code fences and spans, code the text inside of them.
	// Of a long text both have only the ends.
	prose, code string
}

// speaks reports whether a person or a model wrote the text. Questions and fixes in files
// and tool results do not count.
func (c *arrival) speaks() bool {
	return c.source != SourceTool && c.source != SourceFile && c.source != SourceGit && c.source != SourceError
}

// flagReach is the number of bytes at each end of a long text that the rules look at.
const flagReach = 8 << 10

func bothEnds(text string) string {
	if len(text) <= 2*flagReach {
		return text
	}
	return text[:clip.Floor(text, flagReach)] + "\n" + text[clip.Ceil(text, len(text)-flagReach):]
}

var (
	fence    = regexp.MustCompile("(?m)^[ \t>]*(?:```|~~~)")
	codeSpan = regexp.MustCompile("`[^`\n]+`")
)

// hasFence reports whether a text has a code fence. It runs the pattern only on texts that
// can match, because most cannot.
func hasFence(text string) bool {
	return (strings.Contains(text, "```") || strings.Contains(text, "~~~")) && fence.MatchString(text)
}

// splitCode separates prose and code. Each code span in a line of prose becomes a line of
// code.
func splitCode(text string) (prose, code string) {
	if !strings.ContainsAny(text, "`~") {
		return text, ""
	}
	var p, c strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case hasFence(line):
			inside = !inside
		case inside:
			c.WriteString(line)
		default:
			p.WriteString(codeSpan.ReplaceAllStringFunc(line, func(s string) string {
				c.WriteString(s[1:len(s)-1] + "\n")
				return "…"
			}))
		}
	}
	return p.String(), c.String()
}

// Every line that a rule can match contains one of its stems. Searching for stems is much
// faster than matching patterns.
var (
	errorStems   = []string{"error", "exception", "traceback", "fail", "crash", "panicked"}
	failureStems = append([]string{"fatal", "panic", "exit", "segmentation", "core dumped"}, errorStems...)
	fixStems     = []string{"fix", "solved", "solution", "work", "did ", "pass", "green"}
)

// anyLine reports whether match accepts a line that contains one of the stems.
func anyLine(text string, stems []string, match func(string) bool) bool {
	for line := range strings.Lines(text) {
		lower := strings.ToLower(line)
		if slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(lower, s) }) && match(line) {
			return true
		}
	}
	return false
}

// failurePrint matches what compilers, interpreters, test runners and shells print when
// something fails.
var failurePrint = regexp.MustCompile(`(?m)Traceback \(most recent call last\)` +
	`|^\s*[\w.]*(?:Error|Exception): \S` +
	`|^\s*(?:[\w./-]+:[\d:]*\s*)?(?:fatal |compile |syntax )?(?:error|fatal|panic)(?:\[\w+\])?: \S` +
	`|^(?:--- FAIL:|FAIL\s)` +
	`|^\S*[\d:TZ.,/ -]*\[?(?:ERROR|FATAL)\b\]?[: ]` +
	`|\bexit(?:ed with)? (?:status|code):? [1-9]` +
	`|(?i:\bsegmentation fault\b|\bcore dumped\b)`)

var (
	errorWords = wordSet(`error errors exception exceptions traceback fail fails failed failing failure failures
		crash crashes crashed crashing panicked`)
	// notAReport are words that turn the word before them into a name: "error handling".
	notAReport = wordSet(`handling handler handlers boundary boundaries rate rates bar bars correction budget
		budgets type types class classes safe fast free prone reporting tracking`)
	// denyNoun are words that deny what follows, also across commas: "no warnings, errors
	// or failures".
	denyNoun = wordSet(`no without zero 0 none neither nor free avoid avoids avoiding prevent prevents preventing`)
	// denyVerb are words that deny or make hypothetical what follows in the same clause.
	denyVerb = wordSet(`not never nothing cannot if unless whether might may`)
	// turns are words that end a denial: "no idea why it failed".
	turns = wordSet(`why but because when while that which it what how then still yet since so where who until and`)
)

// denyReach is the number of words before a word for an error that can deny it.
const denyReach = 4

var wordForm = regexp.MustCompile(`[\p{L}\p{N}_]+(?:['’]\p{L}+)?`)

// reportsError reports whether a line of prose tells of an error.
func reportsError(text string) bool {
	lower := strings.ToLower(text)
	at := wordForm.FindAllStringIndex(lower, -1)
	for i := range at {
		if errorWords[lower[at[i][0]:at[i][1]]] && !inName(lower, at[i]) && !reportless(lower, at, i) &&
			!denied(lower, at, i) {
			return true
		}
	}
	return false
}

// inName reports whether a word is part of a name, a path or a compound:
// errors.New, /var/error, --fail, error-free, func f() error {.
func inName(s string, at []int) bool {
	if at[0] > 0 && strings.IndexByte("./_-$@#<=\\", s[at[0]-1]) >= 0 {
		return true
	}
	rest := s[at[1]:]
	if rest == "" {
		return false
	}
	switch rest[0] {
	case '(', '/', '_', '-', '=', '<', '>':
		return true
	case '.':
		r, _ := utf8.DecodeRuneInString(rest[1:])
		return unicode.IsLetter(r)
	case ')':
		return strings.HasSuffix(s[:at[0]], ", ") // (int, error)
	}
	return strings.HasPrefix(strings.TrimLeft(rest, " "), "{")
}

// reportless reports whether a word for an error has another meaning here.
func reportless(s string, at [][]int, i int) bool {
	word := s[at[i][0]:at[i][1]]
	if i+1 < len(at) && strings.TrimLeft(s[at[i][1]:at[i+1][0]], " ") == "" {
		next := s[at[i+1][0]:at[i+1][1]]
		if notAReport[next] || strings.HasPrefix(word, "exception") && (next == "of" || next == "to") {
			return true
		}
	}
	before := strings.TrimRight(s[:at[i][0]], " ")
	if strings.HasSuffix(before, "trial and") || strings.HasSuffix(before, "margin of") {
		return true
	}
	// "errors: 0", "failed = none"
	rest := strings.TrimLeft(s[at[i][1]:], " :=")
	if len(rest) < len(s)-at[i][1] && i+1 < len(at) && at[i+1][0] == len(s)-len(rest) {
		next := s[at[i+1][0]:at[i+1][1]]
		return strings.ContainsAny(s[at[i][1]:at[i+1][0]], ":=") && (next == "0" || next == "none")
	}
	return false
}

// denied reports whether one of the words before word i denies it.
func denied(s string, at [][]int, i int) bool {
	comma := false
	for j := i - 1; j >= 0 && j >= i-denyReach; j-- {
		gap, word := s[at[j][1]:at[j+1][0]], s[at[j][0]:at[j][1]]
		if strings.ContainsAny(gap, ".;:!?\n(){}") {
			return false
		}
		if j == i-1 && word[0] >= '1' && word[0] <= '9' {
			return false // "0 warnings, 2 errors"
		}
		answer := strings.HasPrefix(gap, ",") // "No, it failed."
		comma = comma || strings.Contains(gap, ",")
		switch {
		case denyNoun[word]:
			return !answer
		case denyVerb[word] || strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "n’t"):
			return !comma
		case turns[word]:
			return false
		}
	}
	return false
}

var (
	// questionMark matches the end of a question, not the mark in a URL, a pattern, a type
	// or a conditional expression.
	questionMark = regexp.MustCompile(`[\p{L}\p{N})"'”’»…] ?[?？؟]+["')\]”’»!*_]*(?:\s|$)`)
	// opening matches the beginning of a question without a question mark.
	opening = regexp.MustCompile(`(?i)^\W*(?:how (?:do|does|did|can|could|should|would|to|is|are|come|many|much)` +
		`|what(?:'s|’s| is| are| was| were| does| do| did| should| would| happens| about)` +
		`|why (?:is|are|was|were|do|does|did|would|not|isn't|doesn't|can't)` +
		`|where(?:'s|’s| is| are| do| does| did| can)|who(?:'s|’s| is| are| was))\b`)
)

// asks reports whether a text contains a question.
func asks(prose string, source Source) bool {
	return strings.ContainsAny(prose, "?？؟") && questionMark.MatchString(prose) ||
		source == SourceUser && opening.MatchString(prose)
}

var (
	sentenceForm = regexp.MustCompile(`[^.!?\n]+[.!?]*`)
	// fixed matches words that confirm that something works now.
	fixed = regexp.MustCompile(`(?i)\b(?:(?:that|this|it|which|upgrading|restarting|changing \w+|the (?:fix|change|patch)) (?:has |have )?(?:just |finally |really |completely )?(?:fixed|solved|resolved|worked|did the trick|did it\b)` +
		`|(?:it|that|this|everything|all)(?:'s|’s| is)? (?:now |all )?(?:works?|working|fixed|solved|resolved)(?: now| again| fine| perfectly| great| like a charm)?\s*(?:$|[.!,;:)—-]|now|again|thank|for me)` +
		`|(?:problem|issue|bug|error) (?:is |was |has been |got )?(?:now )?(?:solved|fixed|resolved)` +
		`|(?:works|working) (?:now|again)|(?:tests|checks) (?:all )?(?:pass|passed|are passing|are green)(?: now| again)?\b|^\W*(?:fixed|solved|resolved)(?: it| now)?\s*[.!]` +
		`|i (?:have |'ve |’ve )?(?:fixed|solved|resolved) (?:it|the|this|that)|the (?:fix|solution) was)`)
	// unconfirmed matches words that take a confirmation back.
	unconfirmed = regexp.MustCompile(`(?i)n['’]t\b|\b(?:not|never|cannot|if|should|will|would|might|may|could|maybe|perhaps|hope|hopefully|try|until|unless|once|whether|when|after|almost|partly|partially|still|can|make sure|so that|see|check|verify|ensure|think|believe|supposed|needs?|how|why|what|where)\b`)
)

// confirmsFix reports whether a sentence of a line confirms that something works now. A
// question, an assumption, a promise or a denial does not.
func confirmsFix(prose string) bool {
	for _, s := range sentenceForm.FindAllString(prose, -1) {
		if fixed.MatchString(s) && !strings.Contains(s, "?") && !unconfirmed.MatchString(s) {
			return true
		}
	}
	return false
}

// wordSet returns the set of the words of a text.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

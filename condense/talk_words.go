package condense

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const months = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`

// Times, and the words of what is settled, left open or said for the sake of talking.
var (
	// date matches a day or a month of a year; "may" and "march" alone are not dates.
	date = regexp.MustCompile(`(?i)\b(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + months + `(?:,? \d{4})?|` +
		months + ` \d{1,2}(?:st|nd|rd|th)?(?:-\d{1,2})?(?:,? \d{4})?|` + months + `,? (?:19|20)\d\d)\b`)
	// relative matches a time that depends on when it was said.
	relative = regexp.MustCompile(`(?i)\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next|past|coming) (?:night|week|weekend|month|year|spring|summer|fall|autumn|winter|\w+day)|(?:a|two|three|four|few) (?:days?|weeks?|months?|years?) ago)\b`)
	deadline = regexp.MustCompile(`(?i)\bby (?:(?:the )?end of (?:the |this |next )?\w+|(?:next|this) \w+|tomorrow|tonight|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b`)
	soon     = regexp.MustCompile(`(?i)\b(?:tonight|tomorrow|(?:this|next|coming) (?:evening|afternoon|week|weekend|month|year|spring|summer|fall|autumn|winter|\w+day)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|at \d{1,2}(?::\d\d)?)\b|` + date.String()[4:])

	decided = regexp.MustCompile(`(?i)\b(?:i|we)(?:'ve| have|'d)? (?:both |finally |just |all )?(?:decided|agreed|settled on|opted for|made up (?:my|our) minds?|signed up)\b|\bit's a (?:deal|date|plan)\b|\b(?:i'm|i am|we're|let's) (?:going|go) with (?:the|a|an|(?-i:\p{Lu})|option)|^(?:decision|agreed):`)
	intends = regexp.MustCompile(`(?i)\b(?:let's|lets|we'll|we will|i'll|i will|see you|we meet|meet me)\b`)
	// promises matches what a speaker will do for another.
	promises  = regexp.MustCompile(`(?i)\b(?:i'll|i will) (?:be sure to |also |definitely |gladly )?(?:send|bring|call|email|text|book|lend|pay|order|introduce|teach|cook|bake|pick|mail|forward|invite) (?:you|u|ya|them|it|some|him|her|us)\b`)
	undecided = regexp.MustCompile(`(?i)\b(?:haven['’]t (?:decided|chosen)|undecided|still (?:deciding|figuring out|looking for|waiting (?:for|to))|can['’]t decide|debating (?:whether|if|between)|torn between|(?:need|have) to decide|not sure (?:whether|which))\b`)
	shown     = regexp.MustCompile(`(?i)\b(?:pics?|photos?|pictures?|check (?:it|this) out|look at)\b`)
	happens   = regexp.MustCompile(`(?i)\b(?:went|took|started|began|bought|signed up|joined|won|lost|moved|finished|visited|attended|met|booked|adopted|launched|opened|closed|graduated|got (?:a|my|an|the|married|engaged|hired|promoted)|had (?:a|an|my|our)|made|gave|ran|performed|passed|quit|received|going|gonna|will)\b`)

	asksFor = regexp.MustCompile(`(?i)\b(?:please|can you|could you|help me|tell me|give me|show me)\b|^(?:(?:now|then|also|and|next|ok(?:ay)?),? )?(?:add|analy[sz]e|build|calculate|change|check|compare|convert|create|describe|design|draft|explain|find|fix|generate|give|list|make|plan|port|read|recommend|remove|review|rewrite|show|solve|suggest|summari[sz]e|tell|test|translate|update|write)\b`)
	// wants matches what a user wants, where nothing is asked for.
	wants = regexp.MustCompile(`(?i)\b(?:i['’]m (?:trying|looking|working|planning|considering)|i (?:want|need|would like|have to|plan)|i['’]d like|let['’]s)\b`)
	// offers matches questions that a yes or no settles.
	offers = regexp.MustCompile(
		`(?i)^(?:so,? |then,? )?(?:shall|should) (?:i|we)\b.*\?$|\b(?:do you want|would you like|want) me to\b.*\?$`)
	pointing = regexp.MustCompile(`(?i)\b(?:that|this|it|them|those)\?+$`)
	polite   = regexp.MustCompile(`(?i)^(?:(?:oh|ah|well|yes|yeah|yep|ok(?:ay)?|no)[,!.]? )*(?:thanks?|thx|wow|great|good|nice|cool|awesome|amazing|congrat\w*|bye|goodbye|see you|see ya|take care|talk (?:to you )?(?:later|soon)|catch you|ttyl|hey|hi|hello|welcome|you['’]re|that['’]s|sounds|sure|perfect|glad|love (?:it|that|this)|haha\w*|lol)\b`)
	// smallTalk matches questions and remarks that ask for nothing.
	smallTalk = regexp.MustCompile(`(?i)^(?:(?:and|so|but|well|oh|hey|hi|hello|wow|thanks|thank you)[,!.]? (?:\p{L}+[,!.]? )?)*(?:how(?:['’]s| is| are| have| has)? (?:it|you|u|things|life|everything|about you|was it|did it)|how['’]s\b|what(?:['’]s| is) (?:up|new|going on|on your mind)|what about you|anything (?:new|else|fun|exciting)|any(?:thing)? (?:else|fun|plans|advice|ideas)|got any|is there anything else|what have you been|would you like (?:more|any|to \w+|me to (?:help|explain|elaborate|go))|do you have any (?:other|more|further|questions|specific)|does (?:this|that|it) (?:help|sound|make sense)|let me know|guess what|what do you think)`)
)

// idle reports whether a sentence keeps a talk going and says nothing.
func idle(s string) bool {
	words := 0
	for _, id := range strings.Fields(s) {
		if words++; strings.ContainsFunc(id, unspaced) {
			words += 4
		}
	}
	return words < 4 || smallTalk.MatchString(withoutMarks(s)) || words < 9 && polite.MatchString(withoutMarks(s))
}

// vague reports whether a question only points to what was said before it.
func vague(s string) bool { return len(s) < 45 && pointing.MatchString(s) }

// dayOf returns the date in the brackets before a turn, or all of it.
func dayOf(stamp string) string {
	if d := date.FindString(stamp); d != "" {
		return d
	}
	return stamp
}

// word is a word of a sentence.
type word struct {
	text  string // as it is written, without what surrounds it
	lower string // without a possessive ending
	// begins reports that a sentence, a clause or a quotation begins with the word, ends
	// that one ends with it.
	begins, ends bool
}

// shown returns the word in the case in which it stands within sentences.
func (w word) shown() string {
	if w.begins {
		return w.lower
	}
	text, _, _ := strings.Cut(strings.ReplaceAll(w.text, "’", "'"), "'")
	return text
}

// wordsOf splits a sentence into words.
func wordsOf(s string) (out []word) {
	for _, f := range strings.Fields(s) {
		text := strings.TrimFunc(f, func(r rune) bool { return !isWord(r) })
		if text == "" {
			continue
		}
		lower := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
		lower, _, _ = strings.Cut(lower, "'")
		last, _ := utf8.DecodeLastRuneInString(f)
		w := word{text: text, lower: lower, ends: !isWord(last)}
		w.begins = len(out) == 0 || ends(lastRune(out[len(out)-1].text)) ||
			out[len(out)-1].ends && strings.ContainsAny(f[:1], "\"“'")
		out = append(out, w)
	}
	return out
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// leastEnglish is the share of words in percent that must be common English ones.
// Subjects and names are recognised in English only.
const leastEnglish = 30

// isEnglish reports whether most sentences are English.
func isEnglish(turns [][]string) bool {
	common, all := 0, 0
	for _, said := range turns {
		for _, s := range said {
			for _, w := range wordsOf(s) {
				all++
				if commonWords[w.lower] {
					common++
				}
			}
		}
	}
	return common*100 >= all*leastEnglish
}

// mostSubjects is how many subjects a digest names.
const mostSubjects = 6

// occurrence counts in how many turns something occurs.
type occurrence struct {
	text  string
	turns int
	last  int
	// small reports that the text occurs in small letters.
	small bool
}

// subjects returns the words and pairs of words to which a talk returns, the most frequent
// first. Those of a previous digest count as two turns.
func subjects(turns [][]string, people, before []string) []string {
	if !isEnglish(turns) {
		return before
	}
	counts := map[string]*occurrence{}
	var order []*occurrence
	see := func(key, text string, begins bool, turn int) {
		n := counts[key]
		if n == nil {
			n = &occurrence{text: text, last: -1}
			counts[key] = n
			order = append(order, n)
		}
		// A capital letter says nothing at the beginning of a sentence, and elsewhere
		// only if the word always has it.
		if strings.IndexFunc(text, unicode.IsUpper) < 0 && !begins {
			n.text, n.small = text, true
		} else if !begins && !n.small {
			n.text = text
		}
		if n.last != turn {
			n.turns++
			n.last = turn
		}
	}
	for _, s := range before {
		key := strings.Fields(strings.ToLower(s))
		for i := range key {
			key[i] = stem(key[i])
		}
		see(strings.Join(key, " "), s, false, -2)
		see(strings.Join(key, " "), s, false, -3)
	}
	skip := func(w word) bool {
		return utf8.RuneCountInString(w.lower) < 3 || commonWords[w.lower] || dullWords[w.lower] ||
			calls(w.text, people) || !letters(w.lower)
	}
	for i, said := range turns {
		for _, s := range said {
			previous := word{ends: true}
			for _, w := range wordsOf(s) {
				if skip(w) {
					previous = word{ends: true}
					continue
				}
				see(stem(w.lower), w.shown(), w.begins, i)
				if !previous.ends {
					see(stem(previous.lower)+" "+stem(w.lower), previous.shown()+" "+w.shown(), previous.begins, i)
				}
				previous = w
			}
		}
	}
	// A pair takes the place of its words where they mostly occur together.
	for _, n := range order {
		first, second, pair := strings.Cut(n.text, " ")
		if !pair || n.turns < 2 {
			continue
		}
		for _, w := range [...]string{first, second} {
			if one := counts[stem(strings.ToLower(w))]; one != nil && one.turns < 2*n.turns {
				one.turns = 0
			}
		}
	}
	least := 2 + len(turns)/30
	order = slices.DeleteFunc(order, func(n *occurrence) bool { return n.turns < least })
	slices.SortStableFunc(order, func(a, b *occurrence) int { return cmp.Compare(b.turns, a.turns) })
	var out []string
	for _, n := range order {
		covered := slices.ContainsFunc(out, func(s string) bool { return haveCommon(s, n.text) })
		if !covered && len(out) < mostSubjects {
			out = append(out, n.text)
		}
	}
	return out
}

// stem removes the endings "s", "ing" and "e" of a word in lower case, so that its forms
// are counted together.
func stem(s string) string {
	if len(s) > 3 && strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") {
		s = s[:len(s)-1]
	}
	if len(s) > 5 {
		s = strings.TrimSuffix(s, "ing")
	}
	if len(s) > 3 {
		s = strings.TrimSuffix(s, "e")
	}
	return s
}

// haveCommon reports whether two subjects have a word in common.
func haveCommon(a, b string) bool {
	words := strings.Fields(strings.ToLower(a))
	return slices.ContainsFunc(strings.Fields(strings.ToLower(b)),
		func(w string) bool { return slices.Contains(words, w) })
}

func letters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) < 0
}

// calls reports whether a word is the name of one of the speakers, or short for it.
func calls(text string, people []string) bool {
	text, _, _ = strings.Cut(text, "'")
	return slices.ContainsFunc(people, func(name string) bool {
		nick := len(text) > 3 && len(text) <= len(name) && strings.HasPrefix(name, text[:3])
		return len(text) > 1 && (nick || strings.HasPrefix(name, text) || strings.HasPrefix(text, name) ||
			strings.HasSuffix(name, " "+text))
	})
}

// weekday matches what has a capital letter and names nothing.
var weekday = regexp.MustCompile(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?$`)

// mostNames is how many names a digest has.
const mostNames = 6

// names returns names of people, places and works in a talk: words with a capital letter
// within sentences. Those of a previous digest count as two turns; subjects that the
// digest has already are left out.
func names(turns [][]string, people, before, without []string) []string {
	if !isEnglish(turns) {
		return before
	}
	counts := map[string]*occurrence{}
	var order []*occurrence
	see := func(name string, turn int) {
		n := counts[name]
		if n == nil {
			n = &occurrence{text: name, last: -1}
			counts[name] = n
			order = append(order, n)
		}
		if n.last != turn {
			n.turns++
			n.last = turn
		}
	}
	for _, name := range before {
		see(name, -2)
		see(name, -3)
	}
	for i, said := range turns {
		for _, s := range said {
			for _, name := range namesIn(s, people) {
				see(name, i)
			}
		}
	}
	slices.SortStableFunc(order,
		func(a, b *occurrence) int { return cmp.Or(cmp.Compare(b.turns, a.turns), cmp.Compare(b.last, a.last)) })
	var out []string
	for _, n := range order {
		if utf8.RuneCountInString(n.text) < 3 || weekday.MatchString(n.text) {
			continue
		}
		part := slices.ContainsFunc(out, func(s string) bool {
			return strings.Contains(s, n.text) ||
				strings.Contains(n.text, s)
		}) || slices.Contains(without, n.text)
		if !part && len(out) < mostNames {
			out = append(out, n.text)
		}
	}
	return out
}

// namesIn returns the runs of words with a capital letter in a sentence. A word that is
// not a name by itself may be part of one ("New York").
func namesIn(s string, people []string) (out []string) {
	var run []string
	first, real := false, false // the run begins the sentence; it has a word that is a name
	flush := func() {
		for len(run) > 0 && connects(run[len(run)-1]) {
			run = run[:len(run)-1]
		}
		if real && (len(run) > 1 || len(run) == 1 && !first) {
			run[len(run)-1] = strings.TrimSuffix(strings.TrimSuffix(run[len(run)-1], "'s"), "’s")
			out = append(out, strings.Join(run, " "))
		}
		run, real = nil, false
	}
	for _, w := range wordsOf(s) {
		r, _ := utf8.DecodeRuneInString(w.text)
		known := commonWords[w.lower] || dullWords[w.lower]
		switch {
		case !unicode.IsUpper(r) && len(run) > 0 && connects(w.text) && !w.ends:
			run = append(run, w.text)
		case !unicode.IsUpper(r) || utf8.RuneCountInString(w.lower) < 2 || known && w.begins || calls(w.text, people) ||
			shouts(w.text) || !nameWord.MatchString(w.text):
			flush()
		default:
			if len(run) == 0 {
				first = w.begins
			}
			run, real = append(run, w.text), real || !known
			if w.ends {
				flush()
			}
		}
	}
	flush()
	return out
}

var nameWord = regexp.MustCompile(`^[\p{L}\p{M}\d.'’&-]+$`)

// shouts reports whether a word is written in capitals to stress it: acronyms are shorter.
func shouts(s string) bool { return len(s) > 6 && s == strings.ToUpper(s) }

// connects reports whether a word may stand within a name.
func connects(s string) bool {
	return s == "of" || s == "the" || s == "de" || s == "la" || s == "von" || s == "van" || s == "in"
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

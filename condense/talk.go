package condense

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/directive"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// TalkMax is the most tokens of the digest of a talk without its marker, an earlier summary
// aside. Little of a talk can be said in general; the rest is found by searching the
// history.
const TalkMax = 120

// Limits in bytes for quoting one sentence of a talk.
const (
	talkRequest  = 160
	talkSentence = 140
	talkClause   = 110
)

// isTalk reports whether messages are words alone, without the use of tools.
func isTalk(msgs []chat.Message) bool {
	return !slices.ContainsFunc(msgs, func(m chat.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p chat.Part) bool {
			return p.Kind == chat.Call ||
				p.Kind == chat.Result
		})
	})
}

// turn is what one speaker said without a break.
type turn struct {
	at int
	// who names the speaker as a digest does.
	who  string
	role chat.Role
	// day is the date that the talk gives for the turn, or "".
	day  string
	said []string
}

// talk collects the items of a talk.
type talk struct {
	*collector
	turns []turn
	// people are the names of the speakers, empty if a user speaks with an assistant.
	people []string
}

// talk collects the events of a span without tools: who and what it is about, what was
// agreed, what is open, names and dates. Small talk is left out, so that there may be no
// item at all.
func (c *collector) talk(events []event) {
	t := &talk{collector: c}
	t.split(events)
	if slices.ContainsFunc(t.turns, func(x turn) bool { return x.role == chat.User }) {
		c.stillOpen = nil // the conversation has continued
	}
	t.about()
	t.agreed()
	t.open()
	t.dates()
	t.names()
}

// speech parses the beginning of a line in the record of a talk: a date in brackets, a
// name and a colon.
var speech = regexp.MustCompile(
	`^(?:\[([^\]\n]{4,40})\] ?)?(?:(\p{Lu}[\p{L}\p{M}'’.-]{0,30}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,30})?): )?`)

// split makes turns of events. Messages are taken for a record of a talk between people if
// most of them begin with a name or have one.
func (t *talk) split(events []event) {
	named := 0
	heads := map[string]bool{}
	for i := range events {
		who := events[i].name
		if who == "" {
			who = speaks(events[i].text)
		}
		if who != "" {
			named++
			heads[who] = true
		}
	}
	record := len(events) > 1 && 3*named >= 2*len(events) && len(heads) <= mostPeople
	day := ""
	for i := range events {
		e := &events[i]
		who := e.name
		if who == "" || !record {
			who = string(e.who)
		}
		begin, text := 0, e.text
		end := func(at int) {
			if said := prose(text[begin:at]); len(said) > 0 {
				t.turns = append(t.turns, turn{at: e.msg, who: who, role: e.who, day: day, said: said})
			}
		}
		at := 0
		for line := range strings.Lines(text) {
			if m := speech.FindStringSubmatch(line); record && m[0] != "" && (m[2] == "" || heads[m[2]]) {
				end(at)
				begin = at + len(m[0])
				if m[1] != "" {
					day = dayOf(m[1])
				}
				if m[2] != "" {
					who = m[2]
				}
			}
			at += len(line)
		}
		end(at)
	}
	if !record {
		return
	}
	for i := range t.turns {
		if who := t.turns[i].who; !slices.Contains(t.people, who) && who != string(chat.User) &&
			who != string(chat.Assistant) {
			t.people = append(t.people, who)
		}
	}
	if len(t.people) < 2 {
		t.people = nil
	}
}

// prose returns the sentences of a text without code, headings and tables.
func prose(text string) (out []string) {
	for _, s := range sentences(text) {
		if !s.code && s.text[0] != '#' && s.text[0] != '|' {
			out = append(out, s.text)
		}
	}
	return out
}

// mostPeople is how many people talk to each other at most; more names are those of a list.
const mostPeople = 16

// speaks returns the name of a speaker at the beginning of a text, or "".
func speaks(text string) string {
	who := speech.FindStringSubmatch(text)[2]
	if quote.IsLabel(who) {
		return ""
	}
	return who
}

// counts reports whether what a speaker said counts: that of people, but of an assistant
// only its questions. What an assistant explains can be had again.
func (t *talk) counts(x *turn) bool { return len(t.people) > 0 || x.role == chat.User }

// about adds the subjects to which the talk returns, and the first and the last request to
// an assistant.
func (t *talk) about() {
	all := subjects(t.counted(), t.people, t.subjects)
	if len(all) > 0 {
		line := strings.Join(all, ", ")
		if len(t.people) > 0 {
			line = join(t.people) + prompt.DigestOn + line
		}
		t.add(secAbout, line, 0, 2)
		t.subjects = all
	}
	if len(t.people) > 0 {
		return
	}
	var asked []item
	for i := range t.turns {
		if x := &t.turns[i]; x.role == chat.User {
			if s := request(x.said); s != "" {
				asked = append(asked, item{text: prompt.DigestUser + clipLine(s, talkRequest), at: x.at})
			}
		}
	}
	if n := len(asked); n > 0 && asked[n-1].at == t.turns[len(t.turns)-1].at {
		asked = asked[:n-1] // it is open
	}
	for i, it := range asked {
		if i == 0 || i == len(asked)-1 {
			t.add(secAbout, it.text, it.at, 1)
		}
	}
}

// counted returns the sentences that count, by turn, without instructions: those are about
// the answers.
func (t *talk) counted() (out [][]string) {
	for i := range t.turns {
		if t.counts(&t.turns[i]) {
			out = append(out, slices.DeleteFunc(slices.Clone(t.turns[i].said), t.instructs))
		}
	}
	return out
}

// instructs reports whether a sentence of a user is an instruction. People do not instruct
// each other.
func (t *talk) instructs(s string) bool {
	if len(t.people) > 0 {
		return false
	}
	t.buf = plain(t.buf, s)
	return directive.Instructs(s) || hasCue(t.buf, foreignRules)
}

// join returns names as a list.
func join(names []string) string {
	switch n := len(names); {
	case n > 4:
		return strings.Join(names[:3], ", ") + ", …"
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// request returns the sentence of a message that asks for something; else one that says
// what its author wants; else the first one that is not small talk, in any language, or "".
func request(said []string) string {
	want, first := "", ""
	for _, s := range said {
		switch {
		case asksFor.MatchString(s) && len(s) > 6 && !vague(s), strings.HasSuffix(s, "?") && !idle(s) && !vague(s):
			return s
		case idle(s):
		case want == "" && wants.MatchString(s):
			want = s
		case first == "":
			first = s
		}
	}
	return cmp.Or(want, first)
}

// agreed adds what holds from then on: instructions and preferences of a user, decisions,
// appointments and promises.
func (t *talk) agreed() {
	offer := "" // the question with which the last turn ended
	for i := range t.turns {
		x := &t.turns[i]
		if offer != "" && x.role == chat.User && len(x.said) == 1 && len(x.said[0]) < 60 &&
			(isReply(sentence{text: x.said[0]}) || nodding(plain(nil, x.said[0]))) {
			t.add(secAgreed, prompt.DigestAsked+clipLine(offer, talkSentence)+" "+prompt.DigestUser+x.said[0], x.at, 1)
		}
		offer = ""
		if s := x.said[len(x.said)-1]; x.role == chat.Assistant && offers.MatchString(s) && !smallTalk.MatchString(s) {
			offer = withoutMarks(s)
		}
		if !t.counts(x) {
			continue
		}
		for _, s := range x.said {
			if text, w := t.settles(s); w > 0 {
				t.add(secAgreed, x.label(text)+text, x.at, w)
			}
		}
	}
}

// label names the speaker of a quoted sentence, and the day if the sentence needs it.
func (x *turn) label(text string) string {
	if x.day != "" && (relative.MatchString(text) || deadline.MatchString(text)) {
		return x.day + ", " + x.who + ": "
	}
	return x.who + ": "
}

// settles returns what a sentence settles, and how much: 2 for an instruction or a
// decision, 1 for an appointment, a promise or a preference, 0 for nothing.
func (t *talk) settles(s string) (text string, weight int) {
	straight := strings.ReplaceAll(s, "’", "'")
	if t.instructs(s) {
		return clipLine(s, talkSentence), 2
	}
	if at := decided.FindStringIndex(straight); at != nil && len(s) > 25 {
		if text = clause(straight, at[0], at[1]); !strings.HasSuffix(text, "?") {
			return text, 2
		}
	}
	switch {
	case strings.HasSuffix(s, "?") || len(s) < 25 || len(s) > 2*talkSentence:
	case intends.MatchString(straight) && soon.MatchString(straight) || promises.MatchString(straight) ||
		len(t.people) == 0 && directive.Prefers(s):
		return clipLine(s, talkSentence), 1
	}
	return "", 0
}

// open adds what the speakers left undecided, and a question or a request at the end that
// has no answer.
func (t *talk) open() {
	for i := range t.turns {
		x := &t.turns[i]
		last := i == len(t.turns)-1
		for _, s := range x.said {
			if t.counts(x) && !last && undecided.MatchString(s) && (len(t.people) > 0 || !strings.Contains(s, "?")) {
				t.add(secOpen, x.who+": "+clipLine(s, talkSentence), x.at, 0)
			}
		}
		if !last {
			continue
		}
		if s := x.said[len(x.said)-1]; strings.HasSuffix(s, "?") && !idle(s) {
			t.add(secOpen, x.who+prompt.DigestAsks+clipLine(withoutMarks(s), talkSentence), x.at, 1)
		} else if s := request(x.said); s != "" && x.role == chat.User && len(t.people) == 0 {
			t.add(secOpen, x.who+": "+clipLine(s, talkSentence), x.at, 1)
		}
	}
}

// dates adds what is said to happen at a time, or to have happened.
func (t *talk) dates() {
	for i := range t.turns {
		x := &t.turns[i]
		if !t.counts(x) {
			continue
		}
		for _, s := range x.said {
			at, weight := date.FindStringIndex(s), 1
			if at == nil {
				at = deadline.FindStringIndex(s)
			}
			if at == nil && x.day != "" && happens.MatchString(s) {
				at, weight = relative.FindStringIndex(s), 0
			}
			if at == nil || strings.HasSuffix(s, "?") && len(t.people) > 0 || shown.MatchString(s) {
				continue
			}
			if _, settled := t.settles(s); settled == 0 {
				text := clause(s, at[0], at[1])
				t.add(secNames, x.label(text)+text, x.at, weight)
			}
		}
	}
}

// clause returns the part of a sentence around a place. A long sentence is cut at commas,
// first before the place, then behind it.
func clause(s string, begin, end int) string {
	from, to := 0, len(s)
	for to-from > talkClause {
		if i := strings.IndexByte(s[from:begin], ','); i >= 0 {
			from += i + 1
		} else if j := strings.LastIndexByte(s[end:to], ','); j >= 0 {
			to = end + j
		} else {
			break
		}
	}
	if end-from > talkClause { // the place must be shown
		from = border(s, end-talkClause*3/4)
		from += max(strings.IndexByte(s[from:end], ' '), 0)
	}
	return clipLine(leadingWord.ReplaceAllString(strings.TrimSpace(s[from:to]), ""), talkClause)
}

var leadingWord = regexp.MustCompile(`(?i)^(?:and|but|so|which|because|although|while)\s+`)

// names adds the names that occur in the talk, the most frequent first.
func (t *talk) names() {
	if all := names(t.counted(), t.people, t.known, t.subjects); len(all) > 0 {
		t.add(secNames, strings.Join(all, ", "), 0, 2)
	}
}

package chat

import (
	"regexp"
	"slices"
	"strings"
)

// given returns the offset from which on a user's text is the output of a tool, the content
// of a file, a page or a letter: that of the first line that announces one. last are the
// closing tags of the text.
func given(text string, last map[string]int) int {
	end := announced(text)
	if slices.ContainsFunc(specialOpens, func(s string) bool { return strings.Contains(text, s) }) {
		if i := special.FindStringIndex(text[:end]); i != nil {
			end = i[0]
		}
	}
	return titled(text, end, last)
}

// announced returns the offset of the first line that certainly announces something, also
// inside an element, or the length of the text.
func announced(text string) int {
	result := strings.Index(text, resultOpens)
	bracket, at := -1, 0
	for line := range strings.Lines(text) {
		s := strings.TrimLeft(line, " \t")
		if bracket < 0 && len(s) > 1 && s[0] == '[' && letter(s[1]) {
			bracket = at
		}
		// The command named in the line may itself have several lines.
		if bracket >= 0 && result > bracket && result < at+len(line) {
			return bracket
		}
		if len(s) > len("tool result:")-1 && strings.IndexByte("tfeih-", lower(s[0])) >= 0 &&
			announces.MatchString(s[:min(len(s), longTitle)]) {
			return at
		}
		at += len(line)
	}
	return len(text)
}

// resultOpens ends the line with which Cline and its forks announce a result.
const resultOpens = "] Result:"

// longTitle is the most bytes of a line that are read.
const longTitle = 256

// announces matches lines after which agents put the output of a tool or the content of a
// file.
var announces = regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
	"(?:tool|function|execution)[ _](?:[`\"'][^\n`\"']{1,80}[`\"'] )?(?:result|output|response)s?(?: (?:of|for|from) [^\n:]+| \\([^)\\n]*\\))?:",
	`I have \*added these files to the chat\*`, // Aider
	`Here are some READ[ -]ONLY files`,
	`Here are summaries of some files present in my git`,
	`--- Content from referenced files ---`, // Gemini CLI
}, "|") + `)`)

// special matches the marks of models' own formats before the output of a tool. Nobody
// writes them by hand.
var special = regexp.MustCompile(`\[TOOL_RESULTS?\]|<\|start_header_id\|>(?:ipython|tool)<\||✿RESULT✿|<[|｜][^|｜<>\n]{0,30}(?i:tool|function|observation|ipython|document|system)[^|｜<>\n]{0,30}[|｜]>`)

// specialOpens are the beginnings of those marks.
var specialOpens = []string{"[TOOL_RESULT", "✿RESULT", "<|", "<｜"}

// titled returns the offset of the first line before end that has the form of a title of
// what programs and people put into a message. Titles inside elements and fences do not
// count: people's words may follow those. An element ends with its first closing tag here,
// so that a page that repeats the tag hides no title.
func titled(text string, end int, last map[string]int) int {
	fence, tries := "", tries(text)
	asked := max(strings.LastIndex(text, "\nQuestion:"), strings.LastIndex(text, "\nQuery:"))
	for at := 0; at < end; {
		next := end
		if i := strings.IndexByte(text[at:end], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := strings.TrimLeft(text[at:next], " \t")
		mark := fenceOf(line)
		switch {
		case fence != "":
			if mark == fence {
				fence = ""
			}
		case mark != "":
			fence = mark
		default:
			if n := title(line, text[next:end], at < asked, &tries); n >= 0 {
				return next - len(line) + n
			}
			next = max(next, elementEnd(text, at, next, last))
		}
		at = next
	}
	return end
}

// tries returns how many lines of a text are compared with forms of titles and marks. A text
// with more lines that look like titles or marks was not written by a person.
func tries(text string) int { return 16 + len(text)/64 }

// fenceOf returns the fence that a line opens or closes, or "".
func fenceOf(line string) string {
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		return line[:3]
	}
	return ""
}

// fence is code between two lines such as "```". last has the last closing tags of elements
// in it.
type fence struct {
	begin, end int
	last       map[string]int
}

// fenceAfter returns the first fence that opens at or after an offset, which is the start of a
// line or what follows an element; one at the end of the text if there is none.
func fenceAfter(text string, at int) fence {
	f := fence{begin: -1}
	for mark := ""; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		switch m := fenceOf(strings.TrimLeft(text[at:next], " \t")); {
		case m == "":
		case f.begin < 0:
			f.begin, mark = next, m
		case m == mark:
			f.end, f.last = next, map[string]int{}
			inside, _ := closings(text[f.begin:next])
			for name, last := range inside {
				f.last[name] = f.begin + last
			}
			return f
		}
		at = next
	}
	return fence{begin: len(text), end: len(text)}
}

// elementEnd returns the end of the elements that open between two offsets: the last of
// their first closing tags.
func elementEnd(text string, at, next int, last map[string]int) int {
	for at < next {
		i := strings.IndexByte(text[at:next], '<')
		if i < 0 {
			break
		}
		at += i + 1
		name := tagName(text[at:])
		if stop, closed := last[name]; closed && stop > at && !slices.Contains(markup, name) && !quotesUser(name) {
			at += strings.Index(text[at:], "</"+name)
			next = max(next, at)
		}
	}
	return next
}

// title returns where people's words end in a line behind which something else stands, or
// -1. rest is what follows the line.
// asks reports that a line which begins as a question beside passages does is behind it.
func title(line, rest string, asks bool, tries *int) int {
	if len(line) < len("url: x") {
		return -1
	}
	s := line[:min(len(line), longTitle)]
	small := strings.ToLower(s)
	colon := strings.IndexByte(s, ':') >= 0
	named := titles[firstWord(small)]
	working := colon && slices.ContainsFunc(verbs, func(v string) bool { return strings.Contains(small, v) })
	retrieving := slices.ContainsFunc(retrievers, func(v string) bool { return strings.Contains(small, v) })
	barred := strings.HasPrefix(s, "diff") || strings.HasPrefix(s, "<!") ||
		len(s) > 1 && s[0] == s[1] && strings.IndexByte("=-#*<", s[0]) >= 0
	if (!colon || named == nil) && !working && !retrieving && !barred {
		return -1
	}
	if *tries--; *tries < 0 {
		return 0
	}
	if colon && slices.ContainsFunc(named, func(r *regexp.Regexp) bool { return r.MatchString(small) }) {
		if !mail.MatchString(small) || mail.MatchString(strings.ToLower(rest[:min(len(rest), longTitle)])) {
			return 0
		}
	}
	if working {
		if m := works.FindStringIndex(s); m != nil {
			return m[1]
		}
	}
	if barred && bars.MatchString(small) || retrieving && retrieves.MatchString(s) ||
		asks && contextTitle.MatchString(s) {
		return 0
	}
	return -1
}

// firstWord returns the first word of a line in lower case, behind marks of lists.
func firstWord(line string) string {
	line = strings.TrimLeft(line, "#*>[ ")
	n := 0
	for n < len(line) && letter(line[n]) {
		n++
	}
	return line[:n]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// what are the things of others that stand in messages.
const what = `(?:results?|outputs?|responses?|contents?|texts?|pages?|web ?pages?|web ?sites?|articles?|documents?|files?|transcripts?|e-?mails?|letters?|logs?|excerpts?|passages?|snippets?|source code|readme|diff|patch|data|knowledge base)`

// titles are the forms of lines that name what follows them, in lower case, by the words
// with which they begin.
var titles = func() map[string][]*regexp.Regexp {
	all := map[string][]*regexp.Regexp{}
	for form, words := range map[string]string{
		`(?:full )?(?:results?|outputs?|responses?|contents?|text|body|transcript) (?:of|for|from) [^\n]{1,200}?:(?:\s|$)`:                             "full result results output outputs response responses content contents text body transcript",
		`[a-z]+[ _-](?:search )?(?:results?|outputs?|responses?|contents?|documents?|context|text|transcripts?)(?: (?:of|for|from) [^\n]+?)?:(?:\s|$)`: "action command search query fetch web browser api shell terminal code page file document website webpage retrieval retrieved scraped extracted markdown ocr video audio podcast",
		`(?:the )?(?:command|tool|function|script|server)\b[^\n]{0,200} (?:returned|printed|responded)\b[^\n:]{0,60}:(?:\s|$)`:                         "the command tool function script server",
		`(?:observation|stdout|stderr)(?: ?\d+)?:`: "observation stdout stderr",
		`(?:here(?:'s|’s| is| are)|below (?:is|are)|the following (?:is|are)|this is|these are) (?:the |a |an |some |my |all )?[^\n:]{0,60}\b` + what + `\b[^\n]{0,150}?:\s*$`: "here below the this these",
		what + `(?: ?#?\d+| \([^)\n]{1,100}\))(?: content)?:`:                                                                                       "result results output outputs response content contents text page webpage website article document documents file files transcript email letter log excerpt passage snippet readme diff patch data",
		`\[?(?:document|source|result|passage|chunk|snippet|page|file) ?#?\d+\]?:`:                                                                  "document source result passage chunk snippet page file",
		`(?:article|document|transcript|web ?page|page|e-?mail|attachment|file|search results|readme)s?:\s*$`:                                       "article articles document documents transcript transcripts webpage web page pages email emails e attachment attachments file files search readme",
		`(?:file|path|filename|filepath|page|source|url|link|title|website)(?: url| path| name| source)?: *(?:https?://|\S+\.\w{1,8}\s*$|/\S+\s*$)`: "file path filename filepath page source url link title website",
		`begin forwarded message:|on [^\n]{5,120} wrote:`:                                                                                           "begin on",
		mailLine: "from to cc date sent subject reply received message",
	} {
		r := regexp.MustCompile(`^(?:[#*>\[]+ *)?(?:` + form + `)`)
		for word := range strings.FieldsSeq(words) {
			all[word] = append(all[word], r)
		}
	}
	return all
}()

// mail matches a line of the head of a letter, which has at least two of them.
var mail = regexp.MustCompile(`^` + mailLine)

const mailLine = `(?:from|to|cc|date|sent|subject|reply-to|received|message-id): \S`

// bars matches lines that set a file or a page apart by signs.
var bars = regexp.MustCompile(`^(?:(?:={2,}>?|-{3,}|#{3,}|\*{3,}|<{3,}) ?(?:(?:begin|start)\b[^\n]*|(?:file|page|document|source|url)\b[^\n]*|\S*[./]\S+) ?(?:<?={2,}|-{3,}|#{3,}|\*{3,}|>{3,})\s*$|-{3,} ?(?:original|forwarded) message|diff --git |--- a/|<!doctype html)`)

// verbs are the beginnings of the words in works.
var verbs = []string{"summari", "summary of", "translat", "proofread", "paraphras", "rephras", "classif", "extract",
	"repl", "respond", "tl;dr", "tldr"}

// works matches the beginnings of orders to work on a text, up to the text. Orders that
// people give for code are not among them: more words follow the code.
var works = regexp.MustCompile(`(?i)^[^\n:]{0,80}\b(?:summari[sz]e|summary of|translate|proofread|paraphrase|rephrase|classify|extract|reply to|respond to|tl;?dr)\b[^\n:]{0,120}\b(?:this|these|following|below|` + what + `)\b[^\n:]{0,80}:`)

// retrieves matches the lines with which LlamaIndex, LangChain, Haystack, txtai, CrewAI and
// others introduce passages.
var retrieves = regexp.MustCompile(`(?i)` + strings.Join([]string{
	afterContext, beforeContext,
	`\b(?:use|using|given|based (?:only |solely )?on) the (?:following|provided) (?:(?:pieces|extracted parts|portions?) of )?(?:an? )?(?:long |retrieved )?(?:context|documents?|passages|sources|search results)\b`,
	`\bwith some more context below\b`,
	`^this is the context you're working with:`,
}, "|"))

// retrievers are words, one of which each of those lines has.
var retrievers = []string{"following ", "provided ", "context", "these documents"}

const (
	// afterContext stands in prompts in which the question follows the passages,
	afterContext = `^context information (?:from multiple sources )?is (?:provided )?below|\bpieces of context to answer the question at the end|` +
		`^answer the question based only on the following context:|^given (?:these documents|the following (?:information|documents|context|passages)), answer the (?:question|query)\b`
	// and beforeContext in those in which it precedes them.
	beforeContext = `\bpieces of retrieved context to answer the question\b|\busing only the context below\b`
)

// contextTitle matches a title that introduces passages if a question follows them.
var contextTitle = regexp.MustCompile(`(?i)^#{0,4} ?(?:context|documents|passages):\s*$`)

var (
	questionAfter  = regexp.MustCompile(`(?i)` + afterContext + `|` + contextTitle.String())
	questionBefore = regexp.MustCompile(`(?i)(?:` + beforeContext + `)[^\n]*\n\s*Question:`)
	contextBehind  = regexp.MustCompile(`\n[Cc]ontext:`)
	question       = regexp.MustCompile(`\n(?:Query|Question):`)
	answerOpens    = regexp.MustCompile(`\n(?:Helpful )?Answer:\s*$`)
)

// answered returns the stretch of what was given that holds the user's words nevertheless:
// an answer to a tool that asks, or the question beside passages, where no passage can stand.
func answered(text string) (stretch [2]int) {
	if m := asksUser.FindStringSubmatchIndex(text); m != nil {
		n := strings.Index(text[m[1]:], "</"+text[m[2]:m[3]]+">")
		return [2]int{m[1], m[1] + max(n, 0)}
	}
	head := text[:min(len(text), 2*longTitle)]
	if m := questionBefore.FindStringIndex(head); m != nil {
		n := 0
		if c := contextBehind.FindStringIndex(text[m[1]:]); c != nil {
			n = c[0]
		}
		return [2]int{m[1], m[1] + n}
	}
	if line, _, _ := strings.Cut(head, "\n"); !questionAfter.MatchString(line) {
		return stretch
	}
	end := len(text)
	if m := answerOpens.FindStringIndex(text[max(0, end-longTitle):]); m != nil {
		end = max(0, end-longTitle) + m[0]
	}
	for at := strings.LastIndex(text[:end], "\nQ"); at >= 0; at = strings.LastIndex(text[:at], "\nQ") {
		if m := question.FindStringIndex(text[at:min(end, at+16)]); m != nil {
			return [2]int{at + m[1], end}
		}
	}
	return stretch
}

// asksUser matches results of the tools with which Cline asks its user, up to the answer.
var asksUser = regexp.MustCompile(`^[ \t]*\[(?:ask_followup_question|attempt_completion|plan_mode_respond)\b[^\n]*\] Result:\s*<(answer|feedback|user_message)>`)

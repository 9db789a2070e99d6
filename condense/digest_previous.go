package condense

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// longAgo is the time of the first item of a previous digest.
const longAgo = -1 << 30

// previous collects an earlier summary: a digest section by section, so that
// counts continue and lines do not repeat, any other text as lines of its own.
func (c *collector) previous(text string) {
	at := longAgo
	now := secEarlier
	folder := ""
	vital, code := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if s, in, ok := titleOf(line); ok {
			now = s
			if in != "" {
				folder = in
			}
			continue
		}
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(line[listItem(line):])
		if fenceOf(line) != "" {
			code = !code
			continue
		}
		if line == "" || code {
			continue
		}
		if said := withoutNotes(line); said != line { // older digests quoted notes
			if line = quote.Disarm(said); line == "" || now == secErrors {
				continue // at most the name of the tool
			}
		}
		at++
		c.hasWork = c.hasWork || now == secChanged || now == secCommands || now == secErrors || now == secRead ||
			strings.HasPrefix(line, prompt.DigestStep)
		switch now {
		case secEarlier:
			if len(line) < 60 && (strings.HasSuffix(strings.Trim(line, "*# "), ":") || line[0] == '#') {
				vital = 0
				if anyWithin(strings.ToLower(line), vitalWords) {
					vital = 1
				}
			}
			for _, s := range pieces(line) {
				at++
				// The first lines of a summary matter most, and those under
				// vital headings.
				c.add(secEarlier, s, at, vital<<32-at)
			}
		case secTask:
			weight := 0
			if !c.hasTask {
				weight = 3
			}
			c.add(secTask, line, at, weight)
		case secDecisions, secAgreed:
			c.add(now, line, at, previousWeight(line))
		case secChanged, secRead:
			c.previousFile(line, folder, at)
		case secCommands:
			c.previousCommand(line, at)
		case secErrors:
			it := &item{section: secErrors, text: line, at: at}
			if key := errorKey(line); c.errors[key] == nil {
				c.errors[key] = it
				c.errorList = append(c.errorList, it)
			}
		case secOpen:
			c.stillOpen = append(c.stillOpen, item{section: secOpen, text: line, at: at})
		default:
			c.add(now, line, at, 0)
		}
	}
}

// vitalWords occur in headings of what must not be forgotten.
var vitalWords = []string{"request", "intent", "task", "goal", "next", "current", "pending", "todo", "user", "feedback",
	"decision", "constraint", "rule"}

// pieces splits a line that is too long to be kept or dropped as a whole.
func pieces(line string) []string {
	if len(line) <= 400 {
		return []string{line}
	}
	var out []string
	for _, s := range sentences(line) {
		out = append(out, oneLine(s.text))
	}
	return out
}

// titleOf parses the title of a section and the folder in it.
func titleOf(line string) (s section, folder string, ok bool) {
	line, ok = strings.CutSuffix(line, ":")
	if !ok {
		return 0, "", false
	}
	for i, t := range titles {
		rest, found := strings.CutPrefix(line, t)
		if !found {
			continue
		}
		if rest == "" {
			return section(i), "", true
		}
		if in, ok := strings.CutPrefix(rest, inFolder); ok && strings.HasSuffix(in, ")") {
			return section(i), strings.TrimSuffix(in, ")"), true
		}
	}
	return 0, "", false
}

// inFolder separates a title from the folder of its paths.
const inFolder = " (in "

// previousWeight returns the weight of a decision in a previous digest.
func previousWeight(line string) int {
	who, text, ok := strings.Cut(line, ": ")
	if !ok || text == "" {
		return 0
	}
	if strings.HasPrefix(who, refusedCall) || strings.HasPrefix(who, "user, refusing") { // the wording of older digests
		return 2
	}
	return decides(plain(nil, text), text, who == "user")
}

var (
	changedLine = regexp.MustCompile(`^(.+): (not changed|changed)(?:,)? (\d+)×(?: tried|, newest change failed)?$`)
	readLine    = regexp.MustCompile(`^(.+?)(?: (\d+)×)?$`)
	commandLine = regexp.MustCompile("^`(.+)`(?: \\((\\d+) runs(?:, (\\d+) failed)?\\))?(?:: (.+))?$")
)

// previousFile parses a line that finish wrote.
func (c *collector) previousFile(line, folder string, at int) {
	absolute := func(path string) string {
		if strings.HasPrefix(path, "/") || folder == "" {
			return path
		}
		return folder + path
	}
	if m := changedLine.FindStringSubmatch(line); m != nil {
		f := c.file(absolute(m[1]), at, false, outcome{state: "failed"})
		n, _ := strconv.Atoi(m[3])
		if m[2] == "changed" {
			f.changes += n
		} else {
			f.fails += n
		}
		f.lastFailed = strings.HasSuffix(line, "failed")
		return
	}
	if m := readLine.FindStringSubmatch(line); m != nil {
		f := c.file(absolute(m[1]), at, false, outcome{})
		if n, _ := strconv.Atoi(m[2]); n > 1 {
			f.reads += n - 1
		}
	}
}

// previousCommand parses a line that finish wrote.
func (c *collector) previousCommand(line string, at int) {
	m := commandLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	show, test := kindOfCommand(m[1])
	c.command(m[1], at, outcome{state: m[4]}, show, test)
	k := c.commands[shortCommand(m[1])]
	if k == nil {
		return
	}
	runs, _ := strconv.Atoi(m[2])
	fails, _ := strconv.Atoi(m[3])
	k.runs += max(runs, 1) - 1
	if m[2] == "" && strings.HasPrefix(m[4], "failed") {
		fails = 1
	}
	k.fails = fails
}

// asTalk turns what was collected of a previous digest into items of a talk. Digests of
// earlier versions have requests and decisions of talks among those of work: what is worth
// keeping of them becomes what the talk is about, and what was agreed.
func (c *collector) asTalk() {
	kept := c.items[:0]
	for _, it := range c.items {
		switch it.section {
		case secAbout:
			if !strings.HasPrefix(it.text, prompt.DigestUser) {
				_, list, found := strings.Cut(it.text, prompt.DigestOn)
				if !found {
					list = it.text
				}
				c.subjects = append(c.subjects, strings.Split(list, ", ")...)
				continue
			}
			it.weight = 1
		case secNames:
			if !strings.Contains(it.text, ": ") {
				c.known = append(c.known, strings.Split(it.text, ", ")...)
				continue
			}
		case secTask:
			said := request(prose(it.text))
			if m := speech.FindStringSubmatch(it.text); said == "" || m[0] != "" {
				continue
			}
			it = item{section: secAbout, text: prompt.DigestUser + clipLine(said, talkRequest), at: it.at}
		case secDecisions:
			who, text, _ := strings.Cut(it.text, ": ")
			text, weight := (&talk{collector: c}).settles(text)
			if who+": " != prompt.DigestUser || weight == 0 {
				continue
			}
			it = item{section: secAgreed, text: prompt.DigestUser + text, at: it.at, weight: weight}
		case secProgress:
			continue
		}
		kept = append(kept, it)
	}
	c.items = kept
}

// earlierTokens returns the tokens of a previous summary that is not a digest.
func (c *collector) earlierTokens(count func(string) int) int {
	n := 0
	for i := range c.items {
		if c.items[i].section == secEarlier {
			n += count("- " + c.items[i].text + "\n")
		}
	}
	return n
}

package recall

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/quote"
)

// Clients that carry a conversation between people often write in the text who speaks and
// when: "[1:56 pm on 8 May, 2023] Ann: Hello". told holds what texts say of their speakers.
type told struct {
	names  []string
	number []int32           // by name: its number in people, or none while it is not established
	roles  []uint8           // by name: the roles of those who wrote it, as bits
	lines  map[int32]*counts // by conversation
}

const (
	byUser = 1 << iota
	byOther
)

// counts are how many messages of a conversation have a text, and how many of them begin
// with a name, by name.
type counts struct {
	all, named int
	of         map[int32]int
}

const (
	// A name is that of a speaker if talkLeast or more messages of a conversation have a
	// text, talkShare of them begin with a name, and nameLeast with this one. Labels such
	// as "Note:" are rarer.
	talkLeast, nameLeast = 6, 2
	talkShare            = .75
	// mostLines is how many lines of a text are read for a date.
	mostLines = 64
	// manyNames is more than people that talk in a scope. Other names are ignored.
	manyNames = 256
)

// speaking matches the beginning of a line that names its speaker, perhaps after a date in
// brackets.
var speaking = regexp.MustCompile(
	`^(?:[\[(]([^\]\)\n]{6,48})[\])]\s{0,2})?(\p{Lu}[\pL'’.-]{0,23}(?: \p{Lu}[\pL'’.-]{0,23}){0,2}):[ \t]`)

// speakerOf returns the name at the beginning of a text, or "".
func speakerOf(text string) string {
	m := speaking.FindStringSubmatch(text)
	if m == nil || quote.IsRole(m[2]) || quote.IsLabel(m[2]) {
		return ""
	}
	return m[2]
}

// toldTime returns the date before the name of a speaker at the beginning of a line: the
// last one of the text, because what follows was said then. It is zero if there is none, or
// if the text does not begin with a speaker.
func toldTime(text string) (t time.Time) {
	if speakerOf(text) == "" {
		return t
	}
	lines := 0
	for line := range strings.Lines(text) {
		if lines++; lines > mostLines {
			break
		}
		if line[0] != '[' && line[0] != '(' || speakerOf(line) == "" {
			continue
		}
		if m := speaking.FindStringSubmatch(line); m != nil && m[1] != "" {
			if at, ok := parseTime(m[1]); ok {
				t = at
			}
		}
	}
	return t
}

// layouts are the forms of dates that nobody reads in two ways, by what is left of them
// without weekdays, ordinals and commas.
var layouts = []string{
	"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339,
	"2 January 2006", "January 2 2006", "2 Jan 2006", "Jan 2 2006",
	"2 January 2006 15:04", "January 2 2006 15:04", "2 Jan 2006 15:04", "Jan 2 2006 15:04",
	"2 January 2006 3:04 pm", "January 2 2006 3:04 pm", "2 Jan 2006 3:04 pm", "Jan 2 2006 3:04 pm",
	"3:04 pm 2 January 2006", "3:04 pm January 2 2006", "3:04 pm 2 Jan 2006", "15:04 2 January 2006",
	"15:04 January 2 2006",
}

var dateWords = regexp.MustCompile(`(?i)\b(?:on|at|mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?\b\.?`)

var ordinal = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)\b`)

// parseTime reads a date, perhaps with a time of day.
func parseTime(text string) (time.Time, bool) {
	text = dateWords.ReplaceAllString(strings.ReplaceAll(text, ",", " "), " ")
	text = strings.Join(strings.Fields(ordinal.ReplaceAllString(text, "$1")), " ")
	lower := strings.ToLower(text) // "PM"
	for _, layout := range layouts {
		for _, s := range [...]string{text, lower} {
			if t, err := time.Parse(layout, s); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// add notes the name that a message of a conversation begins with, and returns its number,
// or none. role is that of the message's author.
func (t *told) add(conversation int32, text, role string, p *people) int32 {
	if text == "" {
		return none
	}
	if t.lines == nil {
		t.lines = map[int32]*counts{}
	}
	c := t.lines[conversation]
	if c == nil {
		c = &counts{of: map[int32]int{}}
		t.lines[conversation] = c
	}
	c.all++
	name := speakerOf(text)
	if name == "" {
		return none
	}
	id := int32(slices.Index(t.names, name))
	if id == none {
		if len(t.names) == manyNames {
			return none
		}
		id = int32(len(t.names))
		t.names, t.number, t.roles = append(t.names, strings.Clone(name)), append(t.number, none), append(t.roles, 0)
	}
	if role == string(chat.User) {
		t.roles[id] |= byUser
	} else {
		t.roles[id] |= byOther
	}
	c.named++
	c.of[id]++
	if c.talk() {
		for id, name := range t.names { // in this order on every machine
			if c.of[int32(id)] >= nameLeast && t.number[id] == none {
				t.number[id] = p.add(name)
			}
		}
	}
	return id
}

// alone reports whether only users or only others write in the name of a speaker. Where both
// do, the name does not say who it was.
func (t *told) alone(name int32) bool { return t.roles[name] == byUser || t.roles[name] == byOther }

// talk reports whether the messages of a conversation name their speakers.
func (c *counts) talk() bool {
	return c != nil && c.all >= talkLeast && float64(c.named) >= talkShare*float64(c.all)
}

// dates reports whether a text of a conversation may tell its date: it names its speaker, as
// most messages before it do. A page that somebody pastes may not.
func (t *told) dates(conversation int32, text string) bool {
	all, named := 1, 1
	if c := t.lines[conversation]; c != nil {
		all, named = all+c.all, named+c.named
	}
	return float64(named+1) >= talkShare*float64(all) && speakerOf(text) != "" // but for one opener
}

// speaker returns the number of a message's speaker: the named one, else the one that its
// text names, else none.
func (s *Scope) speaker(m *message) int32 {
	if m.speaker == none && m.told != none {
		return s.told.number[m.told]
	}
	return m.speaker
}

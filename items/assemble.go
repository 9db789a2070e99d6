package items

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// AssembleOptions configure Assemble. The zero value is usable.
type AssembleOptions struct {
	// MaxTokens limits the text. Default 8,000.
	MaxTokens int
	// RecentShare is the share of the limit for recent items, between 0 and 1. Default
	// 0.5. Relevant items get the rest; either side may use what the other leaves.
	RecentShare float64
	// Count counts tokens. Default: o200k_base.
	Count func(string) int
}

// Assembly is what Assemble returns.
type Assembly struct {
	// Text is what a model reads.
	Text string
	// Recent and Relevant are the items in Text, in the order of time.
	Recent, Relevant []Item
	Tokens           int
}

// Assemble writes recent items, relevant items and the query into one text within a limit
// (SPEC D4). recent is in the order of time, relevant is best first.
//
// Assemble selects recent items from the newest backwards, without gaps, and relevant
// items whole, without those that are among the selected recent ones. It writes both in the
// order of time. The query is always in the text, without its middle if it is too long. The
// newest item comes before all relevant ones: it gets up to half of the room even if the
// share of recent items is smaller, and loses its middle if that is not enough.
func Assemble(recent, relevant []Item, query string, o AssembleOptions) Assembly {
	a := assembler{
		limit: orDefault(o.MaxTokens, DefaultMaxTokens),
		count: countOr(o.Count),
		query: query,
		ids:   map[int64]bool{},
		texts: map[string]bool{},
	}
	if bare := a.count(AssembleText(nil, nil, query)); bare > a.limit {
		a.query, _ = clip.Middle(query, a.limit-a.count(AssembleText(nil, nil, "")), a.count)
	}
	share := o.RecentShare
	if share == 0 || !number.Within(share, 0, 1) {
		share = 0.5
	}
	room := a.limit - a.count(AssembleText(nil, nil, a.query))
	half := int(float64(room) * share)
	if len(recent) > 0 {
		half = max(half, min(a.cost(RecentEntry(&recent[len(recent)-1])), (room+1)/2))
	}

	used := half - a.takeRecent(recent, half)
	// As long as there are more recent items, each side has its own half.
	own := room - used
	if len(a.recent) < len(recent) {
		own = room - half
	}
	room -= used + own - a.takeRelevant(relevant, own)
	room = a.takeRecent(recent, room)
	if len(a.recent) == 0 && len(recent) > 0 {
		room = a.trimNewest(recent[len(recent)-1], room)
	}
	a.takeRelevant(relevant, room)
	return a.finish()
}

type assembler struct {
	limit            int
	count            func(string) int
	query            string
	recent, relevant []Item // recent in order of time, relevant best first
	// ids and texts are the selected items: by id, or by text if they have none.
	ids   map[int64]bool
	texts map[string]bool
}

// choose records that an item is selected.
func (a *assembler) choose(it *Item) {
	if it.ID != 0 {
		a.ids[it.ID] = true
	} else {
		a.texts[it.Content] = true
	}
}

// cost returns the tokens that an entry adds to the text.
func (a *assembler) cost(entry string) int { return a.count(entry) + a.count("\n\n") }

// takeRecent selects recent items, from the one before the oldest selected item backwards,
// and returns the room that is left.
func (a *assembler) takeRecent(recent []Item, room int) int {
	for i := len(recent) - 1 - len(a.recent); i >= 0; i-- {
		n := a.cost(RecentEntry(&recent[i]))
		if n > room {
			break
		}
		room -= n
		a.recent = recent[i:]
		a.choose(&recent[i])
	}
	return room
}

// takeRelevant selects the relevant items that fit, best first, and returns the room that
// is left.
func (a *assembler) takeRelevant(relevant []Item, room int) int {
	for i := range relevant {
		n := a.cost(RelevantEntry(&relevant[i]))
		if len(a.relevant) == 0 {
			n += a.cost(titleRelevant)
		}
		if n <= room && !a.shows(&relevant[i]) {
			room -= n
			a.relevant = append(a.relevant, relevant[i])
			a.choose(&relevant[i])
		}
	}
	return room
}

// trimNewest selects the newest item without its middle, if that fits, and returns the
// room that is left.
func (a *assembler) trimNewest(it Item, room int) int {
	it.Full = it.Whole()
	it.Content = ""
	// Quotation marks take tokens too. If the entry is too large, the text gets less room.
	limit := room - a.cost(RecentEntry(&it))
	for try := 0; ; try++ {
		it.Content, _ = clip.Middle(it.Full, limit, a.count)
		if !clip.WithoutMiddle(it.Content) {
			return room
		}
		over := a.cost(RecentEntry(&it)) - room
		if over <= 0 || try == clipTries {
			break
		}
		limit -= over
	}
	it.Tokens = a.count(it.Content)
	a.recent = []Item{it}
	a.choose(&it)
	return room - a.cost(RecentEntry(&it))
}

// clipTries is the number of times that trimNewest clips a text. Each time it removes
// as much as the entry had too much before.
const clipTries = 4

// shows reports whether an item is selected.
func (a *assembler) shows(it *Item) bool {
	if it.ID != 0 {
		return a.ids[it.ID]
	}
	return a.texts[it.Content]
}

// finish writes the text. The text may have a few tokens more than its parts together: then
// finish drops the least relevant and the oldest items until it fits.
func (a *assembler) finish() Assembly {
	// Recent items that were selected last may be among the relevant ones.
	recent := map[int64]bool{}
	for i := range a.recent {
		recent[a.recent[i].ID] = true
	}
	a.relevant = slices.DeleteFunc(a.relevant, func(it Item) bool { return it.ID != 0 && recent[it.ID] })
	for {
		text := AssembleText(a.recent, a.relevant, a.query)
		n := a.count(text)
		switch {
		case n <= a.limit || len(a.relevant)+len(a.recent) == 0:
			return Assembly{Text: text, Recent: byTime(a.recent), Relevant: byTime(a.relevant), Tokens: n}
		case len(a.relevant) > 0:
			a.relevant = a.relevant[:len(a.relevant)-1]
		default:
			a.recent = a.recent[1:]
		}
	}
}

const (
	titleRecent   = prompt.TitleRecent
	titleRelevant = prompt.TitleRelevant
	titleQuery    = prompt.TitleQuery
)

// AssembleText returns a text with three titled parts: recent items, relevant items and
// the query (SPEC D4). Items are in the order of time. The second part is missing if there
// are no relevant items.
func AssembleText(recent, relevant []Item, query string) string {
	parts := []string{titleRecent}
	for _, it := range byTime(recent) {
		parts = append(parts, RecentEntry(&it))
	}
	blocks := []string{part(parts)}
	if len(relevant) > 0 {
		parts = []string{titleRelevant}
		for _, it := range byTime(relevant) {
			parts = append(parts, RelevantEntry(&it))
		}
		blocks = append(blocks, part(parts))
	}
	return strings.Join(append(blocks, titleQuery+"\n"+query), "\n\n")
}

// part joins a title and its entries.
func part(lines []string) string { return lines[0] + "\n" + strings.Join(lines[1:], "\n\n") }

// RecentEntry returns the entry of an item in the recent part: its source and its text. It
// quotes the output of tools, files and programs line by line, and disarms in an
// assistant's text what reads as another entry, so that neither passes for a user's words.
func RecentEntry(it *Item) string {
	switch it.Source {
	case "":
		return it.Content
	case SourceUser, SourceSystem:
		return "[" + string(it.Source) + "] " + it.Content
	case SourceAssistant:
		return "[" + string(it.Source) + "] " + quote.Disarm(it.Content)
	}
	return "[" + sourceLabel(it.Source) + "] " + quote.Continue(it.Content)
}

// RelevantEntry returns the entry of an item in the relevant part: its time, its source and
// its text. The time shows that it is not recent. The text is quoted, whatever its source.
func RelevantEntry(it *Item) string {
	when := ""
	if !it.Time.IsZero() {
		when = it.Time.UTC().Format("2006-01-02 15:04")
	}
	text := quote.Continue(it.Content)
	if label := strings.TrimSpace(when + " " + sourceLabel(it.Source)); label != "" {
		return "[" + label + "] " + text
	}
	return text
}

// sourceLabel returns a source without characters that would end its brackets.
func sourceLabel(s Source) string {
	return strings.Map(func(r rune) rune {
		if r == '[' || r == ']' {
			return -1
		}
		return r
	}, quote.Label(string(s)))
}

// byTime returns the items sorted by time, then by id.
func byTime(items []Item) []Item {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
	return out
}

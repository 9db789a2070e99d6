package items

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/elide"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/quote"
)

// AssembleOptions are the settings of Assemble.
type AssembleOptions struct {
	// MaxTokens is the most that the text may have. Default 8,000.
	MaxTokens int
	// RecentShare is the part of the room that recent items may claim, between 0
	// and 1. Default 0.5. What either side does not use the other may.
	RecentShare float64
	// Count counts tokens. Default: o200k_base.
	Count func(string) int
}

// Assembly is a context that was put together.
type Assembly struct {
	// Text is what a model is shown.
	Text string
	// Recent and Relevant are the items in it, in the order of time.
	Recent, Relevant []Item
	Tokens           int
}

// Assemble puts recent items, relevant ones and the query into one text within a
// limit (SPEC D4). Recent items come in the order of time and are taken from the
// newest backwards, without gaps; relevant ones come best first and are taken
// whole or not at all, and none that is among the recent ones taken. Both are
// written in the order of time. The query is always there; where it does not fit
// its middle is elided, and so is the newest item's where not even that fits. The
// newest item comes before what is relevant: where its share is too small for it, it
// has up to half of the room.
func Assemble(recent, relevant []Item, query string, o AssembleOptions) Assembly {
	a := assembler{
		limit: orDefault(o.MaxTokens, DefaultMaxTokens),
		count: countOr(o.Count),
		query: query,
		ids:   map[int64]bool{},
		texts: map[string]bool{},
	}
	if bare := a.count(AssembleText(nil, nil, query)); bare > a.limit {
		a.query, _ = elide.Text(query, a.limit-a.count(AssembleText(nil, nil, "")), a.count)
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
		room = a.elideNewest(recent[len(recent)-1], room)
	}
	a.takeRelevant(relevant, room)
	return a.finish()
}

type assembler struct {
	limit            int
	count            func(string) int
	query            string
	recent, relevant []Item // recent in order of time, relevant best first
	// What is taken: items by their id, those without one by their text.
	ids   map[int64]bool
	texts map[string]bool
}

func (a *assembler) take(it *Item) {
	if it.ID != 0 {
		a.ids[it.ID] = true
	} else {
		a.texts[it.Content] = true
	}
}

// cost is what an entry adds to the text.
func (a *assembler) cost(entry string) int { return a.count(entry) + a.count("\n\n") }

// takeRecent goes on backwards from the oldest item taken and gives the room that
// is left.
func (a *assembler) takeRecent(recent []Item, room int) int {
	for i := len(recent) - 1 - len(a.recent); i >= 0; i-- {
		n := a.cost(RecentEntry(&recent[i]))
		if n > room {
			break
		}
		room -= n
		a.recent = recent[i:]
		a.take(&recent[i])
	}
	return room
}

// takeRelevant takes what fits, best first, and gives the room that is left.
func (a *assembler) takeRelevant(relevant []Item, room int) int {
	for i := range relevant {
		n := a.cost(RelevantEntry(&relevant[i]))
		if len(a.relevant) == 0 {
			n += a.cost(titleRelevant)
		}
		if n <= room && !a.shows(&relevant[i]) {
			room -= n
			a.relevant = append(a.relevant, relevant[i])
			a.take(&relevant[i])
		}
	}
	return room
}

// elideNewest takes the newest item without its middle, where that fits.
func (a *assembler) elideNewest(it Item, room int) int {
	it.Full = it.Whole()
	it.Content = ""
	// Quoting takes tokens beside the text's own: where it takes too many, there is less
	// room for the text.
	limit := room - a.cost(RecentEntry(&it))
	for try := 0; ; try++ {
		it.Content, _ = elide.Text(it.Full, limit, a.count)
		if !elide.Elided(it.Content) {
			return room
		}
		over := a.cost(RecentEntry(&it)) - room
		if over <= 0 || try == elideTries {
			break
		}
		limit -= over
	}
	it.Tokens = a.count(it.Content)
	a.recent = []Item{it}
	a.take(&it)
	return room - a.cost(RecentEntry(&it))
}

// elideTries is how often elideNewest makes a text shorter; each try takes off what the
// one before had too much.
const elideTries = 4

// shows reports whether an item is taken already.
func (a *assembler) shows(it *Item) bool {
	if it.ID != 0 {
		return a.ids[it.ID]
	}
	return a.texts[it.Content]
}

// finish writes the text. The whole may have a few tokens more than its parts:
// then the least relevant and the oldest leave until it fits.
func (a *assembler) finish() Assembly {
	// What was taken as recent last may be among the relevant ones.
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
	titleRecent   = "# Recent Context"
	titleRelevant = "# Relevant Historical Context"
	titleQuery    = "# Current Query"
)

// AssembleText writes recent items, relevant ones and the query under their titles
// (SPEC D4). Items are written in the order of time; the second part is left out
// when it is empty.
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

// part is a title with its entries.
func part(lines []string) string { return lines[0] + "\n" + strings.Join(lines[1:], "\n\n") }

// RecentEntry returns how an item stands in the recent part: behind its source. What
// tools, files and programs say is quoted line by line, and an assistant's words hold
// nothing that reads as another entry, so that neither passes for the words of a user.
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

// RelevantEntry returns how an item stands in the relevant part: its time says that it
// is not recent, and it is quoted, whoever said it.
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

// sourceLabel returns a source fit to stand in brackets.
func sourceLabel(s Source) string {
	return strings.Map(func(r rune) rune {
		if r == '[' || r == ']' {
			return -1
		}
		return r
	}, quote.Label(string(s)))
}

// byTime sorts by time; items of the same time by id, then as they came.
func byTime(items []Item) []Item {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
	return out
}

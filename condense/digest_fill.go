package condense

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/prompt"
)

// section is a part of a digest. The constants are in the order of writing.
type section uint8

const (
	secEarlier section = iota
	secAbout
	secAgreed
	secTask
	secDecisions
	secProgress
	secChanged
	secCommands
	secErrors
	secOpen
	secRead
	secNames
	sections int = iota
)

// titles are part of the format: a later digest finds its sections by them.
var titles = [sections]string{
	secEarlier:   prompt.DigestEarlier,
	secAbout:     prompt.DigestAbout,
	secAgreed:    prompt.DigestAgreed,
	secTask:      prompt.DigestTask,
	secDecisions: prompt.DigestDecisions,
	secProgress:  prompt.DigestProgress,
	secChanged:   prompt.DigestChanged,
	secCommands:  prompt.DigestCommands,
	secErrors:    prompt.DigestErrors,
	secOpen:      prompt.DigestOpen,
	secRead:      prompt.DigestRead,
	secNames:     prompt.DigestNames,
}

// share is the percentage of the limit that a section may use before the next ones are
// filled.
type share struct {
	section section
	share   int
}

// The order in which sections are filled, each with its share. Shares may add up to more than
// 100: a section that does not need its share leaves the rest to the next ones. A digest of
// work has the sections of talks, too, because work may follow a talk.
var (
	workShares = []share{
		{secTask, 28}, {secDecisions, 22}, {secChanged, 15}, {secErrors, 9}, {secCommands, 10},
		{secProgress, 8}, {secOpen, 6}, {secAgreed, 6}, {secAbout, 4}, {secEarlier, 25}, {secRead, 4}, {secNames, 3},
	}
	talkShares = []share{{secAgreed, 40}, {secAbout, 35}, {secOpen, 25}, {secNames, 40}, {secEarlier, 60}}
)

// misses is how many consecutive lines may fail to fit before a section is given
// up: counting every line of a long span would cost more than it is worth.
const misses = 8

// leastWeight is below all weights.
const leastWeight = -1 << 31

// fill chooses the items that fit and writes them.
func fill(items []item, folder string, shares []share, in Input) string {
	f := filler{in: in, folder: folder, size: make([]int, len(items)), items: items}
	for i := range items {
		s := items[i].section
		f.of[s] = append(f.of[s], i)
	}
	for s := range f.of {
		slices.SortStableFunc(f.of[s], func(a, b int) int {
			x, y := &items[a], &items[b]
			return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(y.at, x.at))
		})
	}
	for _, p := range shares {
		f.serve(p.section, in.Max*p.share/100, true, 0)
	}
	for _, p := range shares {
		f.serve(p.section, in.Max, false, 0)
	}
	for _, p := range shares {
		f.serve(p.section, f.taken[p.section]+in.Max/10, false, leastWeight)
	}
	// The whole may have more tokens than the sum of its lines.
	for {
		text := f.write()
		if in.Count(text) <= in.Max || len(f.chosen) == 0 {
			return text
		}
		f.chosen = f.chosen[:len(f.chosen)-1]
	}
}

// filler is the state of one fill.
type filler struct {
	in     Input
	folder string
	items  []item
	of     [sections][]int
	// size is an item's tokens, 0 if not counted yet.
	size   []int
	chosen []int
	titled [sections]bool
	taken  [sections]int
	used   int
}

// stump is how many words, with the ellipsis, say nothing of what was cut.
const stump = 5

// serve chooses items of a section, most important first, up to limit tokens;
// items with a weight below least wait for a later pass. The first item is cut
// to fit if necessary and if it is prose.
func (f *filler) serve(s section, limit int, cut bool, least int) {
	cut = cut && (s == secTask || s == secDecisions || s == secProgress || s == secEarlier || s == secAbout ||
		s == secAgreed)
	missed := 0
	left := f.of[s][:0]
	for n, i := range f.of[s] {
		if missed >= misses || f.items[i].weight < least {
			left = append(left, f.of[s][n:]...)
			break
		}
		cost := f.cost(i)
		room := min(limit-f.taken[s], f.in.Max-f.used)
		if cost > room && cut && !f.titled[s] && len(left) == 0 {
			if text := clipWords(f.items[i].text, room-f.titleCost(s)-2,
				f.in.Count); len(strings.Fields(text)) > stump {
				f.items[i].text, f.size[i] = text, 0
				cost = f.cost(i)
			}
		}
		if cost > room {
			missed++
			left = append(left, i)
			continue
		}
		f.chosen = append(f.chosen, i)
		f.titled[s] = true
		f.taken[s] += cost
		f.used += cost
	}
	f.of[s] = left
}

func (f *filler) cost(i int) int {
	if f.size[i] == 0 {
		f.items[i].text = oneLine(f.items[i].text) // a line break could look like a new section
		f.size[i] = f.in.Count("- " + f.items[i].text + "\n")
	}
	if s := f.items[i].section; !f.titled[s] {
		return f.size[i] + f.titleCost(s)
	}
	return f.size[i]
}

func (f *filler) titleCost(s section) int { return f.in.Count(f.title(s) + "\n") }

// title returns a section's title with the folder of its paths. A path in the
// section that begins with a slash is outside that folder.
func (f *filler) title(s section) string {
	if f.folder != "" && (s == secChanged || s == secRead) {
		return titles[s] + inFolder + f.folder + "):"
	}
	return titles[s] + ":"
}

// write returns the chosen items in order.
func (f *filler) write() string {
	var of [sections][]int
	for _, i := range f.chosen {
		s := f.items[i].section
		of[s] = append(of[s], i)
	}
	var b strings.Builder
	for s, list := range of {
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(x, y int) int {
			return cmp.Or(cmp.Compare(f.items[x].at, f.items[y].at), cmp.Compare(x, y))
		})
		b.WriteString(f.title(section(s)) + "\n")
		for _, i := range list {
			b.WriteString("- " + f.items[i].text + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

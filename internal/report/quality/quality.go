// Package quality measures how good the windows of recorded calls were (SPEC D10): whether
// what left a window was needed again, whether replies use what was recalled, and how much
// of a window is repeated or out of date.
//
// It reads what is recorded and asks no model. What an agent needs is known from its tools
// that read files, change files and run commands; calls of other tools count as needing
// nothing. A passage counts as used if the reply contains words that only the passage
// brought into the window: a reply may use a passage in other words, and may have its words
// from elsewhere.
package quality

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/wire"
)

// Measures are the measures of some calls. Their JSON form is that of oriel usage
// --quality --json.
type Measures struct {
	// Calls counts calls with a reply, Cut those of them whose window left something out.
	Calls int `json:"calls"`
	Cut   int `json:"cut"`
	// Needed counts edits of files that were read before, and reads of files that were
	// read before and not changed since. Missing counts those whose newest read was not in
	// the window, Back those of the missing ones for which another text of the window,
	// such as a recalled one, has what was needed.
	Needed  int `json:"needed"`
	Missing int `json:"missing"`
	Back    int `json:"back"`
	// Again counts files read again and commands run again in calls that were cut; Held
	// those whose newest result was in the window.
	Again int `json:"again"`
	Held  int `json:"held"`
	// Passages counts what was recalled for a call, Used what of it the reply uses.
	Passages int `json:"passages"`
	Used     int `json:"used"`
	// Text is the size of the texts in the windows, in bytes. Repeated is the part that
	// the same window has before, word for word, Stale the results of reads and commands
	// that a later one in the window replaces or whose file was changed since. CameText,
	// CameRepeated and CameStale are the same of the requests as they came.
	Text         int `json:"text"`
	Repeated     int `json:"repeated"`
	Stale        int `json:"stale"`
	CameText     int `json:"came_text"`
	CameRepeated int `json:"came_repeated"`
	CameStale    int `json:"came_stale"`
}

// Add adds the measures of other calls.
func (m *Measures) Add(o *Measures) {
	m.Calls, m.Cut = m.Calls+o.Calls, m.Cut+o.Cut
	m.Needed, m.Missing, m.Back = m.Needed+o.Needed, m.Missing+o.Missing, m.Back+o.Back
	m.Again, m.Held = m.Again+o.Again, m.Held+o.Held
	m.Passages, m.Used = m.Passages+o.Passages, m.Used+o.Used
	m.Text, m.Repeated, m.Stale = m.Text+o.Text, m.Repeated+o.Repeated, m.Stale+o.Stale
	m.CameText, m.CameRepeated, m.CameStale = m.CameText+o.CameText, m.CameRepeated+o.CameRepeated,
		m.CameStale+o.CameStale
}

// Look measures one call: the request as it came, as it was sent, and the reply. cut
// reports that something was left out. known are the recalled texts of the conversation's calls
// before this one, to which Look adds those of this call; if it is nil, only what stands behind
// the last reply counts as recalled for this call.
func Look(came, sent *wire.Body, reply []chat.Message, cut bool, known map[string]bool) Measures {
	m := Measures{Calls: 1}
	if cut {
		m.Cut = 1
	}
	m.needed(came, sent, reply, cut)
	m.recalled(sent, reply, known)
	m.Text, m.Repeated, m.Stale = fresh(sent.Messages)
	m.CameText, m.CameRepeated, m.CameStale = fresh(came.Messages)
	return m
}

// leastRepeated is the shortest text that counts as repeated: short ones are repeated for
// good reasons, such as "done".
const leastRepeated = 200

// fresh returns the bytes of all texts in a window, of those that it has before, and of
// results that are out of date.
func fresh(messages []chat.Message) (all, repeated, stale int) {
	seen := map[string]bool{}
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != chat.Text && p.Kind != chat.Result {
				continue
			}
			t := text(p)
			all += len(t)
			if len(t) >= leastRepeated && seen[t] {
				repeated += len(t)
			}
			seen[t] = true
		}
	}
	replaced := map[string]bool{} // what a later call reads, changes or runs
	list := touches(messages)
	for i := len(list) - 1; i >= 0; i-- {
		t := &list[i]
		if t.failed {
			continue
		}
		what := t.about
		if t.does == "run" {
			what = "$ " + what
		}
		if t.does != "change" && replaced[what] {
			stale += len(text(t.result))
		}
		replaced[what] = true
	}
	return all, repeated, stale
}

// recalled adds the passages that were recalled for this call: those in what follows the last
// reply in the window, and those beside the marker of a cut, which stand there in later calls
// as well.
func (m *Measures) recalled(sent *wire.Body, reply []chat.Message, known map[string]bool) {
	var passages []string
	newest := 0
	for i := range sent.Messages {
		if sent.Messages[i].Role == chat.Assistant {
			newest = i + 1
		}
	}
	var rest strings.Builder
	for i := range sent.Messages {
		for j := range sent.Messages[i].Parts {
			p := &sent.Messages[i].Parts[j]
			if p.Kind != chat.Text && p.Kind != chat.Result {
				continue
			}
			t := text(p)
			quoted := p.Kind == chat.Text && strings.Contains(t, prompt.Recalled)
			isNew := i >= newest || known != nil && !known[t]
			if quoted && known != nil {
				known[t] = true
			}
			if quoted && isNew {
				before, found := split(t)
				rest.WriteString(before + "\n")
				passages = append(passages, found...)
			} else {
				rest.WriteString(t + "\n")
			}
		}
	}
	if len(passages) == 0 {
		return
	}
	var said strings.Builder
	for i := range reply {
		for j := range reply[i].Parts {
			switch p := &reply[i].Parts[j]; p.Kind {
			case chat.Text:
				said.WriteString(text(p) + "\n")
			case chat.Call:
				said.WriteString(p.Arguments() + "\n")
			}
		}
	}
	answer := recall.NewReply(said.String(), rest.String())
	for _, passage := range passages {
		m.Passages++
		if answer.Uses(passage) {
			m.Used++
		}
	}
}

// split returns what a text has beside what was recalled, and the recalled passages: each
// begins with a line "label> words" and continues with lines "> words".
func split(t string) (rest string, passages []string) {
	rest, t, _ = strings.Cut(t, prompt.Recalled)
	for line := range strings.Lines(t) {
		label, words, quoted := strings.Cut(line, ">")
		switch {
		case !quoted || strings.ContainsAny(label, "[]\""): // a date, or a line of Oriel's
		case label == "" && len(passages) > 0:
			passages[len(passages)-1] += words
		default:
			passages = append(passages, words)
		}
	}
	return rest, passages
}

package thread

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// Limits of what is remembered of a summary, and of what is compared with it.
const (
	leastLine     = 12      // bytes of a line that counts
	mostLines     = 256     // of a summary
	mostQuoted    = 1 << 17 // bytes of the texts that may quote it
	mostSummaries = 64      // conversations whose summaries are remembered, in a namespace
)

// summaryLine is a line of a summary that a model wrote: a hash of its words, and their size.
type summaryLine struct {
	hash uint64
	size int
}

var lineSeed = maphash.MakeSeed()

// lines calls add with each line of a text that counts, without the space around it.
func lines(text string, add func(summaryLine)) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			add(summaryLine{maphash.String(lineSeed, line), len(line)})
		}
	}
}

// summaryOf returns the lines of a reply to a request for a summary, or nil if it is too short
// to be recognised.
func summaryOf(reply []chat.Message) (all []summaryLine) {
	size := 0
	for i := range reply {
		lines(textOf(&reply[i]), func(l summaryLine) {
			if len(all) < mostLines {
				all = append(all, l)
				size += l.size
			}
		})
	}
	if size < leastSummary {
		return nil
	}
	return all
}

// noteSummary remembers the reply to a request for a summary of a history.
func (t *tenant) noteSummary(k *conversation, reply []chat.Message) {
	if found := summaryOf(reply); found != nil {
		k.summary = found
		k.space.summed = latest(k.space.summed, k, mostSummaries)
	}
}

// quoted returns the conversation whose summary, as its model wrote it, is in one of the first
// messages of a request, with no reply before it; or nil. Clients put words of their own
// around a summary, and leave out what the model considered before it. p is how far both
// begin alike.
func (t *tenant) quoted(n *namespace, r *Request, p place) *conversation {
	if len(n.summed) == 0 || p.depth == len(r.Messages) {
		return nil
	}
	said := map[uint64]bool{}
	left := mostQuoted
	for i := p.depth; i < len(r.Messages) && i < p.depth+maxGap; i++ {
		m := &r.Messages[i]
		for j := range m.Parts {
			part := &m.Parts[j]
			if (part.Kind == chat.Text || part.Kind == chat.Compaction) && len(part.Text) <= left {
				left -= len(part.Text)
				lines(part.Text.String(), func(l summaryLine) { said[l.hash] = true })
			}
		}
		if m.Role == chat.Assistant && i > p.depth {
			break
		}
	}
	for _, k := range slices.Backward(n.summed) {
		t.work++
		all, same := 0, 0
		for _, l := range k.summary {
			if all += l.size; said[l.hash] {
				same += l.size
			}
		}
		if same >= max(leastSummary, all/4) && !k.sketch.Differs(&r.Sketch) && k.compactedAt(r, p) {
			return k
		}
	}
	return nil
}

// earlyQuoted reports whether a request begins with a summary that a call in progress may be
// writing. p is how far it is known.
func (t *tenant) earlyQuoted(n *namespace, r *Request, p place) bool {
	return slices.ContainsFunc(n.recent, func(k *conversation) bool {
		return k.summing > 0 && !k.sketch.Differs(&r.Sketch) && k.compactedAt(r, p)
	}) && summarises(r.Messages[p.depth:])
}

// compactedAt reports whether a request that begins with a summary may be the conversation
// anew: its client has kept no more than the first messages.
func (k *conversation) compactedAt(r *Request, p place) bool {
	size := k.longest()
	return p.depth == 0 || size > len(r.Messages) && p.depth*2 < size
}

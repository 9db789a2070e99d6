package view

import (
	"encoding/binary"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// Line is a prompt as the cache of its provider compares it with the next one: the tools and
// the system prompt, then message by message.
type Line struct {
	parts []linePart
	total int
}

type linePart struct {
	raw, sum uint64 // of the bytes, and without marks and the form of the bytes
	tokens   int
}

// Len returns the number of parts of a line.
func (l *Line) Len() int { return len(l.parts) }

// Repeats returns how many tokens of a prompt of n tokens the line before it had, too: both
// begin with them.
func (l *Line) Repeats(before *Line, n int) int {
	same := 0
	for i := range min(len(l.parts), len(before.parts)) {
		if l.parts[i].sum != before.parts[i].sum {
			break
		}
		same += l.parts[i].tokens
	}
	return n * same / max(1, l.total)
}

// Lines returns the prompt of a call as it came and as it was sent. Messages that are in the
// lines of an earlier call are not hashed again.
func (r *Result) Lines(cameBefore, sentBefore *Line) (came, sent Line) {
	return r.request.line(r.request.Body.Whole(), cameBefore), r.request.line(r.pieces, sentBefore)
}

func (s *request) line(pieces []wire.Piece, before *Line) Line {
	l := Line{parts: make([]linePart, 1, len(pieces)+1)}
	// They change seldom, and rarely to the same length: that is not worth reading them again.
	for i := range s.Body.Tools {
		l.parts[0].sum += uint64(len(s.Body.Tools[i].Raw)) << 32
	}
	for i := range s.Body.System {
		l.parts[0].sum += uint64(len(s.Body.System[i].Text))
	}
	l.parts[0].tokens = s.before.System + s.before.Tools
	for i, p := range pieces {
		m := s.message(p)
		part := linePart{raw: m.Summed(), tokens: s.weight(p)}
		switch {
		case p.Raw != nil: // the identity of what Oriel has put something into is that of the original
			part.sum = part.raw
		case i+1 < len(before.parts) && before.parts[i+1].raw == part.raw:
			part.sum = before.parts[i+1].sum
		default:
			id := timeline.Identity(m)
			part.sum = binary.LittleEndian.Uint64(id[:])
		}
		l.parts = append(l.parts, part)
	}
	for _, p := range l.parts {
		l.total += p.tokens
	}
	return l
}

// Part returns a part of a line: a sum that equal bytes share, and its tokens. Part 0 are the
// tools and the system prompt, the others the messages.
func (l *Line) Part(i int) (sum uint64, tokens int) { return l.parts[i].sum, l.parts[i].tokens }

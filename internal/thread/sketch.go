package thread

import (
	"math"

	"github.com/oriel-context/oriel/chat"
)

// buckets is how many of the smallest hashes a PromptSketch keeps.
const buckets = 32

// PromptSketch is a sketch of a system prompt, by which two of them can be compared: dates,
// states of working copies and nonces change it little, the prompt of another agent
// wholly. The zero PromptSketch is that of no prompt at all.
type PromptSketch struct {
	Pairs int // of neighbouring words
	Least [buckets]uint32
}

// SketchOf sketches a system prompt: the smallest hash in each of some classes of its
// pairs of words.
func SketchOf(system []chat.Part) PromptSketch {
	l := PromptSketch{}
	for i := range l.Least {
		l.Least[i] = math.MaxUint32
	}
	var before uint32
	for i := range system {
		if system[i].Kind == chat.Text {
			before = l.add(system[i].Text, before)
		}
	}
	if l.Pairs == 0 {
		return PromptSketch{}
	}
	return l
}

// FNV-1a.
const (
	basis = 2166136261
	prime = 16777619
)

// add takes the words of a literal, escapes as they stand.
func (l *PromptSketch) add(literal []byte, before uint32) uint32 {
	word := uint32(basis)
	for _, c := range literal {
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c >= 0x80 {
			word = (word ^ uint32(c)) * prime
			continue
		}
		if word != basis {
			l.pair(before, word)
			before, word = word, basis
		}
	}
	if word != basis {
		l.pair(before, word)
		before = word
	}
	return before
}

func (l *PromptSketch) pair(a, b uint32) {
	l.Pairs++
	h := (a*31 ^ b) * 0x9e3779b1
	h ^= h >> 15
	h *= 0x85ebca77
	h ^= h >> 13
	if i := h % buckets; h < l.Least[i] {
		l.Least[i] = h
	}
}

// A prompt of fewer pairs tells nobody apart, with less in common two are different.
const (
	fewPairs = 12
	common   = .2
)

// Differs reports whether two prompts are those of different agents.
func (l *PromptSketch) Differs(o *PromptSketch) bool {
	if max(l.Pairs, o.Pairs) < fewPairs {
		return false
	}
	same, either := 0, 0
	for i := range l.Least {
		full, fuller := l.full(i), o.full(i)
		if full || fuller {
			either++
		}
		if full && fuller && l.Least[i] == o.Least[i] {
			same++
		}
	}
	return float64(same) < common*float64(either)
}

func (l *PromptSketch) full(i int) bool { return l.Pairs > 0 && l.Least[i] != math.MaxUint32 }

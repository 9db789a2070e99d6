package thread

import (
	"math"

	"github.com/oriel-context/oriel/chat"
)

// buckets is how many of the smallest hashes a PromptSketch keeps.
const buckets = 32

// PromptSketch is a MinHash of a system prompt. Dates, nonces and the state of a working
// copy change it little; the prompt of another agent changes it entirely. The zero value
// is the sketch of an empty prompt.
type PromptSketch struct {
	Pairs int // of neighbouring words
	Least [buckets]uint32
}

// SketchOf returns the sketch of a system prompt: for each bucket, the smallest hash of
// the pairs of neighbouring words in it.
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

// add adds the words of a literal, without decoding escapes.
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

// Prompts with fewer than fewPairs pairs never differ. Two prompts that share
// less than common of their buckets differ.
const (
	fewPairs = 12
	common   = .2
)

// Differs reports whether two prompts belong to different agents.
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

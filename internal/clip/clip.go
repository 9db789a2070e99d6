// Package clip shortens texts. A shortened text states how much of it is missing.
//
// To bounds untrusted texts before they are remembered, logged or shown: names of models,
// paths, header values, numbers, error messages. They stay valid UTF-8 and do not share
// memory with the original, so a long name costs nothing after its call.
//
// Middle and Result leave out the middle of what a model is shown: head, tail and a marker
// with where to find the rest. The result is within its limit, whatever that is, and a text
// that is shortened twice has one marker.
package clip

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// How many bytes of a text are kept.
const (
	// Name is for names and ids: of models, profiles, replies, stop reasons, plans.
	Name = 200
	// Line is for the parts of a request in a log: method, path.
	Line = 300
	// Text is for error messages.
	Text = 1000
)

// To returns s if it has at most n bytes. Otherwise it returns the first n bytes, or
// fewer so as not to split a character, and the number of missing bytes.
func To(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := Floor(s, n)
	return strings.Clone(s[:end]) + "… (" + strconv.Itoa(len(s)-end) + " bytes more)"
}

// Floor returns the last border between characters at or before i, i itself where s is
// not UTF-8 there.
func Floor(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for j := i; j >= 0 && j > i-utf8.UTFMax; j-- {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i
}

// Ceil returns the first border between characters at or after i, i itself where s is
// not UTF-8 there.
func Ceil(s string, i int) int {
	for j := i; j < i+utf8.UTFMax; j++ {
		if j >= len(s) || utf8.RuneStart(s[j]) {
			return min(j, len(s))
		}
	}
	return i
}

// Package clip bounds the length of texts that strangers choose before they are
// remembered, logged or told: names of models, paths, header values, numbers, the words
// of errors.
//
// A clipped text is valid UTF-8 where the whole was, and ends with how many bytes are
// missing. It does not share memory with the whole: a long name that was clipped costs
// nothing after its call.
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
	// Line is for what a request says of itself in a log: method, path.
	Line = 300
	// Text is for the words of an error.
	Text = 1000
)

// To returns s if it has at most n bytes, otherwise its first n bytes, less where that
// would cut a character, and the number of bytes that are missing.
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

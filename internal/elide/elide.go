// Package elide leaves out the middle of texts that are too long to show. A marker
// stands for what is missing; it says how much that is and where to find it.
package elide

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/token/bpe"
)

// What Result keeps of a text unless told otherwise, in characters.
const (
	Head = 200
	Tail = 200
)

// stubMark opens every stub and marker.
const stubMark = chat.Mark + ": "

// wholeInHistory is the hint of markers that know nothing better.
const wholeInHistory = "the whole text is in the history"

// elisionMark finds the marker that stands for a middle that was left out.
var elisionMark = regexp.MustCompile(`\n?` + regexp.QuoteMeta(stubMark) + `(\d{1,15}) (tokens|characters) of the middle are left out here[^\]\n]*\]\n?`)

// marker is the text that stands for a middle. The hint says how to get it back.
func marker(n int, unit, hint string) string {
	if hint != "" {
		hint = "; " + strings.Map(func(r rune) rune {
			if r == ']' || r == '\n' {
				return ' '
			}
			return r
		}, hint)
	}
	return fmt.Sprintf("%s%d %s of the middle are left out here%s]", stubMark, n, unit, hint)
}

// Elided reports whether the middle of a text has been left out.
func Elided(text string) bool { return findElision(text) != nil }

// findElision looks for a marker. Most text has none and is not worth a pattern.
func findElision(text string) []int {
	if !strings.Contains(text, stubMark) {
		return nil
	}
	return elisionMark.FindStringSubmatchIndex(text)
}

// Text leaves out the middle of a text that has more than limit tokens: head and
// tail stay, cut between lines where there are any near, and a marker between them
// says how much is missing and where it is. The result has at most limit tokens.
// Where there is little room the marker only says how much is missing; where there
// is none for it, only the head stays; with a limit of 0 or less nothing does.
//
// A text that fits is returned as it is. A text that has been elided before gets
// one marker for both times. removed is what this call took out, in tokens.
//
// The whole text is counted once; every other call of count is on a text of about
// limit tokens, and there are O(log limit) of them. A nil count is that of
// o200k_base.
func Text(text string, limit int, count func(string) int) (short string, removed int) {
	return TextHint(text, limit, count, wholeInHistory)
}

// TextHint is Text with a hint of the caller's own on how to get the text back.
func TextHint(text string, limit int, count func(string) int, hint string) (short string, removed int) {
	if count == nil {
		count = bpe.Count
	}
	total := count(text)
	if total <= limit {
		return text, 0
	}
	e := elision{head: text, tail: text, limit: limit, count: count}
	shown := total
	if first, last, before, ok := parseElision(text, "tokens"); ok {
		e.head, e.tail, e.before, e.split = first, last, before, true
		shown = count(first) + count(last)
	}
	e.hint = hint
	if count(marker(e.before+shown, "tokens", hint)) > limit/2 {
		e.hint = "" // rather some text than a long marker
	}
	if s, n, ok := e.search(shown); ok {
		return s, n
	}
	// No room for a marker.
	head := func(n int) string { return text[:clip.Floor(text, n)] }
	s := head(largest(len(text), limit, func(n int) bool { return count(head(n)) <= limit }))
	return s, total - count(s)
}

// parseElision splits a text at the marker of an earlier elision and gives what
// that left out, in the unit asked for. Four characters are taken for a token.
func parseElision(text, unit string) (head, tail string, missing int, ok bool) {
	at := findElision(text)
	if at == nil {
		return "", "", 0, false
	}
	missing, _ = strconv.Atoi(text[at[2]:at[3]])
	switch was := text[at[4]:at[5]]; {
	case was == unit:
	case unit == "tokens":
		missing = (missing + 3) / 4
	default:
		missing *= 4
	}
	return text[:at[0]], text[at[1]:], missing, true
}

// elision is one search for the most that can be kept. Without an earlier marker
// (split) head and tail are the same text, and what they keep must not meet.
type elision struct {
	head, tail string
	split      bool
	before     int // what an earlier marker says is missing
	limit      int
	count      func(string) int
	hint       string
}

// search finds the largest head and tail that fit with their marker.
func (e *elision) search(total int) (short string, removed int, ok bool) {
	room := len(e.head)
	if e.split {
		room += len(e.tail)
	}
	fits := func(k int) bool {
		h, t := e.cut(k)
		// The number in the marker is not known yet; none is longer than this.
		return e.count(e.join(h, t, e.before+total)) <= e.limit
	}
	if !fits(0) {
		return "", 0, false
	}
	for k := largest(room, e.limit, fits); ; k = k * 15 / 16 {
		h, t := e.cut(k)
		// To a few tokens: a whole may count otherwise than its parts.
		removed = max(1, total-e.count(h)-e.count(t))
		short = e.join(h, t, e.before+removed)
		if e.count(short) <= e.limit {
			return short, removed, true
		}
		if k == 0 {
			return "", 0, false
		}
	}
}

// cut keeps about k bytes, half of them at either end.
func (e *elision) cut(k int) (head, tail string) {
	h, t := k-k/2, k/2
	if e.split {
		// What one end does not have the other may keep.
		h = min(h, len(e.head))
		t = min(k-h, len(e.tail))
		h = min(k-t, len(e.head))
	}
	head = e.head[:clip.Floor(e.head, h)]
	if h < len(e.head) {
		head = head[:lineEnd(head)]
	}
	tail = e.tail[clip.Ceil(e.tail, len(e.tail)-t):]
	if t < len(e.tail) {
		tail = tail[lineStart(tail):]
	}
	return head, tail
}

func (e *elision) join(head, tail string, n int) string {
	return around(head, marker(n, "tokens", e.hint), tail)
}

// around puts a marker on a line of its own.
func around(head, mark, tail string) string {
	var b strings.Builder
	b.Grow(len(head) + len(mark) + len(tail) + 2)
	b.WriteString(head)
	if head != "" {
		b.WriteByte('\n')
	}
	b.WriteString(mark)
	if tail != "" {
		b.WriteByte('\n')
	}
	b.WriteString(tail)
	return b.String()
}

// largest is a number up to n for which fits holds, as large as a search finds
// that begins at guess and never tries more than twice the answer or the guess.
// Zero is taken to fit.
func largest(n, guess int, fits func(int) bool) int {
	low, high := 0, min(n, max(guess, 1))
	for high < n && fits(high) {
		low, high = high, min(n, 2*high)
	}
	// A sixty-fourth more or less is not worth another count.
	for high-low > 1+low/64 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// lineEnd is where to end a head: behind its last whole line, if that loses at
// most a quarter.
func lineEnd(s string) int {
	if i := strings.LastIndexByte(s, '\n'); i >= len(s)-len(s)/4 {
		return i
	}
	return len(s)
}

// lineStart is where to begin a tail: at its first whole line, if that loses at
// most a quarter.
func lineStart(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/4 {
		return i + 1
	}
	return 0
}

// Result shortens the result of a tool: each of its texts keeps its first head
// and last tail characters, and pictures, documents and recordings are replaced by a
// note with their type and size. What else it has stays. removed counts characters of
// texts; changed reports whether anything was done.
func Result(p *chat.Part, head, tail int) (short chat.Part, removed int, changed bool) {
	short = *p
	elide := func(text chat.String) chat.String {
		s, n := elideChars(text.String(), head, tail)
		if n == 0 {
			return text
		}
		removed, changed = removed+n, true
		return chat.Quote(s)
	}
	if p.Parts == nil {
		short.Text = elide(p.Text)
		return short, removed, changed
	}
	short.Parts = slices.Clone(p.Parts)
	for i := range short.Parts {
		q := &short.Parts[i]
		switch {
		case q.Kind == chat.Text:
			q.Text = elide(q.Text)
		case q.Media != nil:
			*q, changed = chat.Part{Kind: chat.Text, Text: chat.Quote(Note(q))}, true
		}
	}
	return short, removed, changed
}

// Note is the note that stands for a part that is not text: what it was, and of a
// picture or file its type and size.
func Note(p *chat.Part) string {
	what := p.Type
	if m := p.Media; m != nil {
		if m.Type != "" {
			what += ", " + m.Type
		}
		if len(m.Data) > 0 {
			padding := len(m.Data) - len(bytes.TrimRight(m.Data, "="))
			what += fmt.Sprintf(", %d bytes", (len(m.Data)-padding)*3/4)
		}
	}
	return stubMark + what + " left out]"
}

// elideChars leaves out the middle of a text of more than head+tail characters: the
// first head and the last tail stay, and a marker between them says how many are
// missing. A text that has been elided before is left alone, unless it is more than
// twice as long as these limits allow; then it gets one marker for both times. removed
// counts what this call took out.
func elideChars(text string, head, tail int) (short string, removed int) {
	head, tail = max(head, 0), max(tail, 0)
	if len(text) <= head+tail {
		return text, 0
	}
	n := utf8.RuneCountInString(text)
	first, last, before, again := parseElision(text, "characters")
	if again {
		f, l := utf8.RuneCountInString(first), utf8.RuneCountInString(last)
		if n = f + l; n <= 2*(head+tail) {
			return text, 0
		}
		// A short end leaves its room to the other one.
		room := head + tail
		head = min(head, f)
		tail = min(room-head, l)
		head = min(room-tail, f)
	} else {
		first, last = text, text
	}
	if n <= head+tail {
		return text, 0
	}
	i := 0
	for range head {
		_, size := utf8.DecodeRuneInString(first[i:])
		i += size
	}
	j := len(last)
	for range tail {
		_, size := utf8.DecodeLastRuneInString(last[:j])
		j -= size
	}
	removed = n - head - tail
	return around(first[:i], marker(before+removed, "characters", ""), last[j:]), removed
}

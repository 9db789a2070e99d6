package clip

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
	"github.com/oriel-context/oriel/internal/prompt"
)

// Head and Tail are the usual arguments of Result, in characters.
const (
	Head = 200
	Tail = 200
)

// stubMark begins every marker.
const stubMark = prompt.Note

// wholeInHistory is the hint of Middle.
const wholeInHistory = prompt.MiddleMissingWhole

// gapMark matches a marker.
var gapMark = regexp.MustCompile(`\n?` + regexp.QuoteMeta(stubMark) +
	`(\d{1,15}) (tokens|characters) of the middle are left out here[^\]\n]*\]\n?`)

// marker returns the text that replaces a middle. The hint tells the model how to get the
// whole text.
func marker(n int, unit, hint string) string {
	if hint != "" {
		hint = "; " + strings.Map(func(r rune) rune {
			if r == ']' || r == '\n' {
				return ' '
			}
			return r
		}, hint)
	}
	return fmt.Sprintf(prompt.MiddleMissing, n, unit, hint)
}

// WithoutMiddle reports whether a text contains a marker.
func WithoutMiddle(text string) bool { return findGap(text) != nil }

// findGap returns the place of a marker. It runs the pattern only on texts that can
// match.
func findGap(text string) []int {
	if !strings.Contains(text, stubMark) {
		return nil
	}
	return gapMark.FindStringSubmatchIndex(text)
}

// Middle shortens a text to at most limit tokens. It keeps the head and the tail, cut
// between lines if there are line ends nearby, and puts a marker between them that states
// how much is missing and that the history has it. With little room the marker states only
// how much is missing; with less, the result is the head alone; with a limit of 0 or less
// it is empty.
//
// Middle returns a text that fits as it is. A text that is shortened again has one marker
// with the sum. removed is the number of tokens that this call removed.
//
// Middle counts the whole text once, and O(log limit) texts of about limit tokens. A nil
// count means o200k_base.
func Middle(text string, limit int, count func(string) int) (short string, removed int) {
	return MiddleHint(text, limit, count, wholeInHistory)
}

// MiddleHint is Middle with a hint of the caller's in the marker: how to get the whole text.
func MiddleHint(text string, limit int, count func(string) int, hint string) (short string, removed int) {
	if count == nil {
		count = bpe.Count
	}
	total := count(text)
	if total <= limit {
		return text, 0
	}
	e := gap{head: text, tail: text, limit: limit, count: count}
	shown := total
	if first, last, before, ok := parseGap(text, "tokens"); ok {
		e.head, e.tail, e.before, e.split = first, last, before, true
		shown = count(first) + count(last)
	}
	e.hint = hint
	if count(marker(e.before+shown, "tokens", hint)) > limit/2 {
		e.hint = "" // keep text rather than a long marker
	}
	if s, n, ok := e.search(shown); ok {
		return s, n
	}
	// No room for a marker.
	head := func(n int) string { return text[:Floor(text, n)] }
	s := head(largest(len(text), limit, func(n int) bool { return count(head(n)) <= limit }))
	return s, total - count(s)
}

// parseGap splits a text at its marker. missing is the number in the marker, converted
// to the unit at four characters a token.
func parseGap(text, unit string) (head, tail string, missing int, ok bool) {
	at := findGap(text)
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

// gap searches for the longest head and tail that fit. If split is false, head and
// tail are the same text, and what is kept of them must not overlap.
type gap struct {
	head, tail string
	split      bool
	before     int // the number in an earlier marker
	limit      int
	count      func(string) int
	hint       string
}

// search finds the largest head and tail that fit with their marker.
func (e *gap) search(total int) (short string, removed int, ok bool) {
	room := len(e.head)
	if e.split {
		room += len(e.tail)
	}
	fits := func(k int) bool {
		h, t := e.cut(k)
		// The number in the marker is not known yet. This one has the most digits.
		return e.count(e.join(h, t, e.before+total)) <= e.limit
	}
	if !fits(0) {
		return "", 0, false
	}
	for k := largest(room, e.limit, fits); ; k = k * 15 / 16 {
		h, t := e.cut(k)
		// The count of a whole may differ from the sum of its parts by a few tokens.
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

// cut returns a head and a tail of about k bytes together.
func (e *gap) cut(k int) (head, tail string) {
	h, t := k-k/2, k/2
	if e.split {
		// A short end leaves its share to the other one.
		h = min(h, len(e.head))
		t = min(k-h, len(e.tail))
		h = min(k-t, len(e.head))
	}
	head = e.head[:Floor(e.head, h)]
	if h < len(e.head) {
		head = head[:lineEnd(head)]
	}
	tail = e.tail[Ceil(e.tail, len(e.tail)-t):]
	if t < len(e.tail) {
		tail = tail[lineStart(tail):]
	}
	return head, tail
}

// join puts the marker for n missing tokens between head and tail.
func (e *gap) join(head, tail string, n int) string {
	return around(head, marker(n, "tokens", e.hint), tail)
}

// around joins head, marker and tail, with the marker on its own line.
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

// largest returns about the largest number up to n for which fits holds. The search starts
// at guess and never tries more than twice the answer or the guess. It assumes that 0 fits.
func largest(n, guess int, fits func(int) bool) int {
	low, high := 0, min(n, max(guess, 1))
	for high < n && fits(high) {
		low, high = high, min(n, 2*high)
	}
	// The answer is exact to a sixty-fourth, which saves counts.
	for high-low > 1+low/64 {
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// lineEnd returns where to end a head: after its last whole line, if that loses at most a
// quarter.
func lineEnd(s string) int {
	if i := strings.LastIndexByte(s, '\n'); i >= len(s)-len(s)/4 {
		return i
	}
	return len(s)
}

// lineStart returns where to begin a tail: at its first whole line, if that loses at most
// a quarter.
func lineStart(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/4 {
		return i + 1
	}
	return 0
}

// Result shortens the result of a tool. Each text keeps its first head and last tail
// characters. A note with type and size replaces each picture, document and recording.
// Other parts remain. removed is the number of characters removed from texts; changed
// reports whether short differs from p.
func Result(p *chat.Part, head, tail int) (short chat.Part, removed int, changed bool) {
	short = *p
	clipped := func(text chat.String) chat.String {
		s, n := clipChars(text.String(), head, tail)
		if n == 0 {
			return text
		}
		removed, changed = removed+n, true
		return chat.Quote(s)
	}
	if p.Parts == nil {
		short.Text = clipped(p.Text)
		return short, removed, changed
	}
	short.Parts = slices.Clone(p.Parts)
	for i := range short.Parts {
		q := &short.Parts[i]
		switch {
		case q.Kind == chat.Text:
			q.Text = clipped(q.Text)
		case q.Media != nil:
			*q, changed = chat.Part{Kind: chat.Text, Text: chat.Quote(Note(q))}, true
		}
	}
	return short, removed, changed
}

// Note returns the text that replaces a part which is not text: its kind, and the media
// type and size of a picture or file.
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
	return fmt.Sprintf(prompt.PartLeftOut, what)
}

// clipChars keeps the first head and the last tail characters of a longer text, with a
// marker between them. It shortens a text that has a marker only if the text is more than
// twice as long as head+tail; the result then has one marker with the sum. removed is the
// number of characters that this call removed.
func clipChars(text string, head, tail int) (short string, removed int) {
	head, tail = max(head, 0), max(tail, 0)
	if len(text) <= head+tail {
		return text, 0
	}
	n := utf8.RuneCountInString(text)
	first, last, before, again := parseGap(text, "characters")
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

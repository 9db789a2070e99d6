package clip

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
)

// countFields takes every word for a token.
func countFields(s string) int { return len(strings.Fields(s)) }

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the text\n", i)
	}
	return b.String()
}

// SPEC A4: head and tail stay, on whole lines; the marker says how much is missing.
func TestElideKeepsHeadAndTail(t *testing.T) {
	text := numbered(1000)
	short, removed := Middle(text, 100, countFields)
	head, tail, missing, ok := parseGap(short, "tokens")
	if !ok || countFields(short) > 100 || countFields(short) < 90 {
		t.Fatalf("%d tokens: %s", countFields(short), short)
	}
	if !strings.HasPrefix(text, head+"\n") || !strings.HasSuffix(text, tail) || !strings.HasPrefix(tail, "line ") {
		t.Errorf("not whole lines:\n%s", short)
	}
	if missing != removed || removed != 5000-countFields(head)-countFields(tail) {
		t.Errorf("marker says %d, removed %d, of 5000 there are %d", missing, removed,
			countFields(head)+countFields(tail))
	}
	if !strings.Contains(short, "in the history") {
		t.Errorf("no way back: %s", short)
	}
	if again, n := Middle(short, 100, countFields); again != short || n != 0 {
		t.Errorf("elided twice: %s", again)
	}
}

// SPEC A4: a text that must get smaller still has one marker, for all of it.
func TestElideAgainCountsOn(t *testing.T) {
	text := numbered(1000)
	once, first := Middle(text, 200, countFields)
	twice, second := Middle(once, 60, countFields)
	_, _, missing, ok := parseGap(twice, "tokens")
	if !ok || missing != first+second || strings.Count(twice, stubMark) != 1 || countFields(twice) > 60 {
		t.Errorf("%d + %d removed:\n%s", first, second, twice)
	}
}

// SPEC A4: however little room there is, the result is within it.
func TestElideWithinAnyLimit(t *testing.T) {
	text := numbered(100)
	for limit := -1; limit <= 500; limit++ {
		short, removed := Middle(text, limit, countFields)
		if n := countFields(short); n > max(limit, 0) || removed <= 0 != (limit >= 500) {
			t.Fatalf("limit %d: %d tokens, %d removed", limit, n, removed)
		}
	}
}

// SPEC A4: any text, any limit, twice: within the limit, valid, head and tail of
// what came in, and the second time changes nothing.
func TestElideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab é\n漢🙂 ]["))).Draw(t, "text")
		text = strings.Repeat(text, rapid.IntRange(1, 40).Draw(t, "times"))
		count := rapid.SampledFrom([]func(string) int{countFields, utf8.RuneCountInString, bpe.Count}).Draw(t, "count")
		limit := rapid.IntRange(0, 400).Draw(t, "limit")
		short, removed := Middle(text, limit, count)
		if count(short) > limit || !utf8.ValidString(short) || (removed == 0) != (short == text) {
			t.Fatalf("%d tokens of %d, limit %d, removed %d: %q", count(short), count(text), limit, removed, short)
		}
		if again, n := Middle(short, limit, count); again != short || n != 0 {
			t.Fatalf("second time: %q", again)
		}
		if head, tail, _, ok := parseGap(short, "tokens"); ok && (!strings.HasPrefix(text, head) ||
			!strings.HasSuffix(text, tail)) {
			t.Fatalf("head %q, tail %q", head, tail)
		}
	})
}

// The search counts texts of the size of the limit, and the whole only once.
func TestElideCountsLittle(t *testing.T) {
	text := strings.Repeat("abc def ", 1<<18)
	calls, bytes := 0, 0
	short, _ := Middle(text, 1000, func(s string) int {
		calls++
		bytes += len(s)
		return countFields(s)
	})
	if countFields(short) < 900 {
		t.Errorf("only %d tokens kept", countFields(short))
	}
	if limit := len(text) + 40*8*1000; bytes > limit || calls > 40 {
		t.Errorf("%d calls, %d bytes counted for %d", calls, bytes, len(text))
	}
}

// Large texts without any border take no more than linear work.
func TestElideOfOneLongWord(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	count, calls, bytes := bpe.Count, 0, 0
	short, _ := Middle(text, 1000, func(s string) int {
		calls++
		bytes += len(s)
		return count(s)
	})
	if n := count(short); n > 1000 || n < 500 {
		t.Errorf("%d tokens", n)
	}
	if bytes > 4*len(text) || calls > 100 {
		t.Errorf("%d calls, %d bytes counted for %d", calls, bytes, len(text))
	}
}

func TestElideHintStaysInTheMarker(t *testing.T) {
	short, _ := MiddleHint(numbered(100), 50, countFields, "read [a]\nagain")
	if _, _, _, ok := parseGap(short, "tokens"); !ok || !strings.Contains(short, "read [a  again]") {
		t.Error(short)
	}
}

// The cases of trimming one oversized tool result, in characters.
func TestElideChars(t *testing.T) {
	r := strings.Repeat
	mark := marker(50, "characters", "")
	for _, c := range []struct {
		name, text   string
		head, tail   string
		removed      int
		keepsAsItWas bool
	}{
		{name: "900", text: r("A", 300) + r("B", 300) + r("C", 300), head: r("A", 200), tail: r("C", 200),
			removed: 500},
		{name: "400", text: r("X", 400), keepsAsItWas: true},
		{name: "400 of many bytes", text: r("漢", 400), keepsAsItWas: true},
		{name: "401", text: r("漢", 401), head: r("漢", 200), tail: r("漢", 200), removed: 1},
		{name: "15000", text: r("Z", 15000), head: r("Z", 200), tail: r("Z", 200), removed: 14600},
		{name: "already", text: r("A", 200) + mark + r("Z", 250), keepsAsItWas: true},
		{name: "already, at the end", text: r("A", 200) + r("Z", 250) + mark, keepsAsItWas: true},
		{name: "a marker in much more text", text: r("A", 300) + mark + r("Z", 3000), head: r("A", 200),
			tail: r("Z", 200), removed: 2900},
	} {
		short, removed := clipChars(c.text, Head, Tail)
		if c.keepsAsItWas {
			if short != c.text || removed != 0 {
				t.Errorf("%s: %d removed: %s", c.name, removed, short)
			}
			continue
		}
		if removed != c.removed || !strings.HasPrefix(short, c.head+"\n") || !strings.HasSuffix(short, "\n"+c.tail) ||
			strings.Count(short, stubMark) != 1 {
			t.Errorf("%s: %d removed: %s", c.name, removed, short)
		}
		total := removed
		if c.text != strings.ReplaceAll(c.text, mark, "") {
			total += 50
		}
		if _, _, missing, _ := parseGap(short, "characters"); missing != total {
			t.Errorf("%s: marker says %d, want %d", c.name, missing, total)
		}
		if again, n := clipChars(short, Head, Tail); again != short || n != 0 {
			t.Errorf("%s: cut twice: %s", c.name, again)
		}
	}
}

func BenchmarkElide(b *testing.B) {
	for _, kb := range []int{64, 1024, 4096} {
		text := strings.Repeat("the quick brown fox\n", kb*1024/20)
		b.Run(fmt.Sprintf("%dKiB", kb), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Middle(text, 4000, nil)
			}
		})
	}
}

func TestPicturesInResultsBecomeNotes(t *testing.T) {
	long := strings.Repeat("a", 500)
	result := chat.Part{Kind: chat.Result, IsError: true, Parts: []chat.Part{
		{Kind: chat.Text, Text: chat.Quote(long)},
		{Kind: chat.Image, Type: "image", Media: &chat.Media{Type: "image/png", Data: []byte("aGVsbG8gd29ybGQ=")}},
		{Kind: chat.Document, Type: "input_file", Media: &chat.Media{FileID: "file-1"}},
		{Kind: chat.Catalog, Type: "tool_reference"},
	}}
	short, removed, changed := Result(&result, Head, Tail)
	if removed != 100 || !changed || !short.IsError || !WithoutMiddle(short.Parts[0].Text.String()) {
		t.Errorf("removed %d, changed %t: %+v", removed, changed, short)
	}
	if got := short.Parts[1].Text.String(); got != "[Oriel: image, image/png, 11 bytes left out]" {
		t.Error(got)
	}
	if got := short.Parts[2].Text.String(); got != "[Oriel: input_file left out]" {
		t.Error(got)
	}
	if short.Parts[3].Kind != chat.Catalog || result.Parts[1].Media == nil {
		t.Error("ElideResult changed what it must leave alone")
	}
	if again, n, changed := Result(&short, Head, Tail); changed || n != 0 ||
		again.Parts[1].Text.String() != short.Parts[1].Text.String() {
		t.Errorf("again: %d, %t", n, changed)
	}
}

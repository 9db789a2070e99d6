package wordpiece

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A golden is a line of testdata/golden.jsonl: see testdata/golden.py.
type golden struct {
	Text  string
	Bytes []byte
	Max   int
	IDs   []int32
}

func (g golden) text() string {
	if g.Bytes != nil {
		return string(g.Bytes)
	}
	return g.Text
}

func goldens(t testing.TB) []golden {
	t.Helper()
	f, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Fatalf("only %d lines", len(all))
	}
	return all
}

func TestIDsAreThoseOfTheReference(t *testing.T) {
	tok, plain := tokenizer(t), newSlow(t)
	for _, g := range goldens(t) {
		max := g.Max
		if max == 0 {
			max = 1 << 20
		}
		if diff := cmp.Diff(g.IDs, tok.Encode(nil, g.text(), max)); diff != "" {
			t.Errorf("%q, max %d (-reference +got):\n%s", g.text(), max, diff)
		}
		if diff := cmp.Diff(g.IDs, plain.encode(g.text(), max)); diff != "" {
			t.Errorf("%q, max %d: the slow tokenizer (-reference +got):\n%s", g.text(), max, diff)
		}
	}
}

// agree compares the fast tokenizer to the slow one, cut at several places.
func agree(t rapid.TB, tok *Tokenizer, plain *slow, text string) {
	all := plain.encode(text, 1<<30)
	for _, max := range []int{2, 3, 4, 8, 16, len(all) - 1, len(all), len(all) + 1} {
		if max < 2 {
			continue
		}
		want := all
		if max < len(all) {
			want = append(slices.Clone(all[:max-1]), all[len(all)-1])
		}
		if got := tok.Encode(nil, text, max); !slices.Equal(got, want) {
			t.Fatalf("%q, max %d: got %v, want %v", text, max, got, want)
		}
	}
}

func FuzzEncode(f *testing.F) {
	tok, plain := tokenizer(f), newSlow(f)
	for _, g := range goldens(f) {
		if len(g.text()) < 1000 {
			f.Add(g.text())
		}
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, tok, plain, text) })
}

// Words and marks of every kind, in any order, about the limit of characters too.
func TestFastAndSlowAgreeOnMixedText(t *testing.T) {
	tok, plain := tokenizer(t), newSlow(t)
	parts := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", "\n", "\u00a0", "\u3000", ".", "[", "]", "[CLS]", "[MASK]", "[SEP]", "[sep]", "[CL", "#", "##", "_",
			"\x00", "\u200d", "\u00ad", "\xff", "\xe2\x82", "\u0301", "\u0323", "\u302e", "\U0001d160", "≠", "\u037e",
			"the", "Un", "believ", "ABLE", "ing", "qx", "é", "İ", "ẞ", "ǅ", "各", "豈", "\u4e00", "한", "각", "を", "が",
			"क़", "ко", "й", "😀", "👩‍💻", "ﬁ", strings.Repeat("a", 33), strings.Repeat("é", 50), strings.Repeat("한", 33),
			strings.Repeat("m", 99), strings.Repeat("x\u0301", 100),
		}),
		rapid.StringMatching(`[a-z]{1,12}`),
		rapid.Map(rapid.Rune(), func(r rune) string { return string(r) }),
		rapid.Map(rapid.Byte(), func(b byte) string { return string([]byte{b}) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		agree(t, tok, plain, strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "parts"), ""))
	})
}

// Neighbours must not change what a code point does, other than as the slow
// tokenizer has it: random runs of any code points, in the blocks that matter.
func TestFastAndSlowAgreeOnRandomRunes(t *testing.T) {
	tok, plain := tokenizer(t), newSlow(t)
	random := rand.New(rand.NewPCG(1, 2))
	tops := []int{0x80, 0x250, 0x600, 0x3200, 0x10000, utf8.MaxRune + 1}
	for range 3000 {
		var text strings.Builder
		top := tops[random.IntN(len(tops))]
		for range random.IntN(30) {
			text.WriteRune(rune(random.IntN(top)))
		}
		agree(t, tok, plain, text.String())
	}
}

package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var fuzzed = []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"}

var naives = sync.OnceValue(func() map[*Encoding]*naive {
	m := map[*Encoding]*naive{}
	for _, name := range fuzzed {
		e, err := Get(name)
		if err != nil {
			panic(err)
		}
		m[e] = newNaive(e)
	}
	return m
})

var seeds = []string{
	"", " ", "Hello, world's", "a \n \n b", "\n\t\n", "中A'ſ b", "\u0301A!!\u0301a", "12345 ½ ٣٤", "x\u00a0\u3000y",
	"a\xffb\xc5\xe4\xb8",
	strings.Repeat("a", 60), strings.Repeat(" ", 1100) + "x", strings.Repeat("ab", 700), "HTTPServer'LL\r\n//\n",
	"👨‍👩‍👧‍👦",
}

// FuzzCount compares with the naive encoder, on any bytes.
func FuzzCount(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			t.Skip("the naive encoder is quadratic")
		}
		for e, n := range naives() {
			checkAgainst(t, e, n, s)
		}
	})
}

func checkAgainst(t interface {
	Helper()
	Fatalf(string, ...any)
}, e *Encoding, n *naive, s string) {
	t.Helper()
	want := n.encode(s)
	if got := e.appendIDs(nil, s); !slices.Equal(got, want) {
		t.Fatalf("%s %q: ids %v, want %v", e.Name(), s, got, want)
	}
	if got := e.Count(s); got != len(want) {
		t.Fatalf("%s %q: count %d, want %d", e.Name(), s, got, len(want))
	}
}

// FuzzRoundTrip checks that decoding gives the text back, on any bytes.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for e := range naives() {
			back, err := e.decode(e.appendIDs(nil, s))
			if err != nil || string(back) != s {
				t.Fatalf("%s %q: decoded to %q, %v", e.Name(), s, back, err)
			}
		}
	})
}

// FuzzTable checks that no table file makes the reader panic.
func FuzzTable(f *testing.F) {
	f.Add(tinyTable(nil), 0)
	f.Add([]byte("ORIELBPE"), 3)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		if tab, err := parseTable("fuzz", resum(data), limit); err == nil {
			e := &Encoding{name: "fuzz", next: splitCL100K, table: tab}
			e.Count("some text \xff\x00 and more of it, longer than fifteen")
		}
	})
}

var atoms = []string{
	"a", "b", "Z", "Q", "0", "7", " ", "  ", "\n", "\r\n", "\t", ".", "'", "/", "-", "'s", "'S", "'ll", "'ſ", "é", "É",
	"ǅ", "中", "あ", "ʰ", "я", "Ω",
	"\u0301", "\u0903", "\u200d", "👍", "½", "٣", "\u00a0", "\u0085", "\u2003", "\u3000", "\xff", "\xe4", "\x80", "\x00",
	"the", " and", "ing", "HTTP", "://", ");\n",
}

// SPEC B6: random mixtures of the characters on which the patterns turn.
func TestMixturesAgreeWithTheNaiveEncoder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 0, 40).Draw(rt, "atoms"), "")
		for e, n := range naives() {
			checkAgainst(rt, e, n, s)
		}
	})
}

// SPEC B6: long pieces go through windows; their seams must not show.
func TestLongPiecesAgreeWithTheNaiveEncoder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	alphabets := []string{"a", "ab", "aab", "abcdefghijklmnopqrstuvwxyz", "etaoinshr", "ABCDEFGH", " ", " \t", "-=",
		"中文字", "éèê", "0123456789", "\n", "👍🏽"}
	sizes := []int{oneWindow, oneWindow + 1, 129, 200, 900}
	for e, n := range naives() {
		for _, alphabet := range alphabets {
			rs := []rune(alphabet)
			for _, size := range sizes {
				var sb strings.Builder
				for sb.Len() < size {
					sb.WriteRune(rs[rnd.IntN(len(rs))])
				}
				checkAgainst(t, e, n, sb.String())
			}
		}
	}
}

// SPEC B6: the ways to merge a window agree, whatever its size.
func TestWindowsOfAllSizesAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	alphabets := []string{"a", "ab", "etaoinshr", " ", " \t", "-=", "中文字"}
	for _, name := range fuzzed {
		e := get(t, name)
		for _, alphabet := range alphabets {
			for _, size := range []int{1, 2, 7, 8, 9, 23, 24, 25, 63, 64, 65, 128, 129, 500, maxShort, maxShort + 1,
				3000} {
				p := make([]byte, size)
				for i := range p {
					p[i] = alphabet[rnd.IntN(len(alphabet))]
				}
				m := new(merger)
				var want, got []uint32
				for _, part := range m.heapWindow(nil, e.table, p, 0) {
					want = append(want, part.id)
				}
				for _, part := range m.window(nil, e.table, p, 0, size) {
					got = append(got, part.id)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d of %q: by blocks %v, by heap %v", name, size, alphabet, got, want)
				}
				if got := m.merge(e.table, p); !slices.Equal(got, want) {
					t.Errorf("%s, %d of %q: in windows %v, at once %v", name, size, alphabet, got, want)
				}
			}
		}
	}
}

// SPEC B6: Count is the number of ids of a text.
func TestCountIsTheNumberOfIDs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.String().Draw(rt, "text")
		if !utf8.ValidString(s) {
			rt.Fatalf("not UTF-8: %q", s)
		}
		for e := range naives() {
			if n, m := e.Count(s), len(e.appendIDs(nil, s)); n != m {
				rt.Fatalf("%s %q: count %d, %d ids", e.Name(), s, n, m)
			}
		}
	})
}

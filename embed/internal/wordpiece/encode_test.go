package wordpiece

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func equal(t *testing.T, got, want []int32) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
}

// The digests are the reference's: see testdata/unicode.py.
func TestEveryCodePointIsAsTheReferenceHasIt(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	tok := tokenizer(t)
	f, err := os.Open("testdata/codepoints.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blocks := 0
	var ids []int32
	var raw []byte
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var lo rune
		var want string
		if _, err := fmt.Sscanf(lines.Text(), "%X %s", &lo, &want); err != nil {
			t.Fatal(err)
		}
		blocks++
		raw = raw[:0]
		for r := lo; r < lo+1024; r++ {
			c := string(r)
			for _, text := range []string{"a" + c + "b", c, "\u00e9" + c + "x", "1" + c + "\u0301"} {
				ids = tok.Encode(ids[:0], text, 64)
				for _, id := range ids {
					raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
				}
			}
		}
		sum := sha256.Sum256(raw)
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("code points %04X to %04X differ from the reference", lo, lo+1023)
		}
	}
	if blocks != (0x110000-0x800)/1024 {
		t.Errorf("%d blocks in the file", blocks)
	}
}

func TestTruncationKeepsThePrefixAndTheEnd(t *testing.T) {
	tok := tokenizer(t)
	const text = "untokenizable qwrtzpsdfghjk words, [MASK] and 漢字 in one unbelievablylongish sentence"
	all := tok.Encode(nil, text, 1000)
	for max := 2; max < len(all)+3; max++ {
		want := all
		if max < len(all) {
			want = append(slices.Clone(all[:max-1]), tok.sep)
		}
		equal(t, tok.Encode(nil, text, max), want)
	}
}

func TestNoRoomForTheFrameAppendsNothing(t *testing.T) {
	for _, max := range []int{math.MinInt, -1, 0, 1} {
		equal(t, tokenizer(t).Encode([]int32{7}, "text", max), []int32{7})
	}
}

func TestEncodeAppends(t *testing.T) {
	tok := tokenizer(t)
	want := append([]int32{7, 8}, tok.Encode(nil, "some text", 100)...)
	equal(t, tok.Encode([]int32{7, 8}, "some text", math.MaxInt), want)
	equal(t, tok.Encode([]int32{7, 8}, "some text", 2), []int32{7, 8, tok.cls, tok.sep})
}

// A text of 10 MB, whatever it is made of, must not be gathered in memory; and
// what lies behind the last id must not be read.
func TestHugeTextsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	tok := tokenizer(t)
	const size = 10 << 20
	long := []int32{tok.cls, tok.unk, tok.sep}
	dst := make([]int32, 0, 256)
	for _, test := range []struct {
		name, text string
		max        int
		want       []int32
	}{
		{"one word", strings.Repeat("a", size), 256, long},
		{"one word not ASCII", strings.Repeat("é", size/2), 256, long},
		{"one word of syllables", strings.Repeat("한", size/3), 256, long},
		{"one word and no room for more", strings.Repeat("a", size), 3, long},
		{"white space", strings.Repeat(" ", size), 256, []int32{tok.cls, tok.sep}},
		{"dropped", strings.Repeat("\x00\u200d", size/4), 256, []int32{tok.cls, tok.sep}},
		{"words", strings.Repeat("the ", size/4), 256, nil},
		{"ideographs", strings.Repeat("漢", size/3), 256, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []int32
			if n := testing.AllocsPerRun(1, func() { got = tok.Encode(dst, test.text, test.max) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
			if test.want != nil {
				equal(t, got, test.want)
			} else if len(got) != test.max || got[len(got)-1] != tok.sep {
				t.Errorf("%d ids, want %d", len(got), test.max)
			}
		})
	}
}

func TestEncodeStopsReadingWhenFull(t *testing.T) {
	tok := tokenizer(t)
	for _, text := range []string{
		strings.Repeat("the ", 1000),
		strings.Repeat("a", 101) + strings.Repeat("b", 1000) + " the the the",
		strings.Repeat("é", 101) + strings.Repeat("b", 1000) + " the the the",
		strings.Repeat("漢", 1000),
		strings.Repeat("!", 1000),
		strings.Repeat("[MASK]", 1000),
	} {
		w := walk{t: tok, limit: 1}
		w.text(text)
		if !w.full() {
			t.Errorf("%.20q: not full", text)
		}
		before := slices.Clone(w.dst)
		w.flush()
		equal(t, w.dst, before) // no word was begun behind the last id
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	tok := tokenizer(t)
	dst := make([]int32, 0, 64)
	for _, text := range []string{
		"Plain English, with a few unbelievablylongish words and [MASK] in it.",
		"Größe, 漢字, 한국어, हिन्दी, العربية, 👩‍💻, Ǆ, ẛ̣, \U0001d160 and \xff\xfe too",
		strings.Repeat("x", 500),
	} {
		if n := testing.AllocsPerRun(20, func() { dst = tok.Encode(dst[:0], text, 64) }); n != 0 {
			t.Errorf("%.20q: %v allocations", text, n)
		}
	}
}

func TestEncodeIsSafeForConcurrentUse(t *testing.T) {
	tok := tokenizer(t)
	want := tok.Encode(nil, "Größe und 한국어, unbelievablylongish", 64)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if got := tok.Encode(nil, "Größe und 한국어, unbelievablylongish", 64); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	all.Wait()
}

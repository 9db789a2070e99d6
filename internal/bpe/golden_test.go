package bpe

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func get(t testing.TB, name string) *Encoding {
	t.Helper()
	e, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// SPEC B6: counts and ids are those of the reference, in every encoding.
func TestIDsAndCountsAreThoseOfTheReference(t *testing.T) {
	var texts []struct {
		Text string
		IDs  map[string][]uint32
	}
	readJSON(t, "texts.json", &texts)
	same := map[string]string{"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
	for _, name := range Names() {
		e := get(t, name)
		golden := name
		if base, ok := same[name]; ok {
			golden = base
		}
		for _, c := range texts {
			want := c.IDs[golden]
			got := e.appendIDs([]uint32{}, c.Text)
			if !cmp.Equal(want, got) {
				t.Fatalf("%s %.60q: ids %.2000s", name, c.Text, cmp.Diff(want, got))
			}
			if n := e.Count(c.Text); n != len(want) {
				t.Errorf("%s %.60q: count %d, want %d", name, c.Text, n, len(want))
			}
			if n := e.CountBytes([]byte(c.Text)); n != len(want) {
				t.Errorf("%s %.60q: count of bytes %d, want %d", name, c.Text, n, len(want))
			}
			back, err := e.decode(got)
			if err != nil || string(back) != c.Text {
				t.Errorf("%s %.60q: decoded to %.60q, %v", name, c.Text, back, err)
			}
		}
	}
}

// SPEC B6: text is cut into the pieces of the reference's pattern.
func TestPiecesAreThoseOfTheReference(t *testing.T) {
	var texts []struct {
		Text  string
		Sizes map[string][]int
	}
	readJSON(t, "splits.json", &texts)
	for _, name := range []string{"cl100k_base", "o200k_base", "r50k_base"} {
		e := get(t, name)
		for _, c := range texts {
			got := []int{}
			b := []byte(c.Text)
			for i := 0; i < len(b); {
				end := e.next(b, i)
				got = append(got, end-i)
				i = end
			}
			if !cmp.Equal(c.Sizes[name], got) {
				t.Errorf("%s %q: pieces %v, want %v", name, c.Text, got, c.Sizes[name])
			}
		}
	}
}

// SPEC B6: every code point is of the class that the reference gives it.
func TestEveryCodePointCountsAsInTheReference(t *testing.T) {
	const block = 0x1000
	var points map[string]map[string][]uint32
	readJSON(t, "points.json", &points)
	for name, templates := range points {
		e := get(t, name)
		for template, sums := range templates {
			for n, want := range sums {
				if (testing.Short() || raceEnabled) && n%64 != 0 {
					continue // all of them are slow with the race detector
				}
				var ids []uint32
				for c := rune(n * block); c < rune(n+1)*block; c++ {
					if c < 0xD800 || c > 0xDFFF {
						ids = e.appendIDs(ids, strings.ReplaceAll(template, "{c}", string(c)))
					}
				}
				raw := make([]byte, 0, 4*len(ids))
				for _, id := range ids {
					raw = binary.LittleEndian.AppendUint32(raw, id)
				}
				if got := crc32.ChecksumIEEE(raw); got != want {
					t.Fatalf("%s %q: ids differ in U+%04X to U+%04X", name, template, n*block, (n+1)*block-1)
				}
			}
		}
	}
}

package recall

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextsAreReadAsTheyWereAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var packed texts
		var plain []string
		for _, words := range rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"dog", "漢字 ", "\xff\x00", "\n",
			"Lisbon "}), 0, 9), 1, 60).Draw(t, "texts") {
			text := strings.Repeat(strings.Join(words, ""), rapid.SampledFrom([]int{1, 40, 400}).Draw(t, "times"))
			packed.add(text)
			plain = append(plain, text)
			if i := rapid.IntRange(0, 4*len(plain)).Draw(t, "removed"); i < len(plain) {
				packed.blank(int32(i))
				plain[i] = strings.Repeat("\x00", len(plain[i]))
			}
		}
		if packed.count() != len(plain) {
			t.Fatalf("%d texts, want %d", packed.count(), len(plain))
		}
		r := packed.reader()
		for range 2 * len(plain) {
			i := rapid.IntRange(0, len(plain)-1).Draw(t, "i")
			if got := r.at(int32(i)); got != plain[i] || got != packed.at(int32(i)) {
				t.Fatalf("text %d is %q, want %q", i, got, plain[i])
			}
		}
	})
}

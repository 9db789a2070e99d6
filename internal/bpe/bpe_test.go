package bpe

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oriel-context/oriel/internal/test/mixtext"
)

func TestGetLoadsOnceAndIsSafeForConcurrentUse(t *testing.T) {
	text := strings.Repeat("Concurrent counting of unusualwordsxq ", 50) + strings.Repeat("q", 3000)
	want := map[string]int{}
	for _, name := range Names() {
		want[name] = get(t, name).Count(text)
	}
	var wg sync.WaitGroup
	for range 8 {
		for _, name := range Names() {
			wg.Go(func() {
				e, err := Get(name)
				if again, _ := Get(name); err != nil || again != e {
					t.Errorf("Get(%q) twice: %p, %p, %v", name, e, again, err)
					return
				}
				if n := e.Count(text); n != want[name] {
					t.Errorf("%s: count %d, want %d", name, n, want[name])
				}
			})
		}
	}
	wg.Wait()
}

func TestGetOfUnknownNameListsTheKnownOnes(t *testing.T) {
	_, err := Get("cl200k")
	if !errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	for _, name := range Names() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
		if got := get(t, name).Name(); got != name {
			t.Errorf("Name is %q, want %q", got, name)
		}
	}
}

func TestDecodeRefusesIDsThatDoNotExist(t *testing.T) {
	for name, ids := range map[string][]uint32{
		"cl100k_base": {100256, 100257, 1 << 31},
		"o200k_base":  {199998, 199999},
		"p50k_base":   {50256, 50281},
		"r50k_base":   {50256, 50257},
	} {
		for _, id := range ids {
			if _, err := get(t, name).decode([]uint32{0, id}); err == nil {
				t.Errorf("%s decoded id %d", name, id)
			}
		}
	}
}

func TestInvalidBytesAreOtherCharactersAndKeepTheirValue(t *testing.T) {
	e := get(t, "o200k_base")
	for _, s := range []string{"\xff", "a\xffb", "\xe4\xb8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "x \xc0\xaf",
		"\x80\x80\x80"} {
		back, err := e.decode(e.appendIDs(nil, s))
		if err != nil || string(back) != s {
			t.Errorf("%q: decoded to %q, %v", s, back, err)
		}
	}
	// An invalid byte may stand before a word, as any character of class other may.
	if end := e.next([]byte("\xffword"), 0); end != 5 {
		t.Errorf("piece ends at %d", end)
	}
}

func TestCountAllocatesNothingForOrdinaryText(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	text, err := mixtext.Build(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for _, name := range Names() {
		e := get(t, name)
		if n := testing.AllocsPerRun(20, func() { e.Count(s); e.CountBytes(text) }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// SPEC B6: work on a long piece is proportional to its length. Windows count
// the bytes that they merge; a quadratic path would merge many times more.
func TestLongPiecesAreMergedInLinearWork(t *testing.T) {
	for _, name := range fuzzed {
		e := get(t, name)
		for what, p := range hardTexts(200_000) {
			s := new(scratch)
			if len(s.merge(e.table, p)) == 0 {
				t.Errorf("%s, %s: no tokens", name, what)
			}
			if s.merged > 4*len(p) {
				t.Errorf("%s, %s: merged %d bytes for %d", name, what, s.merged, len(p))
			}
		}
	}
}

// SPEC B6: no splitter goes over the same bytes again and again. A splitter
// that did would take hours on these texts, and the test would not end.
func TestHardTextsAreCounted(t *testing.T) {
	size := 1 << 20
	if raceEnabled || testing.Short() {
		size = 1 << 16
	}
	for _, name := range fuzzed {
		e := get(t, name)
		for what, p := range hardTexts(size) {
			if n := e.CountBytes(p); n < len(p)/300 || n > len(p) {
				t.Errorf("%s, %s: %d tokens", name, what, n)
			}
		}
	}
}

// tinyTable is a table file of the 256 bytes and the given rules.
func tinyTable(rules [][2]uint32) []byte {
	le := binary.LittleEndian
	data := le.AppendUint32([]byte("ORIELBPE"), 1)
	data = le.AppendUint32(data, uint32(256+len(rules)))
	data = le.AppendUint32(data, 512)
	data = append(data, 0, 0, 0, 0)
	entry := func(left, right uint32) {
		e := uint64(left) | uint64(right)<<20
		data = append(data, byte(e), byte(e>>8), byte(e>>16), byte(e>>24), byte(e>>32))
	}
	for range 256 {
		entry(noPart, literal)
	}
	for _, r := range rules {
		entry(r[0], r[1])
	}
	for b := range 256 {
		data = append(data, 1, byte(b))
	}
	return resum(data)
}

// resum returns the data with a checksum that fits.
func resum(data []byte) []byte {
	data = slices.Clone(data)
	if len(data) >= headerSize {
		sum := crc32.Update(crc32.Checksum(data[:20], castagnoli), castagnoli, data[24:])
		binary.LittleEndian.PutUint32(data[20:], sum)
	}
	return data
}

func TestDamagedTablesAreErrors(t *testing.T) {
	good := tinyTable([][2]uint32{{'a', 'b'}, {256, 'c'}})
	if _, err := parseTable("good", good, 0); err != nil {
		t.Fatal(err)
	}
	change := func(at int, b ...byte) []byte {
		data := slices.Clone(good)
		copy(data[at:], b)
		return data
	}
	rule := headerSize + 256*entrySize
	for want, data := range map[string][]byte{
		"not a table file":         []byte("ORIEL"),
		"version 2":                resum(change(8, 2)),
		"do not hold":              good[:len(good)-1],
		"checksum":                 change(headerSize+3, 1),
		"is made of":               resum(change(rule, 0xFE, 0xFF)),
		"repeats a rule":           tinyTable([][2]uint32{{'a', 'b'}, {'a', 'b'}}),
		"repeats a token":          tinyTable([][2]uint32{{'a', 'b'}, {'b', 'c'}, {256, 'c'}, {'a', 257}}),
		"literals end early":       resum(change(len(good)-2, 9)),
		"has no token":             resum(change(headerSize, 0xFF, 0xFF, 0x1F, 0, 0)),
		"unknown entry":            resum(change(headerSize, 0xFF, 0xFF, 0x2F, 0, 0)),
		"is made of a hole":        resum(change(headerSize+'a'*entrySize, 0xFF, 0xFF, 0x1F, 0, 0)),
		"2 bytes of literals left": resum(append(change(16, 2, 2), 1, 0)),
	} {
		_, err := parseTable("bad.bpe", data, 0)
		if !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "bad.bpe") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestDamagedClassesAreErrors(t *testing.T) {
	good, err := tables.ReadFile("tables/classes.bin")
	if err != nil {
		t.Fatal(err)
	}
	fix := func(data []byte) []byte {
		binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(data[16:], castagnoli))
		return data
	}
	version := slices.Clone(good)
	version[8] = 9
	flipped := slices.Clone(good)
	flipped[100] ^= 1
	for want, data := range map[string][]byte{
		"not a class file": good[:9],
		"version 9":        version,
		"checksum":         flipped,
		"does not cover":   fix(slices.Clone(good[:len(good)-3])),
		"runs on":          fix(append(slices.Clone(good), 8)),
	} {
		if err := parseClasses(data); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

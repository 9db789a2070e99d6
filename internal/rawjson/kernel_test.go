package rawjson

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

func TestKernelsOfThisMachine(t *testing.T) {
	for _, k := range available {
		t.Logf("has %s", k.name)
	}
	for _, name := range lacking {
		t.Run(name, func(t *testing.T) { t.Skipf("this CPU cannot run the %s kernel: it is not tested", name) })
	}
	if len(available)+len(lacking) == 0 {
		t.Skip("this build has no kernels: only the scalar parser is tested")
	}
}

func TestUsePinsTheKernel(t *testing.T) {
	names := Kernels()
	if names[len(names)-1] != "scalar" {
		t.Errorf("kernels %v do not end with the scalar one", names)
	}
	data := request(2 << 10)
	for _, name := range names {
		var d Doc
		if !d.Use(name) {
			t.Errorf("no %s", name)
		}
		if err := d.Reset(data, Limits{}); err != nil || d.Root().Get("messages").Len() == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if usedIndex := d.idx != nil; usedIndex != (name != "scalar") {
			t.Errorf("%s: another kernel ran", name)
		}
	}
	if new(Doc).Use("abacus") {
		t.Error("there is no abacus")
	}
}

// The generator in tools/asm has these numbers too.
func TestTheIndexIsLaidOutAsTheKernelsExpect(t *testing.T) {
	var x index
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"n", unsafe.Offsetof(x.n), 0},
		{"nodds", unsafe.Offsetof(x.nodds), 8},
		{"escaped", unsafe.Offsetof(x.escaped), 16},
		{"inString", unsafe.Offsetof(x.inString), 24},
		{"scalar", unsafe.Offsetof(x.scalar), 32},
		{"pending", unsafe.Offsetof(x.pending), 40},
		{"bad", unsafe.Offsetof(x.bad), 48},
		{"prev", unsafe.Offsetof(x.prev), 64},
		{"odds", unsafe.Offsetof(x.odds), 128},
		{"pos", unsafe.Offsetof(x.pos), 128 + 64*16},
		{"len(pos)", uintptr(len(x.pos)), 1024 + 64},
		{"len(odds)", uintptr(len(x.odds)), 64},
		{"sizeof oddBlock", unsafe.Sizeof(x.odds[0]), 16},
	} {
		if f.got != f.want {
			t.Errorf("%s at %d, want %d", f.name, f.got, f.want)
		}
	}
}

// twin is the scalar twin of a kernel's run: the same index, byte by byte. It
// does not check UTF-8, which has tables of its own.
func twin(x *index, data []byte, base int) {
	for i, c := range data {
		b, bit := i%blockSize, uint64(1)<<(i%blockSize)
		quote, odd := false, false
		if x.escaped == 1 {
			x.escaped, odd = 0, !strings.ContainsRune(`"\/fnrt`, rune(c)) || c >= 0x80
		} else {
			quote = c == '"'
			if c == '\\' {
				x.escaped = 1
			}
		}
		if odd {
			at := uint64(base + i - b)
			if x.nodds == 0 || x.odds[x.nodds-1].base != at {
				x.odds[x.nodds] = oddBlock{0, at}
				x.nodds++
			}
			x.odds[x.nodds-1].letters |= bit
		}
		inside := x.inString != 0
		if inside && c < 0x20 {
			x.bad = 1
		}
		list := quote
		if quote {
			x.inString = ^x.inString
		}
		// 0x0c and 0x1a pass for operators; see the generator.
		operator := strings.IndexByte("[]{}:,\x0c\x1a", c) >= 0
		plain := !quote && !operator && strings.IndexByte(" \t\n\r", c) < 0
		if !inside && !quote {
			list = operator || plain && x.scalar == 0
		}
		x.scalar = 0
		if plain {
			x.scalar = 1
		}
		if list {
			x.pos[x.n] = uint32(base + i)
			x.n++
		}
	}
}

func TestKernelsListWhatTheirScalarTwinLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	alphabet := []byte(`""""\\\\\\ntub/{}[]:,, 10ae` + "\n\t\x0c\x1a\x7fzz")
	for range 20_000 {
		data := make([]byte, blockSize*(1+rng.IntN(4)))
		for i := range data {
			data[i] = alphabet[rng.IntN(len(alphabet))]
		}
		for i, n := 0, rng.IntN(4); i < n; i++ { // runs of backslashes and of plain text
			run := data[rng.IntN(len(data)):]
			copy(run, bytes.Repeat([]byte{`\a`[rng.IntN(2)]}, rng.IntN(100)))
		}
		want := &index{escaped: uint64(rng.IntN(2)), scalar: uint64(rng.IntN(2)), inString: -uint64(rng.IntN(2))}
		start := *want
		twin(want, data, 640)
		for _, k := range available {
			got := new(index)
			*got = start
			used := k.run(got, &data[0], len(data)/blockSize, 640)
			if got.bad != want.bad {
				t.Fatalf("%s: %q: bad %d, want %d", k.name, data, got.bad, want.bad)
			}
			if got.bad != 0 {
				continue // the rest is void
			}
			if used != len(data)/blockSize {
				t.Fatalf("%s: read %d blocks", k.name, used)
			}
			if g, w := summary(got), summary(want); g != w {
				t.Fatalf("%s: %q:\n%s, want\n%s", k.name, data, g, w)
			}
		}
	}
}

// summary is what must be the same in a kernel's index and its twin's. The
// scalar bit counts only outside strings.
func summary(x *index) string {
	s := fmt.Sprint(x.escaped, x.inString, x.pos[:x.n], x.odds[:x.nodds])
	if x.inString == 0 {
		s += fmt.Sprint(x.scalar)
	}
	return s
}

func TestKernelsAgreeWhereverATextFallsInABlock(t *testing.T) {
	texts := []string{`["` + strings.Repeat("x", 200) + `",1,true,"é😀",{"a":[]}]`}
	for run := range 140 { // runs of backslashes that cross blocks
		texts = append(texts,
			`["`+strings.Repeat(`\`, run)+`"]`,
			`["`+strings.Repeat(`\`, run)+`n","b"]`,
			`["`+strings.Repeat(`\`, run)+`u0041","b"]`,
			`["`+strings.Repeat(`\`, run)+`x"]`,
		)
	}
	for _, r := range []string{"é", "€", "😀", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xa9", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xc0\x80"} {
		texts = append(texts, `"`+r+`"`, `"`+r+r+`"`, `"`+r+strings.Repeat("x", 70)+`"`, `"`+strings.Repeat(r, 70)+`"`)
	}
	for _, e := range []string{`\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u00g0`, `\b`, `\x`} {
		texts = append(texts, `"`+e+`"`, `"`+strings.Repeat(e, 30)+`"`)
	}
	for _, text := range texts {
		for shift := range 65 {
			sameWithAllKernels(t, []byte(strings.Repeat(" ", shift)+text), Limits{})
		}
	}
}

func TestKernelsStopWhenTheirIndexIsFull(t *testing.T) {
	for _, text := range []string{
		"[" + strings.Repeat("[],", 5000) + "1]",
		"[" + strings.Repeat("1,", 5000) + "1]",
		`{` + strings.Repeat(`"a":"b",`, 5000) + `"a":{}}`,
		strings.Repeat("[", 900) + strings.Repeat("]", 900),
		`["` + strings.Repeat(`\u00e9\b`, 9000) + `"]`,
		`["` + strings.Repeat(`\ud83d\ude00`, 9000) + `"]`,
		`["` + strings.Repeat(`\ud83d\ude00`, 9000) + `\ud83d"]`,
		`{` + strings.Repeat(`"\u0061":"\b",`, 5000) + `"a":{}}`,
		"[" + strings.Repeat("[],", 5000) + "1}",
		"[" + strings.Repeat("[],", 5000) + "1]]",
	} {
		for shift := range 9 { // an item may be cut at the end of the index
			sameWithAllKernels(t, []byte(strings.Repeat(" ", shift)+text), Limits{})
			sameWithAllKernels(t, []byte(`{"x":`+text+`}`), Limits{})
		}
	}
}

func TestKernelsAgreeOnEveryPairOfBytesInAString(t *testing.T) {
	if testing.Short() {
		t.Skip("1.5 million texts")
	}
	lim := Limits{}.withDefaults()
	text := []byte(strings.Repeat(" ", 60) + `"....."` + strings.Repeat(" ", 10))
	want, got := new(Doc), new(Doc)
	want.data, got.data = text, text
	for a := range 256 {
		for b := range 256 {
			// The third and fourth byte only matter behind a lead of three or four.
			thirds := []int{'"', 'a', 0x80, 0xbf, 0xc0, 0x7f}
			for _, c := range thirds {
				for _, d := range []int{'a', 0x80, 0xbf, '"'} {
					text[61], text[62], text[63], text[64] = byte(a), byte(b), byte(c), byte(d)
					err := want.parseScalar(lim)
					for _, k := range available {
						if ok := got.parseIndexed(lim, k); ok != (err == nil) {
							t.Fatalf("%s: %q: valid %v; the scalar parser: %v", k.name, text, ok, err)
						}
					}
				}
			}
		}
	}
}

// A random walk over real texts: one change each.
func TestKernelsAgreeOnDamagedRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	good := request(4 << 10)
	junk := []byte("\"\\{}[]:, \n\x00\x1fu0d8é\xff\x80")
	for range 3000 {
		data := bytes.Clone(good)
		for n := 1 + rng.IntN(2); n > 0; n-- {
			i := rng.IntN(len(data))
			switch rng.IntN(3) {
			case 0:
				data[i] = junk[rng.IntN(len(junk))]
			case 1:
				data = append(data[:i], data[i+1:]...)
			default:
				data = data[:i]
			}
			if len(data) == 0 {
				break
			}
		}
		sameWithAllKernels(t, data, Limits{})
	}
}

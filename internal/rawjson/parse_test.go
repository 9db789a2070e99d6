package rawjson

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kernels are all the ways to parse that this machine has; nil is the scalar one.
func kernels() map[string]*kernel {
	m := map[string]*kernel{"scalar": nil}
	for _, k := range available {
		m[k.name] = k
	}
	return m
}

// parseWith is Parse with a chosen kernel.
func parseWith(k *kernel, data []byte, lim Limits) (*Doc, *Error) {
	d := new(Doc)
	if err := d.reset(data, lim.withDefaults(), k); err != nil {
		return nil, err
	}
	return d, nil
}

var refused = []struct {
	name, text string
	offset     int
	msg        string // a part of the message
}{
	{"empty", "", 0, "empty text"},
	{"only spaces", " \n\t\r", 4, "end of the text"},
	{"byte order mark", "\xef\xbb\xbf{}", 0, "byte order mark"},
	{"UTF-16 byte order mark", "\xff\xfe[\x00]\x00", 0, "0xff"},
	{"garbage", "hello", 0, "unexpected h"},
	{"lone closer", "]", 0, "unexpected ]"},
	{"lone comma", ",", 0, "unexpected ,"},
	{"lone colon", ":", 0, "unexpected :"},
	{"NUL", "\x00", 0, "0x00"},
	{"NUL behind the value", "[]\x00", 2, "0x00"},
	{"form feed as space", "[\f1]", 1, "0x0c"},
	{"no-break space as space", "[\u00a01]", 1, "0xc2"},
	{"invalid UTF-8 outside a string", "[\xff]", 1, "0xff"},
	{"trailing value", "1 2", 2, "after the text's value"},
	{"trailing bracket", "[]]", 2, "after the text's value"},
	{"trailing brace", "{}}", 2, "after the text's value"},
	{"trailing comma", "[],", 2, "after the text's value"},
	{"trailing quote", `"a""`, 3, "after the text's value"},
	{"trailing string", `"a""b"`, 3, "after the text's value"},
	{"trailing letter behind a string", `"a"b`, 3, "after the text's value"},
	{"comment", "[1/*x*/]", 2, "instead of , or ]"},
	{"line comment", "// x\n1", 0, "unexpected /"},

	{"open array", "[", 1, "end of the text"},
	{"open array with value", "[1", 2, "end of the text"},
	{"open array with comma", "[1,", 3, "end of the text"},
	{"open object", "{", 1, "end of the text"},
	{"open object with name", `{"a"`, 4, "end of the text"},
	{"open object with colon", `{"a":`, 5, "end of the text"},
	{"open object with value", `{"a":1`, 6, "end of the text"},
	{"open object with comma", `{"a":1,`, 7, "end of the text"},
	{"mismatched brackets", "[1}", 2, "instead of , or ]"},
	{"mismatched braces", `{"a":1]`, 6, "instead of , or }"},
	{"empty array with comma", "[,]", 1, "unexpected ,"},
	{"comma behind the last element", "[1,]", 3, "unexpected ]"},
	{"two commas", "[1,,2]", 3, "unexpected ,"},
	{"no comma", "[1 2]", 3, "instead of , or ]"},
	{"no comma between strings", `["a" "b"]`, 5, "instead of , or ]"},
	{"no comma between arrays", "[[][]]", 3, "instead of , or ]"},
	{"colon in an array", `["a":1]`, 4, "unexpected :"},
	{"empty object with comma", "{,}", 1, "member's name"},
	{"comma behind the last member", `{"a":1,}`, 7, "member's name"},
	{"two commas in an object", `{"a":1,,"b":2}`, 7, "member's name"},
	{"number as name", `{1:2}`, 1, "member's name"},
	{"bare name", `{a:2}`, 1, "member's name"},
	{"quotes of one stroke", `{'a':2}`, 1, "member's name"},
	{"name without value", `{"a"}`, 4, "instead of a colon"},
	{"comma for colon", `{"a","b"}`, 4, "instead of a colon"},
	{"two colons", `{"a"::1}`, 5, "unexpected :"},
	{"name without value before closer", `{"a":}`, 5, "unexpected }"},
	{"no comma between members", `{"a":1"b":2}`, 6, "instead of , or }"},
	{"value without name", `{"a":1,2}`, 7, "member's name"},

	{"short true", "tru", 3, "end of the text"},
	{"wrong true", "[trux]", 4, "in a literal"},
	{"short false", "fals", 4, "end of the text"},
	{"wrong null", "nul]", 3, "in a literal"},
	{"long null", "nulll", 4, "after the text's value"},
	{"upper case", "True", 0, "unexpected T"},
	{"NaN", "NaN", 0, "unexpected N"},
	{"nan", "nan", 1, "in a literal"},
	{"infinity", "-Infinity", 1, "in a number"},
	{"two literals", "[truefalse]", 5, "instead of , or ]"},
	{"literal and string", `[true"a"]`, 5, "instead of , or ]"},

	{"leading zero", "01", 1, "after the text's value"},
	{"negative leading zero", "[-012]", 3, "instead of , or ]"},
	{"plus", "+1", 0, "unexpected +"},
	{"no integer part", ".5", 0, "unexpected ."},
	{"no integer part, negative", "-.5", 1, "in a number"},
	{"no fraction", "1.", 2, "end of the text"},
	{"no fraction, more behind", "[1.]", 3, "in a number"},
	{"no fraction before exponent", "[1.e1]", 3, "in a number"},
	{"no exponent", "1e", 2, "end of the text"},
	{"no exponent, more behind", "[1E]", 3, "in a number"},
	{"no exponent behind sign", "[1e+]", 4, "in a number"},
	{"fraction in exponent", "[1e1.5]", 4, "instead of , or ]"},
	{"two points", "[1.2.3]", 4, "instead of , or ]"},
	{"lone minus", "-", 1, "end of the text"},
	{"two minuses", "--1", 1, "in a number"},
	{"hex", "0x10", 1, "after the text's value"},
	{"underscore", "1_000", 1, "after the text's value"},
	{"minus and space", "[- 1]", 2, "in a number"},
	{"number and string", `[1"a"]`, 2, "instead of , or ]"},
	{"full-width digit", "１", 0, "0xef"},

	{"open string", `"`, 1, "end of the text"},
	{"open string with text", `"abc`, 4, "end of the text"},
	{"open string behind escape", `"abc\"`, 6, "end of the text"},
	{"open string in escape", `"abc\`, 5, "end of the text"},
	{"NUL in a string", "\"ab\x00c\"", 3, "control character 0x00 in a string"},
	{"line feed in a string", "[\"a\nb\"]", 3, "control character 0x0a in a string"},
	{"tab in a name", "{\"\t\":1}", 2, "control character 0x09 in a string"},
	{"0x1f in a string", "\"\x1f\"", 1, "control character 0x1f in a string"},
	{"control character behind a backslash", "\"\\\n\"", 2, "0x0a after a backslash"},
	{"unknown escape", `"\x41"`, 2, "unexpected x after a backslash"},
	{"escaped quote of one stroke", `"\'"`, 2, "after a backslash"},
	{"escaped upper case", `"\N"`, 2, "after a backslash"},
	{"escaped U", `"\U0041"`, 2, "after a backslash"},
	{"escaped NUL", "\"\\\x00\"", 2, "0x00 after a backslash"},
	{"escaped non-ASCII", "\"\\é\"", 2, "0xc3 after a backslash"},
	{"escape outside a string", `[\n]`, 1, `unexpected \`},
	{"no hex", `"\u"`, 3, "in a \\u escape"},
	{"one hex digit", `"\u1"`, 4, "in a \\u escape"},
	{"three hex digits", `"\u123"`, 6, "in a \\u escape"},
	{"wrong hex digit", `"\u12G4"`, 5, "unexpected G in a \\u escape"},
	{"open string in hex", `"\u12`, 5, "end of the text"},
	{"lone high surrogate", `"a\ud800"`, 2, "lone surrogate \\ud800"},
	{"high surrogate and letter", `"\uD83Dx"`, 1, "lone surrogate \\uD83D"},
	{"high surrogate and other escape", `"\ud83d\n"`, 1, "lone surrogate"},
	{"high surrogate and BMP escape", `"\ud83d\u0041"`, 1, "lone surrogate"},
	{"two high surrogates", `"\ud83d\ud83d"`, 1, "lone surrogate"},
	{"lone low surrogate", `"\ude00"`, 1, "lone surrogate \\ude00"},
	{"pair the wrong way round", `"\ude00\ud83d"`, 1, "lone surrogate \\ude00"},
	{"low surrogate behind a pair", `"\ud83d\ude00\ude00"`, 13, "lone surrogate"},
	{"high surrogate at the end", `"\ud83d`, 7, "end of the text"},
	{"high surrogate and backslash at the end", `"\ud83d\`, 8, "end of the text"},
	{"high surrogate and bad hex", `"\ud83d\uDxyz"`, 10, "in a \\u escape"},

	{"continuation byte alone", "\"\x80\"", 1, "invalid UTF-8"},
	{"cut two-byte sequence", "\"a\xc3\"", 2, "invalid UTF-8"},
	{"cut three-byte sequence", "\"\xe2\x82\"", 1, "invalid UTF-8"},
	{"cut four-byte sequence", "\"\xf0\x9f\x98\"", 1, "invalid UTF-8"},
	{"UTF-8 cut by the end", "\"\xf0\x9f", 1, "invalid UTF-8"},
	{"overlong slash", "\"\xc0\xaf\"", 1, "invalid UTF-8"},
	{"overlong 0xc1", "\"\xc1\xbf\"", 1, "invalid UTF-8"},
	{"overlong three bytes", "\"\xe0\x80\xaf\"", 1, "invalid UTF-8"},
	{"overlong four bytes", "\"\xf0\x80\x80\xaf\"", 1, "invalid UTF-8"},
	{"surrogate code point", "\"\xed\xa0\x80\"", 1, "invalid UTF-8"},
	{"over U+10FFFF", "\"\xf4\x90\x80\x80\"", 1, "invalid UTF-8"},
	{"five-byte lead", "\"\xf8\x88\x80\x80\x80\"", 1, "invalid UTF-8"},
	{"0xff", "\"\xff\"", 1, "invalid UTF-8"},
	{"Latin-1", "{\"caf\xe9\":1}", 5, "invalid UTF-8"},
	{"byte too many", "\"\xc3\xa9\xa9\"", 3, "invalid UTF-8"},
}

func TestRefusesWhatIsNotJSONAtTheFirstWrongByte(t *testing.T) {
	for kname, k := range kernels() {
		for _, tt := range refused {
			t.Run(kname+"/"+tt.name, func(t *testing.T) {
				_, err := parseWith(k, []byte(tt.text), Limits{})
				if err == nil {
					t.Fatalf("accepted %q", tt.text)
				}
				if err.Offset != tt.offset || !strings.Contains(err.Msg, tt.msg) {
					t.Errorf("%q: got byte %d: %s; want byte %d: …%s…", tt.text, err.Offset, err.Msg, tt.offset, tt.msg)
				}
				// The same behind white space, so that it falls anywhere in a block.
				if len(tt.text) == 0 || strings.HasPrefix(tt.text, "\xef\xbb\xbf") {
					return
				}
				for pad := 1; pad <= 130; pad++ {
					_, err := parseWith(k, []byte(strings.Repeat(" ", pad)+tt.text), Limits{})
					if err == nil || err.Offset != pad+tt.offset {
						t.Fatalf("%q behind %d spaces: got %v, want byte %d", tt.text, pad, err, pad+tt.offset)
					}
				}
			})
		}
	}
}

var accepted = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `10`, `123456789012345678901234567890`,
	`0.5`, `-0.0`, `1.25e10`, `1e5`, `1E+5`, `1e-5`, `0e0`, `0E+01`, `1.0`, ` 1 `, "\t\r\n 1\n",
	`""`, `"a"`, `" "`, `"\""`, `"\\"`, `"\\\""`, `"\/\b\f\n\r\t"`, `"\u0000"`, `"\u00e9\uABCD\uabcd"`,
	`"\ud83d\ude00"`, `"\uD83D\uDE00 \ud800\udc00 \udbff\udfff"`, `"\ud7ff\ue000"`, `"\uffff"`,
	"\"\x7f\"", "\"é\"", "\"€\"", "\"😀\"", "\"\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\"",
	"\"\u2028\u2029\"", "\"\ufeff\"", "\"\ufffd\"", `"[]{},: \" 1 true"`, `"//"`, `"\\u12"`, `"\\\\u12"`, `"\\ud800"`,
	`[]`, `{}`, `[ ]`, `{ }`, "[\n]", `[1]`, `[1,2]`, ` [ 1 , 2 ] `, `[[]]`, `[[],[]]`, `[[[[]]],{}]`, `[{}]`,
	`[{},{}]`,
	`[null,true,false]`, `["a","b"]`, `[1,"a",null,[],{}]`, `["",""]`,
	`{"a":1}`, `{"a":1,"b":2}`, ` { "a" : 1 , "b" : [ ] } `, `{"":""}`, `{"a":{"a":{"a":{}}}}`, `{"a":1,"a":2}`,
	`{"\u0061":1}`,
	`{"a\"b":"c\\"}`,
	`{"messages":[{"role":"user","content":"hi\n"},{"role":"assistant","content":[{"type":"text","text":"é"}]}]}`,
}

func TestAcceptsJSONAndFindsEverySpan(t *testing.T) {
	for kname, k := range kernels() {
		for _, text := range accepted {
			for pad := range 130 {
				data := []byte(strings.Repeat(" ", pad) + text)
				d, err := parseWith(k, data, Limits{})
				if err != nil {
					t.Fatalf("%s: %q behind %d spaces: %v", kname, text, pad, err)
				}
				want, _, ok := parseReference(data)
				if !ok {
					t.Fatalf("the reference refuses %q", data)
				}
				if diff := cmp.Diff(want, spansOf(d.Root()), cmp.AllowUnexported(span{})); diff != "" {
					t.Fatalf("%s: %q: spans differ (-want +got)\n%s", kname, data, diff)
				}
			}
		}
	}
}

func TestEveryPrefixOfATextIsRefusedAtItsEnd(t *testing.T) {
	text := []byte(`{"a":[1.5e3,true,null,"\u00e9\ud83d\ude00\\\"x"],"b":{"c":"é😀"},"d":false}`)
	for kname, k := range kernels() {
		for n := range text {
			_, err := parseWith(k, text[:n], Limits{})
			if err == nil {
				t.Fatalf("%s: accepted %q", kname, text[:n])
			}
			if _, want, _ := parseReference(text[:n]); err.Offset != want {
				t.Errorf("%s: %q: %v, want byte %d", kname, text[:n], err, want)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse([]byte("[\"\x00\"]"), Limits{})
	if got, want := err.Error(), "json: byte 2: control character 0x00 in a string"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var e *Error
	if !errors.As(err, &e) || e.Offset != 2 {
		t.Errorf("errors.As: %v", e)
	}
}

func TestLimits(t *testing.T) {
	for kname, k := range kernels() {
		for _, tt := range []struct {
			name, text string
			lim        Limits
			offset     int // -1: accepted
		}{
			{"bytes at the limit", `[1,2]`, Limits{Bytes: 5}, -1},
			{"bytes over the limit", `[1,2] `, Limits{Bytes: 5}, 5},
			{"depth at the limit", `[[[1]]]`, Limits{Depth: 3}, -1},
			{"depth over the limit", `[[ [1]]]`, Limits{Depth: 2}, 3},
			{"depth again and again", `[[],[],{},{"a":[]}]`, Limits{Depth: 3}, -1},
			{"depth over the limit in an object", `[[],[],{},{"a":[]}]`, Limits{Depth: 2}, 15},
			{"values at the limit", `{"a":[1]}`, Limits{Values: 4}, -1},
			{"values over the limit", `{"a":[1]}`, Limits{Values: 3}, 6},
			{"name over the limit", `[1,{"a":2}]`, Limits{Values: 3}, 4},
			{"array over the limit", `[1,{"a":[2]}]`, Limits{Values: 4}, 8},
			{"error before the limit", `[1,x,3,4]`, Limits{Values: 3}, 3},
			{"limit before the error", `[1,2,3,x]`, Limits{Values: 3}, 5},
		} {
			t.Run(kname+"/"+tt.name, func(t *testing.T) {
				_, err := parseWith(k, []byte(tt.text), tt.lim)
				switch {
				case tt.offset < 0 && err != nil:
					t.Error(err)
				case tt.offset >= 0 && (err == nil || err.Offset != tt.offset):
					t.Errorf("got %v, want byte %d", err, tt.offset)
				}
			})
		}
	}
}

func TestATextOver64MiBIsRefusedByDefault(t *testing.T) {
	data := bytes.Repeat([]byte(" "), 100<<20)
	allocs := testing.AllocsPerRun(1, func() {
		var e *Error
		if _, err := Parse(data, Limits{}); !errors.As(err, &e) || e.Offset != DefaultBytes {
			t.Errorf("got %v", err)
		}
	})
	if allocs > 20 {
		t.Errorf("%v allocations", allocs)
	}
	copy(data, "[")
	copy(data[len(data)-1:], "]")
	if _, err := Parse(data, Limits{Bytes: len(data)}); err != nil {
		t.Errorf("with the limit raised: %v", err)
	}
}

func TestDepthBombCostsBoundedMemory(t *testing.T) {
	for _, unit := range []string{"[", `{"":`, `[{"a":`} {
		bomb := bytes.Repeat([]byte(unit), 10<<20/len(unit))
		for kname, k := range kernels() {
			d := new(Doc)
			err := d.reset(bomb, Limits{}.withDefaults(), k)
			if err == nil || !strings.Contains(err.Msg, "nested more than 1000 deep") {
				t.Fatalf("%s: %q…: %v", kname, unit, err)
			}
			// The tape holds what was read up to the error and one chunk more.
			if n := cap(d.tape); n > 200_000 {
				t.Errorf("%s: %q…: a tape of %d entries", kname, unit, n)
			}
		}
	}
}

func TestResetReusesTheDoc(t *testing.T) {
	var d Doc
	if err := d.Reset([]byte(`{"a":[1,2,3]}`), Limits{}); err != nil {
		t.Fatal(err)
	}
	old := d.Root().Get("a")
	if err := d.Reset([]byte(`[`), Limits{}); err == nil {
		t.Fatal("accepted [")
	}
	if d.Root().Exists() || d.Data() != nil || old.Exists() || old.Raw() != nil {
		t.Error("a Doc is not empty after an error")
	}
	if err := d.Reset([]byte(` "x"`), Limits{}); err != nil {
		t.Fatal(err)
	}
	if got := d.Root().Str(); got != "x" {
		t.Errorf("got %q", got)
	}
	if got := string(d.Data()); got != ` "x"` {
		t.Errorf("Data is %q", got)
	}
}

func TestADocFromParseKeepsOnlyItsTape(t *testing.T) {
	d, err := Parse(request(2<<10), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d.idx != nil {
		t.Error("it keeps the kernel's buffers")
	}
	if err := d.Reset([]byte(`[1]`), Limits{}); err != nil || d.Root().Len() != 1 {
		t.Errorf("it cannot be reset: %v", err)
	}
}

func TestAWarmDocParsesWithoutAllocating(t *testing.T) {
	data := request(200 << 10)
	for kname, k := range kernels() {
		d := new(Doc)
		parse := func() {
			if err := d.reset(data, Limits{}.withDefaults(), k); err != nil {
				t.Fatal(err)
			}
		}
		parse()
		if n := testing.AllocsPerRun(5, parse); n != 0 {
			t.Errorf("%s: %v allocations", kname, n)
		}
	}
}

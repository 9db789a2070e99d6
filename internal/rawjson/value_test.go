package rawjson

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) Value {
	t.Helper()
	d, err := Parse([]byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Root()
}

func TestTheZeroValueIsAbsentAndSafe(t *testing.T) {
	var nilDoc *Doc
	for name, v := range map[string]Value{
		"zero":            {},
		"of a nil Doc":    nilDoc.Root(),
		"of an empty Doc": new(Doc).Root(),
		"no such member":  mustParse(t, `{"a":1}`).Get("b"),
		"not an object":   mustParse(t, `[1]`).Get("a"),
		"no first":        mustParse(t, `[]`).First(),
		"first of scalar": mustParse(t, `"x"`).First(),
		"no next":         mustParse(t, `[1]`).First().Next(),
		"next of root":    mustParse(t, `[1]`).Next(),
	} {
		start, end := v.Span()
		n, isInt := v.Int()
		if v.Kind() != Invalid || v.Exists() || v.Raw() != nil || start != 0 || end != 0 || v.Len() != 0 ||
			v.Get("a").Exists() || v.Has("a") || v.Count("a") != 0 || v.Str() != "" || v.EqualStr("") ||
			n != 0 || isInt || v.Bool() || v.First().Exists() || v.Next().Exists() || v.AppendStr(nil) != nil {
			t.Errorf("%s: not absent: %v", name, v)
		}
		for range v.Elems() {
			t.Errorf("%s: has an element", name)
		}
		for range v.Members() {
			t.Errorf("%s: has a member", name)
		}
	}
	if nilDoc.Data() != nil {
		t.Error("a nil Doc has data")
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]Kind{
		`null`: Null, `true`: Bool, `false`: Bool, `-1`: Number, `0`: Number, `"n"`: String, `[]`: Array, `{}`: Object,
	} {
		v := mustParse(t, " "+text+" ")
		if v.Kind() != want || !v.Exists() || string(v.Raw()) != text {
			t.Errorf("%s: got %v, %s", text, v.Kind(), v.Raw())
		}
		if start, end := v.Span(); start != 1 || end != 1+len(text) {
			t.Errorf("%s: span %d:%d", text, start, end)
		}
	}
	if Object.String() != "object" || Kind(99).String() != "invalid" {
		t.Error("names of kinds")
	}
}

func TestRawIsCapped(t *testing.T) {
	d, err := Parse([]byte(`[1,2]`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	raw := d.Root().First().Raw()
	_ = append(raw, "xyz"...)
	if got := string(d.Data()); got != `[1,2]` {
		t.Errorf("an append to Raw changed the text to %s", got)
	}
}

func TestWalkingAnObject(t *testing.T) {
	v := mustParse(t, `{"a":1,"b":[true,{"a":null}],"a":3,"\u0061":{"x":4},"":5}`)
	if v.Len() != 5 {
		t.Errorf("Len %d", v.Len())
	}
	if got := string(v.Get("a").Raw()); got != `{"x":4}` {
		t.Errorf("Get of a name that is there three times: %s, want the last", got)
	}
	if v.Count("a") != 3 || v.Count("b") != 1 || v.Count("") != 1 || v.Count("x") != 0 {
		t.Error("Count")
	}
	if !v.Has("b") || v.Has("c") || !v.Has("") {
		t.Error("Has")
	}
	if got := v.Get("b").Get("a"); got.Exists() {
		t.Errorf("Get on an array: %s", got.Raw())
	}
	var names []string
	for k, m := range v.Members() {
		if k.Kind() != String {
			t.Errorf("name of kind %v", k.Kind())
		}
		names = append(names, k.Str()+"="+string(m.Raw()))
	}
	if got, want := strings.Join(names, " "), `a=1 b=[true,{"a":null}] a=3 a={"x":4} =5`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for k := range v.Members() {
		if !k.EqualStr("a") {
			t.Error("the first name")
		}
		break
	}
}

func TestWalkingAnArray(t *testing.T) {
	v := mustParse(t, `[[1,[2]],"x",{"y":[3]},[],4]`)
	var got, cursor []string
	for e := range v.Elems() {
		got = append(got, string(e.Raw()))
	}
	for e := v.First(); e.Exists(); e = e.Next() {
		cursor = append(cursor, string(e.Raw()))
	}
	want := `[1,[2]] | "x" | {"y":[3]} | [] | 4`
	if strings.Join(got, " | ") != want || strings.Join(cursor, " | ") != want || v.Len() != 5 {
		t.Errorf("got %q and %q, want %s", got, cursor, want)
	}
	for e := range v.Elems() {
		if e.Len() != 2 {
			t.Error("the first element")
		}
		break
	}
}

func TestStringsDecodeAsEncodingJSONDoes(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"a\nb"`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u20ac"`, `"\ud83d\ude00"`, `"é€😀"`,
		`"\\n"`, `"\\u0041"`, `"x\u0000y"`, `"\u007f\u0080\u07ff\u0800\uffff\udbff\udfff"`, `"tail\\"`, `"\\"`, `"n"`,
		`"\n"`,
	} {
		v := mustParse(t, text)
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := v.Str(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if got := string(v.AppendStr([]byte("> "))); got != "> "+want {
			t.Errorf("%s: AppendStr %q", text, got)
		}
		if !v.EqualStr(want) {
			t.Errorf("%s: EqualStr(%q) is false", text, want)
		}
		inner := text[1 : len(text)-1]
		for _, other := range []string{want + "x", "x" + want, inner, want + want, strings.TrimSuffix(want, "n"), "",
			"a", "\\"} {
			if got := v.EqualStr(other); got != (other == want) {
				t.Errorf("%s: EqualStr(%q) is %v", text, other, got)
			}
		}
		if n := testing.AllocsPerRun(3, func() { v.EqualStr(want) }); n != 0 {
			t.Errorf("%s: EqualStr allocates %v times", text, n)
		}
	}
	for _, text := range []string{`1`, `null`, `["a"]`, `{"a":"a"}`} {
		if v := mustParse(t, text); v.Str() != "" || v.EqualStr("") {
			t.Errorf("%s is a string", text)
		}
	}
}

func TestInt(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "1", "-1", "42", "1000000", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999",
		"1e3", "1E+3", "5.0", "5.00e1", "1.5", "1.5e1", "15e-1", "150e-1", "-2.50e2", "0.0", "0e9999999999999999999",
		"0e-5",
		"1e18", "1e19", "9.223372036854775807e18", "-9.223372036854775808e18", "9.223372036854775808e18", "1e-1",
		"10e-1",
		"1e99999999999999999999", "1e-99999999999999999999", "1" + strings.Repeat("0", 100) + "e-100",
		"0." + strings.Repeat("0", 100) + "7e101", "1.0000000000000000000000", "1.00000000000000000000001", "123.456e3",
		"123.456e2",
	} {
		got, ok := mustParse(t, text).Int()
		var want int64
		wantOK := false
		if mant, exp, _ := strings.Cut(strings.ToLower(text), "e"); len(exp) > 10 {
			want, wantOK = 0, strings.Trim(mant, "-0.") == "" // too far for big.Rat
		} else if r, _ := new(big.Rat).SetString(text); r.IsInt() && r.Num().IsInt64() {
			want, wantOK = r.Num().Int64(), true
		}
		if got != want || ok != wantOK {
			t.Errorf("%s: got %d, %v; want %d, %v", text, got, ok, want, wantOK)
		}
	}
	for _, text := range []string{`"1"`, `null`, `true`, `[1]`} {
		if n, ok := mustParse(t, text).Int(); ok || n != 0 {
			t.Errorf("%s is an integer", text)
		}
	}
	if n, ok := mustParse(t, "-9223372036854775808").Int(); n != math.MinInt64 || !ok {
		t.Error("MinInt64")
	}
}

func TestBool(t *testing.T) {
	for text, want := range map[string]bool{`true`: true, `false`: false, `null`: false, `1`: false, `"true"`: false,
		`[true]`: false} {
		if got := mustParse(t, text).Bool(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func addSeeds(f *testing.F) {
	for _, tt := range refused {
		f.Add([]byte(tt.text))
	}
	for _, text := range accepted {
		f.Add([]byte(text))
	}
	f.Add(request(2 << 10))
	f.Add([]byte(`"` + strings.Repeat(`\\`, 64) + `\""`))
	f.Add([]byte(`["` + strings.Repeat("é", 70) + `",` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `]`))
}

// FuzzParse compares Parse with the reference parser and with encoding/json.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) >= DefaultDepth {
			return // the reference has no limits, encoding/json has others
		}
		d, err := Parse(data, Limits{})
		want, offset, ok := parseReference(data)
		if ok != (err == nil) {
			t.Fatalf("%q: got %v; the reference: %v, byte %d", data, err, ok, offset)
		}
		if err != nil {
			if e := err.(*Error); e.Offset != offset {
				t.Fatalf("%q: got %v, the reference says byte %d", data, err, offset)
			}
			// encoding/json accepts lone surrogates and invalid UTF-8.
			if json.Valid(data) && utf8.Valid(data) && !strings.Contains(err.Error(), "lone surrogate") {
				t.Fatalf("%q: encoding/json accepts it; got %v", data, err)
			}
			return
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Fatalf("%q: accepted; json.Valid %v, utf8.Valid %v", data, json.Valid(data), utf8.Valid(data))
		}
		if got := spansOf(d.Root()); !slices.Equal(got, want) {
			t.Fatalf("%q: spans\n%v, want\n%v", data, got, want)
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			if strings.Contains(err.Error(), "cannot unmarshal number") {
				return // 1e999 is no float64
			}
			t.Fatal(err)
		}
		sameTree(t, d.Root(), tree)
	})
}

// sameTree compares what the methods of v say with encoding/json's tree.
func sameTree(t *testing.T, v Value, tree any) {
	t.Helper()
	switch want := tree.(type) {
	case nil:
		if v.Kind() != Null {
			t.Fatalf("%s is %v, want null", v.Raw(), v.Kind())
		}
	case bool:
		if v.Kind() != Bool || v.Bool() != want {
			t.Fatalf("%s: want %v", v.Raw(), want)
		}
	case float64:
		if n, ok := v.Int(); v.Kind() != Number || ok && n < 1<<53 && n > -1<<53 && float64(n) != want {
			t.Fatalf("%s: got %d, want %v", v.Raw(), n, want)
		}
	case string:
		if v.Kind() != String || v.Str() != want || !v.EqualStr(want) {
			t.Fatalf("%s: got %q, want %q", v.Raw(), v.Str(), want)
		}
	case []any:
		if v.Kind() != Array || v.Len() != len(want) {
			t.Fatalf("%s: want %d elements", v.Raw(), len(want))
		}
		i := 0
		for e := range v.Elems() {
			sameTree(t, e, want[i])
			i++
		}
	case map[string]any:
		if v.Kind() != Object {
			t.Fatalf("%s is %v, want an object", v.Raw(), v.Kind())
		}
		names := 0
		for key, member := range want {
			if !v.Has(key) {
				t.Fatalf("%s has no %q", v.Raw(), key)
			}
			names += v.Count(key)
			if v.Count(key) == 1 { // encoding/json merges duplicates
				sameTree(t, v.Get(key), member)
			}
		}
		if names != v.Len() {
			t.Fatalf("%s: %d members, counted %d", v.Raw(), v.Len(), names)
		}
	}
}

// FuzzKernels compares every kernel with the scalar parser, wherever the text
// falls in a block and whatever the limits.
func FuzzKernels(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for shift := range 65 {
			sameWithAllKernels(t, append(bytes.Repeat([]byte(" "), shift), data...), Limits{Depth: 20, Values: 200})
		}
		// The same as the inside of a string.
		quoted := slices.Concat([]byte(`["`), data, []byte(`"]`))
		for shift := range 65 {
			sameWithAllKernels(t, append(bytes.Repeat([]byte(" "), shift), quoted...), Limits{})
		}
	})
}

// sameWithAllKernels fails if a kernel gives another tape or another error than
// the scalar parser, or if a kernel leaves a valid text to the scalar parser.
func sameWithAllKernels(t testing.TB, data []byte, lim Limits) {
	t.Helper()
	lim = lim.withDefaults()
	want := &Doc{data: data}
	wantErr := want.parseScalar(lim)
	for _, k := range available {
		got := &Doc{data: data}
		if ok := got.parseIndexed(lim, k); ok != (wantErr == nil) {
			t.Fatalf("%s: %q: valid %v; the scalar parser: %v", k.name, data, ok, wantErr)
		}
		if wantErr == nil && !slices.Equal(got.tape, want.tape) {
			t.Fatalf("%s: %q: tape\n%v, want\n%v", k.name, data, got.tape, want.tape)
		}
	}
}

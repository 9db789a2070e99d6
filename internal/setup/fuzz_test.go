package setup

import "testing"

// Whatever a file has, it is refused, or a value that is set is read again and can be taken
// out.
func FuzzDocument(f *testing.F) {
	for _, text := range []string{"", "{}", `{"a":{"b":1},}`, "{ // c\n \"a\": [1,2,],\n}\n", "a = 1\n[a]\nb = \"x\"\n",
		"a: 1\nb:\n  - c\n", "{\"a\":\"\\\"\"/*x*/}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"x.json", "x.toml", "x.yml"} {
			d, err := parse(file, text)
			if err != nil {
				continue
			}
			path := []string{"a", "b"}
			if file == "x.yml" {
				path = path[:1]
			}
			_, had, err := d.Get(path)
			if err != nil {
				continue
			}
			next, err := d.Set(path, `"new"`)
			if err != nil {
				continue
			}
			if err := verify(file, next, Edit{Path: path, Value: `"new"`}); err != nil {
				continue // refused
			}
			if had {
				continue
			}
			after, err := parse(file, next)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, next, err)
			}
			out, err := after.Remove(path)
			if err != nil {
				t.Fatalf("%q: %v", next, err)
			}
			last, err := parse(file, out)
			if err != nil {
				t.Fatalf("%q became %q: %v", next, out, err)
			}
			if _, still, _ := last.Get(path); still && file != "x.json" { // JSON may have a name twice
				t.Fatalf("%q still has it: %q", next, out)
			}
		}
	})
}

package condense_test

import (
	"testing"

	"github.com/oriel-context/oriel/condense"
)

func TestMainArgument(t *testing.T) {
	for _, c := range []struct{ name, args, kind, value string }{
		{"Read", `{"file_path":"src/a.go","limit":20}`, "path", "src/a.go"},
		{"read_file", `{"path":"src/a.go"}`, "path", "src/a.go"},
		{"open", `{"filename":"a b.txt"}`, "path", "a b.txt"},
		{"NotebookEdit", `{"notebook_path":"n.ipynb","new_source":"1"}`, "path", "n.ipynb"},
		{"Bash", `{"command":"go test ./...","description":"Tests"}`, "command", "go test ./..."},
		{"exec", `{"cmd":"ls\n-l"}`, "command", "ls -l"},
		{"shell", `{"command":["bash","-lc","go vet"]}`, "command", "go vet"},
		{"shell", `{"command":["git","status"]}`, "command", "git status"},
		{"local_shell", `{"action":{"type":"exec","command":["/bin/sh","-c","make"]}}`, "command", "make"},
		{"shell", `plain words`, "command", "plain words"},
		{"editor", `{"command":"view","path":"x.py"}`, "path", "x.py"},
		{"run", `{"command":"go build","path":"/srv"}`, "command", "go build"},
		{"Grep", `{"pattern":"func main","path":"cmd"}`, "query", "func main"},
		{"Glob", `{"pattern":"**/*.go"}`, "query", "**/*.go"},
		{"WebSearch", `{"query":"tide tables"}`, "query", "tide tables"},
		{"search_replace", `{"file_path":"a.go","query":"x","new_string":"y"}`, "query", "x"},
		{"replace_in_file", `{"path":"a.go","pattern":"x","replacement":"y"}`, "path", "a.go"},
		{"WebFetch", `{"url":"https://example.org/","prompt":"read"}`, "url", "https://example.org/"},
		{"apply_patch", "*** Begin Patch\n*** Add File: new.go\n+x\n*** End Patch", "path", "new.go"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n*** End Patch"}`, "path", "a.go"},
		{"Task", `{"description":"Look around","prompt":"long"}`, "", "Look around"},
		{"get_user", `{"user_id":"ann_1"}`, "", "ann_1"},
		{"TaskList", `{}`, "", ""},
		{"x", ``, "", ""},
		{"x", `null`, "", "null"},
		{"x", `{"broken`, "", ""},
		{"x", `{"path":"","command":7}`, "", ""},
	} {
		if kind, value := condense.MainArgument(c.name, c.args); kind != c.kind || value != c.value {
			t.Errorf("%s %s: got %q %q, want %q %q", c.name, c.args, kind, value, c.kind, c.value)
		}
	}
}

func FuzzMainArgument(f *testing.F) {
	f.Add("Bash", `{"command":["sh","-c","ls"]}`)
	f.Add("apply_patch", "*** Update File: a\n+++ b/c")
	f.Add("TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		kind, value := condense.MainArgument(name, args)
		switch kind {
		case "":
		case "path", "command", "query", "url":
			if value == "" {
				t.Errorf("%s without a value", kind)
			}
		default:
			t.Errorf("kind %q", kind)
		}
	})
}

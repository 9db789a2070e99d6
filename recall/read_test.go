package recall

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

func TestToolsAreToldByNameArgumentAndLines(t *testing.T) {
	var r Reader
	call := chat.Message{Role: chat.Assistant, Parts: []chat.Part{
		{Kind: chat.Text, Text: chat.Quote("I look at it.")},
		{Kind: chat.Call, ID: "1", Name: "Read", Args: []byte(`{"file_path":"/src/main.go","limit":20}`)},
	}}
	m := r.Chat(&call)
	if m.Text != "I look at it." || len(m.Tools) != 1 || m.Tools[0] != "Read /src/main.go\n20" {
		t.Errorf("call: %+v", m)
	}
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "line number %d\n", i)
		if i == 100 {
			lines.WriteString("panic: index out of range\n")
		}
		if i == 5 {
			lines.WriteString(strings.Repeat("QUJDREVGR0g", 40) + "\n")
		}
	}
	result := chat.Message{Role: chat.User,
		Parts: []chat.Part{{Kind: chat.Result, ID: "1", Text: chat.Quote(lines.String()), IsError: true}}}
	m = r.Chat(&result)
	if m.Role != "tool" || m.Text != "" || len(m.Given) != 1 {
		t.Fatalf("result: %+v", m)
	}
	got := m.Given[0]
	for _, want := range []string{"Read /src/main.go (error)\n", "line number 0\n", "panic: index", "line number 199"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, not := range []string{"line number 50\n", "QUJDREVGR0g"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in %q", not, got)
		}
	}
}

// What names a part of a long file is kept: it is asked for by it.
func TestNamesOfPartsOfAFileAreKept(t *testing.T) {
	var r Reader
	var file strings.Builder
	for i := range 300 {
		switch i {
		case 100:
			fmt.Fprintf(&file, "%6d→func CountBees(frames []Frame) int {\n", i)
		case 200:
			fmt.Fprintf(&file, "%6d→\tconst inner = 1\n", i)
		default:
			fmt.Fprintf(&file, "%6d→\tx = append(x, %d)\n", i, i)
		}
	}
	m := r.Chat(&chat.Message{Role: chat.User,
		Parts: []chat.Part{{Kind: chat.Result, Text: chat.Quote(file.String())}}})
	if got := strings.Join(m.Given, ""); !strings.Contains(got, "func CountBees(") || strings.Contains(got, "inner") {
		t.Errorf("%q", got)
	}
}

// An agent's own words ask for what it works on; a question asks the user's words first.
func TestWorkFindsWhatToolsShowed(t *testing.T) { // SPEC D2
	s := scopeOf(t, Options{}, []Message{
		{Block: "1", Role: "user", Text: "The hive counter is wrong at night, please repair it."},
		{Block: "2", Role: "assistant", Tools: []string{"Read /bees/hive/counter.py"}},
		{Block: "3", Role: "tool",
			Given: []string{
				"Read /bees/hive/counter.py\ndef count_bees(frames): return sum(f.bees for f in frames if f.lit)"}},
		{Block: "4", Role: "user", Text: "And greet my sister in the message of the commit, if you please."},
	})
	top := func(query string) string {
		r := find(t, s, query, RecallOptions{Top: 1, Floor: -1, Directives: -1})
		return r.Passages[0].Role
	}
	if got := top("Now let me see count_bees in the hive counter."); got == "user" {
		t.Error("work finds the user's words")
	}
	if got := top("What did I say about count_bees in the hive counter?"); got != "user" {
		t.Errorf("a question finds those of the %s", got)
	}
}

func TestToolsAreFound(t *testing.T) {
	s := scopeOf(t, Options{}, []Message{
		{Block: "1", Role: "user", Text: "Please look at the configuration."},
		{Block: "2", Role: "assistant", Tools: []string{"Read /etc/nginx/nginx.conf"}},
		{Block: "3", Role: "tool",
			Given: []string{"Read /etc/nginx/nginx.conf\nworker_processes 4;\nlisten 8443 ssl;"}},
	})
	r := find(t, s, "worker_processes in nginx.conf", RecallOptions{})
	if best(r) != "3" && !strings.Contains(r.Text, "worker_processes 4;") {
		t.Errorf("%+v", r)
	}
}

func TestRemindersAndDataHaveNoWords(t *testing.T) {
	var r Reader
	m := r.Chat(&chat.Message{Role: chat.User, Parts: []chat.Part{
		{Kind: chat.Text, Text: chat.Quote("<system-reminder>\nnot the user's\n</system-reminder>")},
		{Kind: chat.Text, Text: chat.Quote("Hello there.")},
		{Kind: chat.Image, Media: &chat.Media{Data: []byte("AAAA")}},
	}})
	if m.Text != "Hello there." || m.Tools != nil || m.Given != nil {
		t.Errorf("%+v", m)
	}
	if encoded("a usual line of text") || !encoded("a\x00b") || !encoded(strings.Repeat("deadbeef", 40)) {
		t.Error("encoded")
	}
}

// What Oriel's own tools were asked and what they showed is said elsewhere in the history.
func TestOwnToolsHaveNoWords(t *testing.T) {
	var r Reader
	m := r.Chat(&chat.Message{Role: chat.Assistant, Parts: []chat.Part{
		{Kind: chat.Text, Text: chat.Quote("I look it up.")},
		{Kind: chat.Call, ID: "t1", Name: "mcp__oriel__recall", Args: []byte(`{"query":"staging port"}`)},
		{Kind: chat.Call, ID: "t2", Name: "mcp__other__recall", Args: []byte(`{"query":"staging port"}`)},
	}})
	if m.Text != "I look it up." || len(m.Tools) != 1 {
		t.Errorf("%+v", m)
	}
	m = r.Chat(&chat.Message{Role: chat.User, Parts: []chat.Part{
		{Kind: chat.Result, ID: "t1", Text: chat.Quote("> the port is 8443")},
		{Kind: chat.Result, ID: "t2", Text: chat.Quote("8443")},
	}})
	if len(m.Given) != 1 || !strings.Contains(m.Given[0], "other") {
		t.Errorf("%+v", m)
	}
}

// The definitions of isTitle and tellsError.
var (
	titleLine = regexp.MustCompile(`^(?:\s*\d+[→\t])?(?:func|type|class|def|fn|pub|impl|interface|struct|enum|export|const|var|let|function|async|public|private|protected|static|module|package|trait|#+) \S`)
	errorLine = regexp.MustCompile(`(?i)error|fail|panic|exception|fatal|denied|not found|undefined|traceback`)
)

func FuzzLinesOfResultsAreKeptByTheirDefinition(f *testing.F) {
	for _, line := range []string{
		"", " ", "func", "func ", "func a", "func  a", " func a", "12→func a", "  12\tfunc a", "12func a",
		"12\t\tfunc a", "→func a", "# Title", "### Title", "#Title", "#  x", " # x", "function f() {",
		"trait \xff", "class A", "12→", "const\ta", "\fvar x", "func \va",
		"Error: x", "it FAILED", "an excepTion", "not found", "Not  found", "fai", "err or", "traceback (most recent",
		"panics", "undefine", "\u017fatal",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if line, _, _ = strings.Cut(line, "\n"); isTitle(line) != titleLine.MatchString(line) {
			t.Errorf("%q is a title: %v", line, isTitle(line))
		}
		// ASCII alone, because \u212a matches k here.
		if ascii := strings.Map(func(r rune) rune { return min(r, 0x7f) },
			line); tellsError(ascii) != errorLine.MatchString(ascii) {
			t.Errorf("%q is about an error: %v", ascii, tellsError(ascii))
		}
	})
}

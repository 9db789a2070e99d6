package recall

import (
	"fmt"
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
	result := chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Result, ID: "1", Text: chat.Quote(lines.String()), IsError: true}}}
	m = r.Chat(&result)
	if m.Role != "tool" || m.Text != "" || len(m.Tools) != 1 {
		t.Fatalf("result: %+v", m)
	}
	got := m.Tools[0]
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

func TestToolsAreFound(t *testing.T) {
	s := scopeOf(t, Options{}, []Message{
		{Block: "1", Role: "user", Text: "Please look at the configuration."},
		{Block: "2", Role: "assistant", Tools: []string{"Read /etc/nginx/nginx.conf"}},
		{Block: "3", Role: "tool", Tools: []string{"Read /etc/nginx/nginx.conf\nworker_processes 4;\nlisten 8443 ssl;"}},
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
	if m.Text != "Hello there." || m.Tools != nil {
		t.Errorf("%+v", m)
	}
	if encoded("a usual line of text") || !encoded("a\x00b") || !encoded(strings.Repeat("deadbeef", 40)) {
		t.Error("encoded")
	}
}

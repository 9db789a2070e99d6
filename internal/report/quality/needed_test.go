package quality

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

const (
	readCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"r1","name":"Read","input":{"file_path":"a.go"}}]}`
	readResult = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1","content":"     1→one\n     2→two"}]}`
	stub       = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1","content":"[left out]"}]}`
	editCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"e1","name":"Edit","input":{"file_path":"a.go","old_string":"two","new_string":"2"}}]}`
	editResult = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"e1","content":"done"}]}`
	readAgain  = `{"role":"assistant","content":[{"type":"tool_use","id":"r2","name":"Read","input":{"file_path":"a.go"}}]}`
	quoted     = `{"role":"user","content":[{"type":"text","text":"earlier:\ntwo"}]}`
)

func TestWhatIsNeededAgain(t *testing.T) {
	body := func(m ...string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(m, ",") + `]}`
	}
	for _, c := range []struct {
		name, history, view, reply string
		want                       Measures
	}{
		{"an edit whose file is shown", body(readCall, readResult), body(readCall, readResult), editCall,
			Measures{Needed: 1}},
		{"an edit whose file is masked", body(readCall, readResult), body(readCall, stub), editCall,
			Measures{Needed: 1, Missing: 1}},
		{"an edit of lines that came back", body(readCall, readResult), body(readCall, stub, quoted), editCall,
			Measures{Needed: 1, Missing: 1, Back: 1}},
		{"a read of an unchanged file", body(readCall, readResult), body(readCall, stub), readAgain,
			Measures{Needed: 1, Missing: 1, Again: 1}},
		{"a read of a changed file", body(readCall, readResult, editCall, editResult),
			body(readCall, readResult, editCall, editResult), readAgain, Measures{Again: 1, Held: 1}},
		{"a file that nobody read", body(editCall, editResult), body(editCall, editResult), readAgain, Measures{}},
	} {
		reply, err := wire.ReadMessage(wire.Anthropic, []byte(c.reply))
		if err != nil {
			t.Fatal(err)
		}
		var got Measures
		if got.needed(read(t, c.history), read(t, c.view), []chat.Message{reply}, true); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func read(t *testing.T, body string) *wire.Body {
	t.Helper()
	b, err := wire.Read([]byte(body), wire.Anthropic, wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

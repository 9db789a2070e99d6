package demo

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// direct lets an agent speak to the model without a proxy.
func direct(t *testing.T) (*Agent, *Model) {
	t.Helper()
	m, err := NewModel()
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Oriel-Tokens-After", "1")
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(up.Close)
	a, err := NewAgent(up.URL, 1, up.Client(), m)
	if err != nil {
		t.Fatal(err)
	}
	return a, m
}

// All tools find what they look for, all bodies are valid (the model judges them), every
// step of the session is taken, and where nothing is cut both bills are the same.
func TestTheSessionIsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	a, m := direct(t)
	calls, undone, facts, knew := 0, 0, 0, 0
	for {
		if turn := a.Turn(); turn != nil {
			if turn.Undo {
				undone++
			}
			if a.Fact(turn.Text) != "" {
				facts++
			}
		}
		c, err := a.Call(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if calls++; c.N != calls || c.Used != c.Whole || c.Says == "" && len(c.Does) == 0 {
			t.Errorf("call %d of %d: %+v", calls, len(m.script.steps), c)
		}
		if c.Needs && c.Knows {
			knew++
		}
		if c.Picture.Told > 0 || c.Picture.Recalled > 0 || c.Picture.New == 0 || c.Picture.System > 2000 {
			t.Errorf("call %d: %+v", calls, c.Picture)
		}
	}
	if calls != len(m.script.steps) || calls < 60 {
		t.Errorf("%d calls of %d", calls, len(m.script.steps))
	}
	if undone != 1 || facts != 1 || knew != 1 {
		t.Errorf("%d undone, %d facts, needed and known %d times", undone, facts, knew)
	}
	for _, raw := range a.messages {
		if strings.Contains(string(raw), `"is_error":true`) {
			t.Errorf("a tool failed: %s", raw)
		}
	}
}

// The model answers from what it is shown, and says so where that is not enough.
func TestTheModelKnowsOnlyTheRequest(t *testing.T) {
	_, m := direct(t)
	needs := -1
	for i := range m.script.steps {
		if m.script.steps[i].needs != nil {
			needs = i
		}
	}
	var question string
	for _, turn := range m.script.turns {
		if turn.first == needs {
			question = turn.Text
		}
	}
	ask := func(before string) string {
		t.Helper()
		body := fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":%q},{"role":"assistant","content":"Yes?"},{"role":"user","content":%q}]}`, Name, before, question)
		b, err := wire.Read([]byte(body), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return m.say(b).Text
	}
	if got := ask("Good morning."); got != m.script.steps[needs].otherwise {
		t.Errorf("it knows %q", got)
	}
	if got := ask("staging  db.example  7777  through pgbouncer"); !strings.Contains(got,
		"db.example, and the port is 7777") {
		t.Errorf("it says %q", got)
	}
}

// What no session has is answered, too.
func TestOtherQuestions(t *testing.T) {
	_, m := direct(t)
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":        `{"model":"m","input":"hi"}`,
		"/v1/messages":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
	} {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		if w.Code != 200 || !strings.Contains(w.Body.String(), "I am the model of oriel demo") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Of a history that grows the last prompt is read and the rest written; of one that was
// changed, what stands before the change.
func TestMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		say := func(n int, what string) string {
			return fmt.Sprintf(`{"role":%q,"content":%q}`, [...]string{"user", "assistant"}[n%2],
				strings.Repeat(what+" ", 300))
		}
		add := func(m *Meter, list []string) token.Usage {
			b, err := wire.Read([]byte(`{"model":"`+Name+`","max_tokens":9,"messages":[`+strings.Join(list, ",")+`]}`),
				wire.Anthropic, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			u, err := m.Add(b)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		m := NewMeter()
		var list []string
		for i := range rapid.IntRange(4, 9).Draw(t, "messages") {
			list = append(list, say(i, "and"))
		}
		first := add(m, list)
		if first.CacheRead != 0 || first.CacheWrite == 0 {
			t.Fatalf("%+v", first)
		}
		if again := add(m, list); again.CacheRead != first.Prompt() || again.CacheWrite != 0 {
			t.Fatalf("again %+v after %+v", again, first)
		}
		longer := add(m, append(list[:len(list):len(list)], say(len(list), "then")))
		if longer.CacheRead > first.Prompt() || first.Prompt()-longer.CacheRead > 16 || longer.CacheWrite == 0 {
			t.Fatalf("longer %+v after %+v", longer, first)
		}
		k := rapid.IntRange(0, len(list)-1).Draw(t, "changed")
		list[k] = say(k, "but")
		changed := add(m, list)
		if share := changed.Prompt() * k / len(list); changed.CacheRead > share+64 ||
			changed.CacheRead > 0 && changed.CacheRead < share-64 {
			t.Fatalf("%d of %d are the same: %+v", k, len(list), changed)
		}
	})
}

func TestBadScripts(t *testing.T) {
	for text, want := range map[string]string{
		"\n== user\nhi\n== model\n> frob x":                     `unknown tool "frob"`,
		"\n== user\nhi\n== model\n> edit x\n<<<\na\n>>>":        "has no ===",
		"\n== user\nhi\n== model\n> read x\n== user\nand then?": "the user speaks before their results",
	} {
		if _, err := readScript(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestToolsThatFail(t *testing.T) {
	w, err := newWorkspace()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"read_file", `{"path":"none.go"}`},
		{"edit_file", `{"path":"Makefile","old_string":"$(GO)","new_string":""}`}, // more than once
		{"run", `{"command":"rm -rf /"}`},
		{"frob", `{}`},
		{"run", `{`},
	} {
		if out, err := w.do(c[0], c[1]); err == nil {
			t.Errorf("%v: %s", c, out)
		}
	}
	if out, err := w.do("search", `{"pattern":"xyzzy","path":"."}`); err != nil || out != "nothing found" {
		t.Error(out, err)
	}
}

package composition_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

// provider answers every call.
type provider struct{}

func (provider) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	answer := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Noted."}],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":23,"output_tokens":5}}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r}, err
}

// record sends bodies as one conversation, within a budget if it is not 0, and returns the
// ids of the calls.
func record(t *testing.T, budget int, bodies ...string) (timeline.Store, []string) {
	t.Helper()
	store := memory.New()
	e, err := oriel.Open(t.Context(), oriel.Config{Store: store, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: e.Transport(provider{})}
	for _, body := range bodies {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider/v1/messages",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Conversation", "talk")
		if budget > 0 {
			r.Header.Set("X-Oriel-Budget", fmt.Sprint(budget))
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	keys, err := store.RecordKeys(t.Context(), timeline.Local, "talk", "call")
	if err != nil || len(keys) != len(bodies) {
		t.Fatalf("%d calls, %v", len(keys), err)
	}
	return store, keys
}

func read(t *testing.T, store timeline.Store, call string) *composition.Window {
	t.Helper()
	w, err := composition.Read(t.Context(), store, timeline.Local, "talk", call, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, k := range w.Kinds {
		sum += k.Tokens
	}
	if sum != w.Window {
		t.Errorf("the kinds have %d tokens, the window %d", sum, w.Window)
	}
	return w
}

const memories = `<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\nInstructions are shown below.\n\nContents of /home/ann/.claude/CLAUDE.md (user's private global instructions for all projects):\n\n# Mine\n\nAnswer in English.\n\nContents of /src/shop/CLAUDE.md (project instructions, checked into the codebase):\n\n# House rules\n\nAlways run the tests, and always run the linter before that.\n# currentDate\nToday's date is 2026-11-16.\n\n      IMPORTANT: this context may or may not be relevant to your tasks.\n</system-reminder>\n\n`

// agent is a request of a coding agent: a part of each kind.
func agent(tools string) string {
	return `{"model":"claude-opus-4-1","max_tokens":1000,"system":[{"type":"text","text":"You are a coding agent. Be brief and exact."}],"tools":[` + tools + `],"messages":[
{"role":"user","content":[{"type":"text","text":"` + memories +
		`"},{"type":"text","text":"Why does the checkout fail? <system-reminder>Plan mode is off.</system-reminder>"}]},
{"role":"system","content":"Skills: none."},
{"role":"assistant","content":[{"type":"thinking","thinking":"I look at the files first.","signature":"c2ln"},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls -la"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` + strings.Repeat(
		"a file and another file ", 40) + `"},{"type":"tool_result","tool_use_id":"t2","content":"an orphan"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"mcp__github__search","input":{"q":"checkout"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"nothing was found"}]}]}]}`
}

const (
	bash   = `{"name":"Bash","description":"Run a command","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}`
	edit   = `{"name":"Edit","description":"Edit a file, which has to be read before that","input_schema":{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"}}}}`
	search = `{"name":"mcp__github__search","description":"Search issues","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}`
	issue  = `{"name":"mcp__github__create_issue","description":"Create an issue","input_schema":{"type":"object","properties":{"title":{"type":"string"}}}}`
)

func TestTheWindowOfAnAgent(t *testing.T) {
	store, keys := record(t, 0, agent(bash+","+edit+","+search+","+issue))
	w := read(t, store, keys[0])
	var got []string
	for _, k := range w.Kinds {
		got = append(got, strings.TrimSpace(string(k.Kind)+" "+k.Name))
		if k.Tokens <= 0 || k.Share <= 0 || k.Share > 1 {
			t.Errorf("%+v", k)
		}
	}
	want := []string{
		"system", "tools github", "tools", "memory /src/shop/CLAUDE.md", "memory /home/ann/.claude/CLAUDE.md", "agent",
		"people", "model", "thinking",
		"calls mcp__github__search", "calls Bash", "results Bash", "results mcp__github__search", "results", "overhead",
		"free",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w.Call != 1 || w.Model != "claude-opus-4-1" || w.Window != 200_000 || w.Reported != 123 || w.LeftOut != 0 ||
		w.Limit == 0 || w.Time.IsZero() {
		t.Errorf("%+v", w)
	}
	if top := w.Largest[0]; len(w.Largest) != 10 || w.Largest[1].Tokens > top.Tokens {
		t.Errorf("%+v", w.Largest)
	}
	for _, thing := range w.Largest {
		if thing.Kind == composition.Results && thing.Name == "Bash" && (thing.ID != 4 ||
			!strings.HasPrefix(thing.Text, "a file and")) {
			t.Errorf("%+v", thing)
		}
	}
	if names := unusedNames(w); names != "Edit mcp__github__create_issue" || w.UnusedCalls != 1 {
		t.Errorf("unused %q in %d calls", names, w.UnusedCalls)
	}
}

// A tool that was not sent with every call is not called unused: it may be new. A call
// without tools, such as one for a title, does not count.
// Long calls teach an offset below 0. A small call keeps the rows that it has without it.
func TestCalibrationEmptiesNoRow(t *testing.T) {
	store, keys := record(t, 0, agent(bash+","+edit+","+search+","+issue))
	rows := func(w *composition.Window) (all []string) {
		for _, k := range w.Kinds {
			all = append(all, fmt.Sprint(k.Kind, " ", k.Name, " ", k.Count))
		}
		slices.Sort(all)
		return all
	}
	plain := read(t, store, keys[0])
	for _, offset := range []int{500, 900, 5000} {
		var learnt token.Calibration
		for x := 10_000; x < 70_000; x += 1000 {
			learnt.Observe(token.LearntKey(timeline.Local, "claude-opus-4-1"), x, x-offset)
		}
		w, err := composition.Read(t.Context(), store, timeline.Local, "talk", keys[0],
			composition.Options{Calibration: &learnt})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows(plain), rows(w)); diff != "" {
			t.Errorf("offset −%d, %d tokens instead of %d: %s", offset, w.Tokens, plain.Tokens, diff)
		}
	}
}

func TestUnusedToolsAreThoseOfAllCalls(t *testing.T) {
	store, keys := record(t, 0, agent(bash+","+search+","+issue), strings.Replace(agent(""), `"tools":[],`, "", 1),
		agent(bash+","+edit+","+search+","+issue))
	if w := read(t, store, keys[2]); unusedNames(w) != "mcp__github__create_issue" || w.UnusedCalls != 2 ||
		w.Call != 3 {
		t.Errorf("%+v in %d calls", w.Unused, w.UnusedCalls)
	}
	if w := read(t, store, keys[1]); len(w.Unused) != 0 {
		t.Errorf("%+v", w.Unused)
	}
}

// What Oriel left out and put in is told apart, and messages keep their ids.
func TestTheWindowAfterACut(t *testing.T) {
	var list []string
	var bodies []string
	for i := range 30 {
		words := strings.Repeat(fmt.Sprintf("harbour %d lies east of pier %d; ", i, i*7), 20)
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, words))
		bodies = append(bodies, `{"model":"claude-opus-4-1","max_tokens":100,"messages":[`+strings.Join(list, ",")+`]}`)
		list = append(list, `{"role":"assistant","content":[{"type":"text","text":"Noted."}]}`)
	}
	store, keys := record(t, 3000, bodies...)
	w := read(t, store, keys[len(keys)-1])
	if w.LeftOut == 0 || w.Tokens > 3000 || w.Limit != 3000 {
		t.Errorf("%d left out, %d of %d", w.LeftOut, w.Tokens, w.Limit)
	}
	kinds := map[composition.Kind]int{}
	for _, k := range w.Kinds {
		kinds[k.Kind] += k.Tokens
	}
	if kinds[composition.Digest]+kinds[composition.Notes] == 0 || kinds[composition.People] == 0 {
		t.Errorf("%v", kinds)
	}
	newest := int64(0)
	for _, thing := range w.Largest {
		if thing.Kind == composition.People {
			newest = max(newest, thing.ID)
			if want := fmt.Sprintf("harbour %d lies", (thing.ID-1)/2); !strings.HasPrefix(thing.Text, want) {
				t.Errorf("message %d: %.60s", thing.ID, thing.Text)
			}
		}
	}
	if newest != 59 {
		t.Errorf("the newest message is %d", newest)
	}
	if _, err := composition.Read(t.Context(), store, timeline.Local, "talk", "nonsense",
		composition.Options{}); err == nil {
		t.Error("a call that there is not was read")
	}
}

// Programs of others read these names.
func TestTheNamesOfAWindow(t *testing.T) {
	store, keys := record(t, 0, `{"model":"claude-opus-4-1","max_tokens":1000,"tools":[`+bash+
		`],"messages":[{"role":"user","content":"Hello"}]}`)
	w := read(t, store, keys[0])
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("conversation call id time model window limit tokens reported accuracy left_out kinds largest unused unused_calls") {
		if got[name] == nil {
			t.Errorf("there is no %s in %s", name, data)
		}
	}
	for field, want := range map[string]string{
		"kinds": `[{"kind":"tools","count":1,"tokens":`, "largest": `[{"kind":"tools","name":"Bash","tokens":`,
		"unused": `[{"name":"Bash","tokens":`,
	} {
		if !bytes.HasPrefix(got[field], []byte(want)) {
			t.Errorf("%s is %s", field, got[field])
		}
	}
}

func unusedNames(w *composition.Window) string {
	var names []string
	for _, u := range w.Unused {
		names = append(names, u.Name)
	}
	return strings.Join(names, " ")
}

package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/token"
)

// flat is a model that tells nothing: all texts lie in the same place, but for noise
// by their length.
type flat struct{}

func (flat) Name() string { return "flat" }
func (flat) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = make([]float32, 32)
		out[i][0], out[i][1+len(t)%31] = .8, .6
	}
	return out, nil
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const locomoFile = `[{"sample_id":"s1","conversation":{"speaker_a":"Ann","speaker_b":"Ben",
"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[
 {"speaker":"Ann","dia_id":"D1:1","text":"My parrot is called Captain Flint."},
 {"speaker":"Ben","dia_id":"D1:2","text":"What a name for a bird, truly."}],
"session_2_date_time":"9:00 am on 20 July, 2023","session_2":[
 {"speaker":"Ben","dia_id":"D2:1","text":"I sold the yellow bicycle on Tuesday."},
 {"speaker":"Ann","dia_id":"D2:2","text":"Good riddance, it squeaked terribly."}]},
"qa":[{"question":"What is Ann's parrot called?","evidence":["D1:1"],"category":4,"answer":"Captain Flint"},
 {"question":"What did Ben sell?","evidence":["D2:1; D:2:2"],"category":1,"answer":1500000},
 {"question":"What did Ann sell?","evidence":["D2:1"],"category":5},
 {"question":"Who knows?","evidence":[],"category":3},
 {"question":"Where?","evidence":["D9:9"],"category":2}]}]`

func TestLocomo(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{"l.json": locomoFile})
	set, err := Load(t.Context(), "locomo", []string{filepath.Join(dir, "l.json")})
	if err != nil {
		t.Fatal(err)
	}
	c := set.Conversations[0]
	if c.Name != "0" || len(c.Messages) != 4 || c.Messages[0].Name != "Ann" {
		t.Fatalf("%+v", c)
	}
	want := []Question{
		{ID: "qa0", Kind: "single-hop", Text: "What is Ann's parrot called?", Evidence: []string{"D1:1"},
			Answer: "Captain Flint"},
		{ID: "qa1", Kind: "multi-hop", Text: "What did Ben sell?", Evidence: []string{"D2:1", "D2:2"},
			Answer: "1500000"},
		{ID: "qa2", Kind: "adversarial", Text: "What did Ann sell?", Evidence: []string{"D2:1"}, Aside: true,
			Unanswerable: true},
		{ID: "qa3", Kind: "open-domain", Text: "Who knows?"},
		{ID: "qa4", Kind: "temporal", Text: "Where?", Evidence: []string{}},
	}
	if diff := cmp.Diff(want, c.Questions); diff != "" {
		t.Error(diff)
	}
	report, err := Run(t.Context(), set, Options{Budgets: []int{100}, Policies: Policies(), Model: flat{}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Questions != 2 || report.Aside != 1 || report.Without != 2 {
		t.Errorf("%+v", report)
	}
	for _, row := range report.Rows {
		if row.Policy == "hybrid" && row.Kind == "all" && (row.Recall != 100 || row.Questions != 2) {
			t.Errorf("%+v", row)
		}
	}
}

func TestBeam(t *testing.T) {
	chat := `[{"batch_number":1,"turns":[[{"role":"user","id":0,"time_anchor":"March-15-2024","content":"I keep bees on the roof ->-> 1,1"},
 {"role":"assistant","id":1,"content":"` + strings.Repeat("Bees need water. ", 100) + `"}]]}]`
	questions := `{"abstention":[{"question":"Why?"}],
 "knowledge_update":[{"question":"Where do I keep bees?","source_chat_ids":{"a":[0],"b":[[1]]},"ideal_answer":"On the roof."}],
 "temporal_reasoning":[{"question":"How many?","source_chat_ids":[0],"answer":12}]}`
	dir := write(t, t.TempDir(), map[string]string{
		"2/chat.json": chat, "2/probing_questions.json": questions,
		"10/chat.json": chat, "10/probing_questions.json": questions,
	})
	set, err := Load(t.Context(), "beam", []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Conversations) != 2 || set.Conversations[0].Name != "2" || set.Conversations[1].Name != "10" {
		t.Fatalf("%+v", set.Conversations)
	}
	for _, q := range set.Conversations[0].Questions {
		if q.Unanswerable != (q.Kind == "abstention") || q.Kind == "knowledge_update" && q.Answer != "On the roof." ||
			q.Kind == "temporal_reasoning" && q.Answer != "12" {
			t.Errorf("%+v", q)
		}
	}
	var details bytes.Buffer
	_, err = Run(t.Context(), set, Options{Budgets: []int{200}, Policies: []string{"keyword"}, Details: &details})
	if err != nil {
		t.Fatal(err)
	}
	var d Detail
	found := false
	for line := range strings.Lines(details.String()) {
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind != "knowledge_update" {
			continue
		}
		found = true
		if !cmp.Equal(d.Evidence, []string{"0", "1"}) || !cmp.Equal(d.Included, []string{"0"}) ||
			!cmp.Equal(d.IncludedPart, []string{"0", "1"}) {
			t.Errorf("a part is no whole: %+v", d)
		}
		if strings.Contains(d.Context, "->->") {
			t.Error("BEAM's marks are shown")
		}
	}
	if !found {
		t.Error("no detail")
	}
}

func genericSet(t *testing.T) string {
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines,
			`{"conversation":"c1","ref":"u%d","time":"2024-05-01T10:%02d:00Z","role":"user","text":"Remark number %d about nothing in particular."}`+"\n", i, i, i)
	}
	lines.WriteString(`{"conversation":"c1","ref":"key","time":"2024-05-02T10:00:00Z","text":"The spare key hangs behind the fuse box."}` + "\n")
	for i := range 20 {
		fmt.Fprintf(&lines,
			`{"conversation":"c1","ref":"v%d","time":"2024-05-03T10:%02d:00Z","role":"user","text":"More talk, number %d, on and on it goes."}`+"\n", i, i, i)
	}
	return write(t, t.TempDir(), map[string]string{
		"talk.jsonl":      lines.String(),
		"questions.jsonl": `{"conversation":"c1","id":"q1","kind":"fact","question":"Where does the spare key hang?","evidence":["key"]}` + "\n",
	})
}

// What is said to stand in a context does, within the budget, under every policy.
func TestDetailsAreTrue(t *testing.T) {
	set, err := Load(t.Context(), "generic", []string{genericSet(t)})
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, m := range set.Conversations[0].Messages {
		text[m.Ref] = m.Text
	}
	counter := token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
	var details bytes.Buffer
	var last int64
	report, err := Run(t.Context(), set, Options{
		Budgets: []int{64, 256}, Policies: Policies(), Model: flat{}, Details: &details,
		Progress: func(done, total int64) {
			if done < last || done > total {
				t.Errorf("progress %d after %d of %d", done, last, total)
			}
			last = done
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(details.String()) {
		n++
		var d Detail
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if got := counter.Text(d.Context).Tokens; got != d.Tokens || got > d.Budget {
			t.Errorf("%s: %d tokens, said %d, budget %d", d.Policy, got, d.Tokens, d.Budget)
		}
		for _, ref := range d.Included {
			if !strings.Contains(d.Context, text[ref]) {
				t.Errorf("%s: %s does not stand in the context", d.Policy, ref)
			}
		}
	}
	if n != 2*len(Policies()) {
		t.Errorf("%d details", n)
	}
	for _, row := range report.Rows {
		want := 100.0
		if row.Policy == "recent" {
			want = 0
		}
		if row.Policy != "dense" && row.Budget == 64 && row.Recall != want {
			t.Errorf("%+v", row)
		}
	}
}

// What is given twice is measured once, and a question without a kind counts once.
func TestNothingCountsTwice(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{
		"talk.jsonl":      `{"conversation":"c1","ref":"u1","role":"user","text":"The spare key hangs behind the fuse box."}`,
		"questions.jsonl": `{"question":"Where does the spare key hang?","evidence":["u1"],"answer":9000000}`,
	})
	set, err := Load(t.Context(), "generic", []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if q := set.Conversations[0].Questions[0]; q.Answer != "9000000" {
		t.Errorf("%+v", q)
	}
	report, err := Run(t.Context(), set, Options{Budgets: []int{512, 512}, Policies: []string{"keyword", "keyword"}})
	if err != nil || len(report.Rows) != 2 || len(report.Sessions) != 1 || len(report.Latency) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, kind := range []string{"all", "other"} {
		if row := report.Rows[i]; row.Kind != kind || row.Questions != 1 || row.Recall != 100 {
			t.Errorf("%+v", row)
		}
	}
}

func TestInputThatIsNoSet(t *testing.T) {
	dir := write(t, t.TempDir(), map[string]string{
		"a.json": "{", "empty/x.txt": "",
		"g/talk.jsonl":      `{"conversation":"c1","ref":"u1","text":"hello there everybody"}`,
		"g/questions.jsonl": `{"conversation":"other"}`,
		"h/talk.jsonl":      `{"conversation":"c1","ref":"u1","text":"hello there everybody"}`,
		"i/talk.jsonl":      `{"conversation":"c1","ref":"u1","text":"hello there everybody"}`,
		"i/questions.jsonl": `{"question":"Who?","evidence":["u1","u2"]}`,
		"k/talk.jsonl":      `{"conversation":"c1","ref":"u1","text":"hello there everybody"}`,
		"k/questions.jsonl": `{"question":"Who?","kind":"all","evidence":["u1"]}`,
	})
	for _, c := range []struct{ format, path string }{
		{"locomo", "a.json"}, {"locomo", "none.json"}, {"beam", "empty"}, {"beam", "a.json"}, {"generic", "g"},
		{"generic", "h"}, {"generic", "i"}, {"generic", "k"}, {"frob", "a.json"},
	} {
		if _, err := Load(t.Context(), c.format, []string{filepath.Join(dir, c.path)}); !errors.Is(err, ErrInput) &&
			!errors.Is(err, ErrOption) {
			t.Errorf("%s %s: %v", c.format, c.path, err)
		}
	}
	set, err := Load(t.Context(), "generic", []string{genericSet(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Budgets: []int{9}}, {Policies: []string{"recent"}}} {
		if _, err := Run(t.Context(), set, o); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Run(t.Context(), set, Options{Budgets: []int{9}, Policies: []string{"frob"}}); !errors.Is(err,
		ErrOption) {
		t.Errorf("policy: %v", err)
	}
	if _, err := Run(t.Context(), set, Options{Budgets: []int{9}, Policies: []string{"hybrid"}}); err == nil {
		t.Error("hybrid without a model")
	}
}

package misses

import (
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// The first reason that alone would have emptied the cache is the one.
func TestWhyAPromptWasNotRead(t *testing.T) {
	explicit := token.CacheRule{Mode: "explicit", Min: 1024}
	automatic := token.CacheRule{Mode: "automatic", Min: 1024, Step: 128}
	change := &Break{Where: Messages, At: 3}
	whole := Facts{Prompt: 10_000, Before: 9000, Kept: 9000, Shared: 9000, Written: 10_000, Lifetime: 5 * time.Minute,
		Longest: 5 * time.Minute, Pause: time.Minute, Cache: explicit}
	for _, c := range []struct {
		name   string
		facts  func(*Facts)
		want   Reason // empty: none
		tokens int
	}{
		{"all was read", func(f *Facts) { f.Read, f.Written = 9000, 1000 }, "", 0},
		{"more was read than the call before had", func(f *Facts) { f.Read, f.Written = 9900, 100 }, "", 0},
		{"a step less", func(f *Facts) { f.Cache, f.Kept, f.Written, f.Read = automatic, 0, 0, 8890 }, "", 0},
		{"nothing was read", func(f *Facts) {}, Provider, 9000},
		{"a pause", func(f *Facts) { f.Pause = time.Hour }, Pause, 9000},
		{"a pause that the cache survived", func(f *Facts) { f.Pause, f.Read = time.Hour, 9000 }, "", 0},
		{"a pause and another model", func(f *Facts) { f.Pause, f.Model = time.Hour, "m" }, Pause, 9000},
		{"a pause and a change",
			func(f *Facts) { f.Pause, f.Change, f.Shared, f.Again = time.Hour, change, 4000, 3000 }, Pause, 7000},
		{"a pause, and what is before a change was read",
			func(f *Facts) { f.Pause, f.Change, f.Shared, f.Again, f.Read = time.Hour, change, 4000, 3000, 4000 },
			Client, 3000},
		{"another model and a change", func(f *Facts) { f.Model, f.Change, f.Again = "m", change, 500 }, Model, 9500},
		{"a short prompt", func(f *Facts) { f.Prompt, f.Before, f.Kept, f.Shared, f.Written = 900, 800, 0, 800, 0 },
			Minimum, 800},
		{"a short prompt before a long one", func(f *Facts) { f.Before, f.Kept, f.Shared = 800, 0, 800 }, Minimum, 800},
		{"a short prompt of which something is read all the same", func(f *Facts) {
			f.Prompt, f.Before, f.Kept, f.Shared, f.Read, f.Written = 900, 800, 600, 800, 600, 0
		}, Client, 200},
		{"no mark", func(f *Facts) { f.Written = 0 }, Client, 9000},
		{"no mark before", func(f *Facts) { f.Kept = 0 }, Client, 9000},
		{"a mark only at the beginning", func(f *Facts) { f.Kept, f.Read, f.Written = 3000, 3000, 0 }, Client, 6000},
		{"a cut", func(f *Facts) { f.Change, f.Cut, f.Shared, f.Again = change, true, 2000, 4000 }, Cut, 6000},
		{"a pause that may be over", func(f *Facts) {
			f.Cache, f.Kept, f.Written, f.Pause, f.Longest = automatic, 0, 0, 20*time.Minute, time.Hour
		}, Pause, 9000},
		{"such a pause and a change", func(f *Facts) {
			f.Cache, f.Kept, f.Written, f.Pause, f.Longest = automatic, 0, 0, 20*time.Minute, time.Hour
			f.Change, f.Shared, f.Again = change, 4000, 1000
		}, Client, 5000},
		{"a diagnosis of the provider", func(f *Facts) { f.Said = "tools_changed" }, Client, 9000},
		{"one that says nothing", func(f *Facts) { f.Said = "unavailable" }, Provider, 9000},
		{"one beside a reason", func(f *Facts) { f.Said, f.Pause = "model_changed", time.Hour }, Pause, 9000},
		{"an unknown lifetime", func(f *Facts) { f.Pause, f.Lifetime, f.Longest = time.Hour, 0, 0 }, Provider, 9000},
	} {
		f := whole
		c.facts(&f)
		m := Why(&f)
		switch {
		case m == nil && c.want == "":
		case m == nil || m.Reason != c.want || m.Tokens != c.tokens:
			t.Errorf("%s: %+v, want %s of %d", c.name, m, c.want, c.tokens)
		}
	}
}

func TestCompareFindsWherePromptsPart(t *testing.T) {
	counter := token.NewCounter(token.Builtin().Lookup("claude-sonnet-4-5"), token.Options{})
	long := strings.Repeat("words that stay ", 50)
	body := func(system string, messages ...string) *Prompt {
		b, err := wire.Read([]byte(`{"model":"m","max_tokens":9,"system":`+system+`,"messages":[`+
			strings.Join(messages, ",")+`]}`), wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return NewPrompt(b, counter)
	}
	const system = `[{"type":"text","text":"Be brief."}]`
	first := `{"role":"user","content":"` + long + `"}`
	marked := `{"role":"user","content":[{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}]}`
	called := `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"x":1,"y":2}}]}`
	turned := `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"y":2,"x":1}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"é` + long + `"}]}`
	other := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ê` + long + `"}]}`

	before := body(system, first, called, result)
	if d := Compare(before, body(system, marked, called, result, first)); d.Change != nil || d.Rewritten != nil ||
		d.Shared != before.Tokens() {
		t.Errorf("marks make a difference: %+v", d)
	}
	if d := Compare(before, body(system, first)); d.Change != nil {
		t.Errorf("a beginning is a change: %+v", d)
	}
	d := Compare(before, body(system, first, turned, result))
	if d.Change != nil || d.Rewritten == nil || d.Rewritten.At != 2 || d.RewrittenAt >= d.Shared ||
		!strings.Contains(d.Rewritten.New, `"y":2,"x":1`) {
		t.Errorf("other arguments: %+v, %+v", d, d.Rewritten)
	}
	d = Compare(before, body(system, first, called, other))
	if c := d.Change; c == nil || c.Where != Messages || c.At != 3 || c.Name != "user" ||
		!strings.Contains(c.Old, `"content":"éwords`) || !strings.Contains(c.New, `"content":"êwords`) {
		t.Errorf("%+v", c)
	} else if at := strings.Index(other, "ê") + 2; c.Byte != at {
		t.Errorf("byte %d, want %d", c.Byte, at)
	}
	if d.Again < 100 || d.Shared+d.Again > before.Tokens() {
		t.Errorf("%d shared, %d again of %d", d.Shared, d.Again, before.Tokens())
	}
	// A message that left: what follows it was there before.
	d = Compare(before, body(system, called, result))
	if d.Change == nil || d.Change.At != 1 || d.Again < counter.Text(long).Tokens || d.Shared > 20 {
		t.Errorf("%+v, %+v", d, d.Change)
	}
	d = Compare(before, body(`[{"type":"text","text":"Be kind."}]`, first, called, result))
	if d.Change == nil || d.Change.Where != System || d.Change.At != 1 || d.Change.Name != "" ||
		!strings.Contains(d.Change.Old, "brief") || !strings.Contains(d.Change.New, "kind") ||
		d.Again < before.Tokens()*9/10 {
		t.Errorf("%+v, %+v", d, d.Change)
	}
}

package view

import (
	"math"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	core "github.com/oriel-context/oriel/internal/report/replay"
)

func made(at time.Duration, messages ...string) *prompt {
	p := &prompt{Model: "m", At: time.Unix(0, 0).Add(at), Parts: []core.Part{{Tokens: 2000}}}
	for _, m := range messages {
		p.Parts = append(p.Parts, core.Part{Sum: chat.Sum([]byte(m)), Tokens: 1000})
	}
	return p
}

func TestPriceIsThatOfTheCache(t *testing.T) {
	first := made(0, "a", "b")
	small := made(time.Minute, "a")
	small.Parts[0].Tokens, small.Parts[1].Tokens = 100, 100
	for _, c := range []struct {
		name       string
		last, call *prompt
		want       float64
	}{
		{"the first call writes all", nil, first, 4000 * 1.25},
		{"what is new is written", first, made(time.Minute, "a", "b", "c"), 4000*.1 + 1000*1.25},
		{"a change is written, and all behind it", first, made(time.Minute, "a", "x", "c"), 3000*.1 + 2000*1.25},
		{"system prompt and tools outlive a new history", first, made(time.Minute, "x"), 2000*.1 + 1000*1.25},
		{"a pause loses all", first, made(6*time.Minute, "a", "b", "c"), 5000 * 1.25},
		{"what is too short is not cached", first, small, 200},
	} {
		var b bill
		b.add(c.call, c.last, 0)
		if math.Abs(b.cost-c.want) > 1e-6 {
			t.Errorf("%s: cost %v, want %v", c.name, b.cost, c.want)
		}
	}
}

func TestAChangeFarBackFindsOnlySystemPromptAndTools(t *testing.T) {
	var b bill
	b.add(made(time.Minute, "a", "x", "c"), made(0, "a", "b"), 0)
	if want := 2000*.1 + 3000*1.25; math.Abs(b.shallow-want) > 1e-6 {
		t.Errorf("cost %v, want %v", b.shallow, want)
	}
	if want := 2000 * 1.15; math.Abs(b.rewritten-want) > 1e-6 {
		t.Errorf("rewritten %v, want %v", b.rewritten, want)
	}
}

package recall

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"
	"time"
)

// bags is a model whose vectors are sums of the words' own: texts are alike as far as
// they share words, or words that it is told to mean the same.
type bags struct {
	same map[string]string
	slow time.Duration
}

func (b *bags) Name() string { return "bags" }

func (b *bags) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case <-time.After(b.slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 1000) // not a multiple of 32
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(w) < 4 {
				continue
			}
			if s := b.same[w]; s != "" {
				w = s
			}
			h := fnv.New64a()
			h.Write([]byte(w))
			for k, x := 0, h.Sum64(); k < 4; k, x = k+1, x>>8 {
				v[x%1000]++
			}
		}
		v[0] += .01
		var sum float64
		for _, x := range v {
			sum += float64(x * x)
		}
		for k := range v {
			v[k] /= float32(math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, nil
}

var monday = time.Date(2024, time.May, 6, 9, 0, 0, 0, time.UTC)

// talk makes messages of lines such as "Ann: hello there"; an empty line begins a new
// session, a week later.
func talk(lines string) []Message {
	var out []Message
	when := monday
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.TrimSpace(line)
		if line == "" {
			when = when.AddDate(0, 0, 7)
			continue
		}
		who, text, _ := strings.Cut(line, ": ")
		m := Message{Conversation: "c", Block: fmt.Sprint(len(out) + 1), Time: when, Text: text, Role: who}
		m.Ref = "r" + m.Block
		if who != "user" && who != "assistant" {
			m.Role, m.Name = "user", who
		}
		out = append(out, m)
		when = when.Add(time.Minute)
	}
	return out
}

func scopeOf(t testing.TB, o Options, messages []Message) *Scope {
	t.Helper()
	s := NewScope(o)
	if err := s.Add(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
	if o.Model != nil {
		if err := s.Embed(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func find(t testing.TB, s *Scope, query string, o RecallOptions) *Result {
	t.Helper()
	r, err := s.Recall(t.Context(), query, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// blocks are the blocks of a result, in its order.
func blocks(r *Result) string {
	var out []string
	for _, p := range r.Passages {
		out = append(out, p.Block)
	}
	return strings.Join(out, " ")
}

// best is the block of the passage with the highest score.
func best(r *Result) string {
	top, block := -1.0, ""
	for _, p := range r.Passages {
		if p.Score > top {
			top, block = p.Score, p.Block
		}
	}
	return block
}

const holiday = `
Ann: We went to the mountains in Norway with the dogs.
Ben: Lovely! Did the weather hold out for you?
Ann: Mostly, it rained on the last two days only.
Ben: My sister is moving to Lisbon for her new job.

Ann: I started learning the cello with a teacher from the conservatory.
Ben: How brave. Which piece are you practising?
Ann: A minuet, very slowly and rather out of tune.
Ben: I am painting the kitchen yellow this weekend.
`

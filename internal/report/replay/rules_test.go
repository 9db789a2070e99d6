package replay

import (
	"testing"
	"time"

	"github.com/oriel-context/oriel/token"
)

func made(at time.Duration, sums ...uint64) *Prompt {
	p := &Prompt{Model: "m", At: time.Unix(0, 0).Add(at), Parts: []Part{{Sum: 1, Tokens: 2000}}}
	for _, s := range sums {
		p.Parts = append(p.Parts, Part{s, 1000})
	}
	return p
}

func TestPromptsShareTheirBeginning(t *testing.T) {
	first := made(0, 5, 6)
	for _, c := range []struct {
		name   string
		next   *Prompt
		shared int
		whole  bool
	}{
		{"more", made(0, 5, 6, 7), 4000, true},
		{"the same", made(0, 5, 6), 4000, true},
		{"less", made(0, 5), 3000, false},
		{"a change", made(0, 5, 7, 6), 3000, false},
		{"another history", made(0, 7), 2000, false},
	} {
		if shared, whole := c.next.Shared(first); shared != c.shared || whole != c.whole {
			t.Errorf("%s: %d %v, want %d %v", c.name, shared, whole, c.shared, c.whole)
		}
	}
	if shared, whole := first.Shared(nil); shared != 0 || whole {
		t.Errorf("a first prompt shares %d, %v", shared, whole)
	}
}

func TestEveryVendorBillsByItsRules(t *testing.T) {
	models := token.Builtin()
	for _, c := range []struct {
		name, model    string
		hour           bool
		prompt, read   int
		uncached       int
		want           token.Usage
		dollarsPerMega float64
	}{
		{"Anthropic writes what is new", "claude-opus-4-5", false, 10_000, 8000, 0,
			token.Usage{CacheRead: 8000, CacheWrite: 2000}, 8000*.5 + 2000*6.25},
		{"for an hour", "claude-opus-4-5", true, 10_000, 8000, 0, token.Usage{CacheRead: 8000, CacheWrite1h: 2000},
			8000*.5 + 2000*10},
		{"behind the last mark nothing is written", "claude-opus-4-5", false, 10_000, 8000, 500,
			token.Usage{CacheRead: 8000, CacheWrite: 1500, Input: 500}, 8000*.5 + 1500*6.25 + 500*5},
		{"what is too short is not cached", "claude-opus-4-5", false, 4000, 3000, 0, token.Usage{Input: 4000}, 4000 * 5},
		{"nor is a prefix that is too short read", "claude-opus-4-5", false, 10_000, 3000, 0,
			token.Usage{CacheWrite: 10_000}, 10_000 * 6.25},
		{"OpenAI reads in steps and charges no writes", "gpt-5.2", false, 10_000, 8000, 0,
			token.Usage{CacheRead: 7936, Input: 2064}, 7936*.175 + 2064*1.75},
		{"a model without a price", "nobody-1", false, 10_000, 8000, 0,
			token.Usage{CacheRead: 8000, CacheWrite: 2000}, 8000*.1 + 2000*1.25},
	} {
		r := RulesOf(models.Lookup(c.model), c.hour)
		got := r.Bill(c.prompt, c.read, c.uncached)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if cost := r.Prices.Cost(got) * 1e6; cost < c.dollarsPerMega-1e-6 || cost > c.dollarsPerMega+1e-6 {
			t.Errorf("%s: %f, want %f", c.name, cost, c.dollarsPerMega)
		}
	}
}

// Where the recording has what the provider read, that counts, and not the clock.
func TestWhatAProviderReadCounts(t *testing.T) {
	for _, c := range []struct {
		name          string
		f             found
		shared, plain int
		want          int
	}{
		{"alive by the clock", found{alive: true}, 5000, 5000, 5000},
		{"gone by the clock", found{}, 5000, 5000, 0},
		{"read after all", found{reported: true, read: 9000, shared: 9000}, 5000, 5000, 5000},
		{"lost within its lifetime", found{alive: true, reported: true, read: 2000, shared: 9000}, 5000, 5000, 2000},
		{"lost behind what the policy shares", found{alive: true, reported: true, read: 7000, shared: 9000}, 5000, 5000,
			5000},
		{"cached by calls of others", found{reported: true, read: 3000}, 0, 20_000, 3000},
		{"no more than the policy sends of it", found{reported: true, read: 3000}, 0, 1000, 1000},
	} {
		if got := c.f.reads(c.shared, c.plain); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

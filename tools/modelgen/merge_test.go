package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/prices"
	"github.com/oriel-context/oriel/token"
)

func figures(id, provider string, window int, rates ...float64) token.Figures {
	f := token.Figures{ID: id, Provider: provider, Window: window}
	if len(rates) > 0 {
		f.Prices.Rates = token.Rates{Input: rates[0], Output: rates[1], CacheRead: rates[2]}
	}
	return f
}

func lists(models ...token.Figures) piLists {
	out := piLists{name: "pi-ai 1", vendor: map[string]token.Figures{}, hosted: map[string]token.Figures{}}
	for _, f := range models {
		if f.Second = true; strings.Contains(f.ID, "/") {
			out.hosted[f.ID] = f
		} else {
			out.vendor[f.ID] = f
		}
	}
	return out
}

func TestDifferencesAreListedUntilTheyAreDecided(t *testing.T) {
	first := token.Snapshot{Source: "LiteLLM 1", Date: "2026-11-12", Models: []token.Figures{
		figures("glm-9", "zai", 1000, 1, 2, 0.1), figures("grok-9", "xai", 1000, 1, 2, 0.1)}}
	second := lists(figures("glm-9", "zai", 900, 1, 3, 0.1), figures("grok-9", "xai", 1000, 1, 2, 1))
	output := 7
	hand := map[string]handEntry{"grok-9": {ID: "grok-9", MaxOutput: &output}}
	s, open := merge(first, second, hand, nil)
	var listed []string
	for _, d := range open {
		listed = append(listed, d.ID+" "+d.Field)
	}
	want := "grok-9 cache_read, glm-9 window, glm-9 output, grok-9 max_output, grok-9 max_output"
	if got := strings.Join(listed, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	decided := []*difference{{ID: "glm-9", Field: "window", Use: "pi"}, {ID: "glm-9", Field: "output", Use: "litellm"},
		{ID: "grok-9", Field: "cache_read", Use: "pi"}, {ID: "grok-9", Field: "max_output", Use: "hand"}}
	if s, open = merge(first, second, hand, decided); len(open) > 0 {
		t.Errorf("still open: %+v", open[0])
	}
	for _, d := range decided {
		if !d.used {
			t.Errorf("%s %s is not used", d.ID, d.Field)
		}
	}
	if len(s.Models) != 2 || s.Models[1].Window != 900 || s.Models[1].Prices.Output != 2 ||
		s.Models[0].Prices.CacheRead != 1 {
		t.Errorf("%+v", s.Models)
	}
}

func TestOpenWeightsHaveAWindowAndNoPrice(t *testing.T) {
	second := lists(figures("qwen/qwen9-4b:free", "", 4000), figures("qwen/qwen9-4b", "", 3000),
		figures("openrouter/auto", "", 5), figures("deepseek/deepseek-v9-0901", "", 5),
		figures("meta-llama/llama-9-8b", "", 5),
		figures("google/gemini-9", "", 5))
	first := token.Snapshot{Models: []token.Figures{figures("deepseek-v9", "deepseek", 9)}}
	hand := map[string]handEntry{"llama-9": {ID: "llama-9", Family: true}}
	s, open := merge(first, second, hand, nil)
	if len(open) > 0 || len(s.Models) != 2 || s.Models[1].ID != "qwen9-4b" || s.Models[1].Provider != "alibaba" ||
		s.Models[1].Window != 3000 || s.Models[1].Prices.Known() {
		t.Errorf("%+v, %v", s.Models, open)
	}
}

// The two parts that people keep must fit each other: each decision has a reason, and an entry
// of the table that states a figure is as the snapshot has it, or was decided for.
func TestTheDecisionsFitTheTable(t *testing.T) {
	decided, err := readResolved("resolved.json")
	if err != nil {
		t.Fatal(err)
	}
	hand, err := readHand("../../token/models.json")
	if err != nil {
		t.Fatal(err)
	}
	s := token.BuiltinSnapshot()
	for _, f := range s.Models {
		h, ok := hand[f.ID]
		if !ok {
			continue
		}
		for _, c := range compareHand(f, h) {
			found := false
			for _, d := range decided {
				found = found || d.ID == c.ID && d.Field == c.Field && d.Use == "hand"
			}
			if !found {
				t.Errorf("%s %s: %s, and nobody decided that", c.ID, c.Field, c.what)
			}
		}
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join("..", "..", "token", "snapshot.json"))
	if err != nil || !bytes.Equal(data, file) {
		t.Errorf("token/snapshot.json is not as modelgen writes it: %v", err)
	}
	if prices.Provider("claude-x") != "anthropic" || prices.Provider("x") != "" {
		t.Error("Provider")
	}
}

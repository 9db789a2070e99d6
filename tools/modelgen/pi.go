package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/internal/prices"
	"github.com/oriel-context/oriel/token"
)

// piModel is a model in one of pi-ai's lists.
type piModel struct {
	Type          string `json:"type"`
	ID            string `json:"id"`
	ContextWindow int    `json:"contextWindow"`
	MaxTokens     int    `json:"maxTokens"`
	Cost          struct {
		Input, Output, CacheRead, CacheWrite float64
		Tiers                                []struct {
			InputTokensAbove                     int
			Input, Output, CacheRead, CacheWrite float64
		}
	} `json:"cost"`
}

// vendorLists are pi-ai's lists of vendors' own services, and hosts those of hosts, of which
// only windows are taken.
var (
	vendorLists = []string{"anthropic", "openai", "google", "xai", "moonshotai", "zai", "deepseek", "minimax",
		"mistral", "meta", "xiaomi"}
	hosts = []string{"openrouter", "amazon-bedrock", "cerebras", "github-copilot", "kimi-coding", "opencode",
		"opencode-go"}
)

// piLists are the models of pi-ai's lists: by name of vendors' own, and of hosts.
type piLists struct {
	name   string
	vendor map[string]token.Figures
	hosted map[string]token.Figures
}

func readPi(file string) (piLists, error) {
	out := piLists{name: "pi-ai", vendor: map[string]token.Figures{}, hosted: map[string]token.Figures{}}
	lists, err := unpack(file)
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	var about struct{ Version string }
	if err := json.Unmarshal(lists["package.json"], &about); err != nil {
		return out, fmt.Errorf("%s: package.json: %w", file, err)
	}
	out.name += " " + about.Version
	read := func(list string, add func(token.Figures)) error {
		var byAPI map[string]map[string]piModel
		if err := json.Unmarshal(lists[list+".json"], &byAPI); err != nil {
			return fmt.Errorf("%s: %s: %w", file, list, err)
		}
		for _, models := range byAPI {
			for _, m := range models {
				if m.Type == "chat" && m.ContextWindow > 0 {
					add(m.figures())
				}
			}
		}
		return nil
	}
	for _, list := range vendorLists {
		err = errors.Join(err, read(list, func(f token.Figures) {
			if f.Provider = prices.Provider(f.ID); f.Provider != "" && (list != "mistral" || f.Provider == "mistral") {
				out.vendor[f.ID] = f
			}
		}))
	}
	for _, list := range hosts {
		err = errors.Join(err, read(list, func(f token.Figures) {
			f.Prices = token.Prices{}
			if list != "openrouter" {
				f.ID = "/" + bedrock.ReplaceAllString(f.ID, "$3")
			}
			if old, ok := out.hosted[f.ID]; !ok || f.Window < old.Window {
				out.hosted[f.ID] = f
			}
		}))
	}
	return out, err
}

// bedrock matches the names of Amazon Bedrock: a region, the vendor, the model, a version.
var bedrock = regexp.MustCompile(`^((?:us-gov|[a-z]{2}|apac|global)\.)?([a-z0-9]+\.)?([a-z][^:]*?)(-v\d+)?(:\d+)?$`)

func (m piModel) figures() token.Figures {
	name := strings.ToLower(m.ID)
	f := token.Figures{ID: name, Window: m.ContextWindow, MaxOutput: min(m.MaxTokens, m.ContextWindow), Second: true}
	c := m.Cost
	f.Prices.Rates = token.Rates{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite}
	for _, t := range c.Tiers {
		f.Prices.Tiers = append(f.Prices.Tiers, token.Tier{Over: t.InputTokensAbove,
			Rates: token.Rates{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite}})
	}
	if prices.Provider(name) == "anthropic" {
		// pi-ai has no price for an hour; Anthropic's is twice that of input, for all models.
		f.Prices.CacheWrite1h = 2 * c.Input
		for i := range f.Prices.Tiers {
			f.Prices.Tiers[i].CacheWrite1h = 2 * f.Prices.Tiers[i].Input
		}
	}
	if !f.Prices.Known() {
		f.Prices = token.Prices{}
	}
	return f
}

// unpack returns package.json and the lists of the archive, by file name.
func unpack(file string) (map[string][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Name != "package/package.json" && path.Dir(h.Name) != "package/dist/providers/data" {
			continue
		}
		if out[path.Base(h.Name)], err = io.ReadAll(io.LimitReader(t, 16<<20)); err != nil {
			return nil, err
		}
	}
}

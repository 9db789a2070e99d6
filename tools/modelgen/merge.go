package main

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/prices"
	"github.com/oriel-context/oriel/token"
)

// merge returns the snapshot, and the differences that nobody decided.
func merge(first token.Snapshot, second piLists, hand map[string]handEntry, decided []*difference,
) (token.Snapshot, []*difference) {
	s := token.Snapshot{Source: first.Source, Date: first.Date, Also: second.name}
	var open []*difference
	// settle returns the side that counts, the first one if nobody decided.
	settle := func(d difference) string {
		for _, known := range decided {
			if known.ID == d.ID && known.Field == d.Field {
				known.used = true
				return known.Use
			}
		}
		open = append(open, &d)
		return "litellm"
	}
	models := map[string]token.Figures{}
	for _, f := range first.Models {
		models[f.ID] = f
	}
	for _, f := range prices.Names(slices.Collect(maps.Values(second.vendor))) {
		a, ok := models[f.ID]
		if !ok {
			models[f.ID] = f
			continue
		}
		for _, c := range comparePi(a, f) {
			if settle(c) == "pi" {
				take(&a, f, c.Field)
			}
		}
		models[f.ID] = a
	}
	for _, id := range slices.Sorted(maps.Keys(models)) {
		f := models[id]
		h, ok := hand[id]
		if !ok {
			continue
		}
		for _, c := range compareHand(f, h) {
			if side := settle(c); side != "hand" {
				c.what = fmt.Sprintf("%s is decided, but token/models.json states the figure: remove it there", side)
				open = append(open, &c)
			}
		}
	}
	s.Models = prices.Names(slices.Collect(maps.Values(models)))
	s.Models = append(s.Models, openWeights(s.Models, hand, second.hosted)...)
	return s, open
}

// comparePi lists the figures of two files that differ. A window of OpenAI's that pi-ai ends
// where the higher prices begin is not a difference.
func comparePi(a, b token.Figures) (out []difference) {
	add := func(field string, x, y any) {
		out = append(out, difference{ID: a.ID, Field: field, what: fmt.Sprintf("litellm has %v, pi %v", x, y)})
	}
	if a.Window != b.Window && !(a.Provider == "openai" && b.Window == 272_000) {
		add("window", a.Window, b.Window)
	}
	if !a.Prices.Known() || !b.Prices.Known() {
		return out
	}
	x, y := a.Prices, b.Prices
	for _, r := range []struct {
		field string
		x, y  float64
	}{{"input", x.Input, y.Input}, {"output", x.Output, y.Output}, {"cache_read", x.CacheRead, y.CacheRead},
		{"cache_write", x.CacheWrite, y.CacheWrite}} {
		if r.x != r.y && !(r.x*r.y == 0 && max(r.x, r.y) == x.Input) {
			add(r.field, r.x, r.y)
		}
	}
	overs := func(p token.Prices) (list []int) {
		for _, t := range p.Tiers {
			list = append(list, t.Over)
		}
		return list
	}
	if !slices.Equal(overs(x), overs(y)) {
		add("tiers", overs(x), overs(y))
	}
	return out
}

// take copies a field of b to a.
func take(a *token.Figures, b token.Figures, field string) {
	switch field {
	case "window":
		a.Window, a.MaxInput = b.Window, b.MaxInput
	case "input":
		a.Prices.Input = b.Prices.Input
	case "output":
		a.Prices.Output = b.Prices.Output
	case "cache_read":
		a.Prices.CacheRead = b.Prices.CacheRead
	case "cache_write":
		a.Prices.CacheWrite = b.Prices.CacheWrite
	case "tiers":
		a.Prices.Tiers = b.Prices.Tiers
	}
}

// compareHand lists the figures that an entry kept by hand states and the snapshot has
// otherwise.
func compareHand(f token.Figures, h handEntry) (out []difference) {
	add := func(field string, x, y any) {
		out = append(out, difference{ID: f.ID, Field: field, what: fmt.Sprintf("the snapshot has %v, models.json %v", x,
			y)})
	}
	if h.Window != nil && *h.Window != f.Window {
		add("window", f.Window, *h.Window)
	}
	if h.MaxInput != nil && *h.MaxInput != f.MaxInput {
		add("max_input", f.MaxInput, *h.MaxInput)
	}
	if h.MaxOutput != nil && *h.MaxOutput != f.MaxOutput {
		add("max_output", f.MaxOutput, *h.MaxOutput)
	}
	if h.Prices != nil && f.Prices.Known() && h.Prices.Known() && !reflect.DeepEqual(*h.Prices, f.Prices) {
		add("prices", f.Prices, *h.Prices)
	}
	return out
}

// openVendors are those, as OpenRouter spells them, whose models many hosts serve. Lists of
// other hosts have no vendor.
var openVendors = []string{"bytedance-seed", "deepseek", "google", "ibm-granite", "inclusionai", "liquid", "meituan",
	"meta-llama", "minimax", "mistralai", "moonshotai", "nvidia", "qwen", "rekaai", "stepfun", "tencent",
	"thinkingmachines", "upstage", "xiaomi", "z-ai"}

// openWeights returns the models that hosts serve and the vendors' lists do not have,
// without a price, because hosts differ in it.
func openWeights(known []token.Figures, hand map[string]handEntry, hosted map[string]token.Figures,
) (out []token.Figures) {
	have := map[string]bool{}
	for _, f := range known {
		have[plain(f.ID)] = true
	}
	var families []string
	for id, h := range hand {
		for _, name := range append(h.Aliases, id) {
			have[plain(name)] = true
			if h.Family {
				families = append(families, name+"-")
			}
		}
	}
	byID := map[string]token.Figures{}
	for _, path := range slices.Sorted(maps.Keys(hosted)) {
		f := hosted[path]
		vendor, name, ok := strings.Cut(path, "/")
		name, _, _ = strings.Cut(name, ":")
		if !ok || vendor != "" && !slices.Contains(openVendors, vendor) || strings.HasPrefix(name, "gemini") ||
			prices.NotText(name) ||
			have[plain(name)] || have[plain(name)+"-v1"] || number.MatchString(name) ||
			have[plain(dated.ReplaceAllString(name, ""))] ||
			slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(name, family) }) {
			continue
		}
		f.ID, f.Provider = name, prices.Provider(name)
		if old, ok := byID[name]; !ok || f.Window < old.Window {
			byID[name] = f
		}
	}
	for _, f := range prices.Names(slices.Collect(maps.Values(byID))) {
		if !have[plain(f.ID)] {
			out = append(out, f)
		}
	}
	return out
}

// dated matches the date behind the name of a model.
var dated = regexp.MustCompile(`-(\d{4}|\d{8}|\d{2}-\d{2})$`)

// number matches a name that says nothing without the vendor's (deepseek.v3.2).
var number = regexp.MustCompile(`^v\d`)

// plain returns a name as the table compares it.
func plain(name string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(name) }

package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/token"
)

// litellmEntry is an entry of LiteLLM's file as far as it matters here; rates of tiers are
// found by their names.
type litellmEntry struct {
	Provider string  `json:"litellm_provider"`
	Mode     string  `json:"mode"`
	Input    number  `json:"max_input_tokens"`
	Output   number  `json:"max_output_tokens"`
	CacheMin number  `json:"prompt_cache_min_tokens"`
	Tiers    []tiers `json:"tiered_pricing"`
	// What the input costs in a service tier.
	Flex      number `json:"input_cost_per_token_flex"`
	Priority  number `json:"input_cost_per_token_priority"`
	Ultrafast number `json:"input_cost_per_token_ultrafast"`
	// Special has factors on the standard price, such as that of fast replies.
	Special json.RawMessage `json:"provider_specific_entry"`
}

type tiers struct {
	Range []number `json:"range"`
	rates
}

type rates struct {
	Input        number `json:"input_cost_per_token"`
	Output       number `json:"output_cost_per_token"`
	CacheRead    number `json:"cache_read_input_token_cost"`
	CacheWrite   number `json:"cache_creation_input_token_cost"`
	CacheWrite1h number `json:"cache_creation_input_token_cost_above_1hr"`
	// CacheWrite12h is that of OpenAI's longer lifetime. A model has one of the two.
	CacheWrite12h number `json:"cache_creation_input_token_cost_above_12hr"`
}

// A number is what LiteLLM's file has where a number belongs; a text there counts as none.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			*n = 0
			return nil
		}
		return err
	}
	*n = number(f)
	return nil
}

// dollars returns a rate for a million tokens, rounded to what vendors state.
func (n number) dollars() float64 { return math.Round(float64(n)*1e15) / 1e9 }

func (n number) tokens() int {
	if n < 0 || n > 1<<40 {
		return -1 // refused by the caller
	}
	return int(n)
}

func (r rates) dollars() token.Rates {
	return token.Rates{Input: r.Input.dollars(), Output: r.Output.dollars(), CacheRead: r.CacheRead.dollars(),
		CacheWrite: r.CacheWrite.dollars(), CacheWrite1h: max(r.CacheWrite1h, r.CacheWrite12h).dollars()}
}

// above matches the names of rates for prompts of more than so many tokens.
var above = regexp.MustCompile(`^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|` +
	`cache_creation_input_token_cost|cache_creation_input_token_cost_above_12?hr)_above_(\d+)k_tokens$`)

// dated matches what follows a model's name in a name with a date.
var dated = regexp.MustCompile(`^-(\d{8}|\d{6}|\d{4}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|v\d)$`)

// newest matches the end of a name that stands for the newest model of a line.
var newest = regexp.MustCompile(`-(latest|preview)$`)

// maxModels bounds the models of a file, maxName the bytes of a model's name: every beginning of
// one is looked up.
const (
	maxModels = 50_000
	maxName   = 256
)

// readLiteLLM returns what LiteLLM's file says of vendors' own models, ordered by name.
func readLiteLLM(data []byte) ([]token.Figures, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not an object of models: %w", err)
	}
	if len(file) > maxModels {
		return nil, fmt.Errorf("%d models: is it the right file?", len(file))
	}
	found := map[string]token.Figures{}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if len(key) > maxName {
			return nil, fmt.Errorf("%.40q...: a name of more than %d bytes", key, maxName)
		}
		var e litellmEntry
		if json.Unmarshal(file[key], &e) != nil ||
			!slices.Contains([]string{"chat", "responses", "completion"}, e.Mode) {
			continue // an entry of another kind, such as the sample at the head of the file
		}
		v, name := vendorOf(e.Provider, key)
		if v == nil || strings.ContainsAny(name, "@:") {
			continue
		}
		f := token.Figures{ID: name, Provider: v.provider, CacheMin: e.CacheMin.tokens(), MaxOutput: e.Output.tokens()}
		f.Window, f.MaxInput = window(v.provider, e.Input.tokens(), f.MaxOutput)
		var err error
		if f.Prices, err = pricesOf(e, file[key]); err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		if f.Window < 0 || f.MaxInput < 0 || f.MaxOutput < 0 || f.CacheMin < 0 {
			return nil, fmt.Errorf("%q: a number of tokens is negative or too large", key)
		}
		if f.Window == 0 {
			continue
		}
		// The same model under the vendor's prefix and without it.
		if other, ok := found[name]; !ok || !other.Prices.Known() {
			found[name] = f
		}
	}
	return Names(slices.Collect(maps.Values(found))), nil
}

// Names gives models the names under which the table finds them, ordered: without "latest"
// and "preview", and without dates where a model of the same figures has none.
func Names(models []token.Figures) []token.Figures {
	byID := map[string]token.Figures{}
	slices.SortFunc(models, func(a, b token.Figures) int { return strings.Compare(a.ID, b.ID) })
	for _, f := range models {
		byID[f.ID] = f
	}
	for _, f := range models {
		short := newest.ReplaceAllString(f.ID, "")
		if short == f.ID || short == "chat" {
			continue
		}
		latest := strings.HasSuffix(f.ID, "latest")
		delete(byID, f.ID)
		if _, ok := byID[short]; !ok || latest {
			f.ID = short
			byID[short] = f
		}
	}
	for id := range byID {
		if dashed := strings.ReplaceAll(id, ".", "-"); dashed != id {
			delete(byID, dashed) // the same name in another spelling
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		for end := len(id) - 1; end > 0; end-- {
			base, ok := byID[id[:end]]
			if !ok || !dated.MatchString(id[end:]) {
				continue
			}
			base.ID = id
			if reflect.DeepEqual(base, byID[id]) {
				delete(byID, id)
			}
			break
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b token.Figures) int {
		if a.Provider != b.Provider {
			return strings.Compare(a.Provider, b.Provider)
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// window returns the window and the largest input. The file has one number for both, which
// means different things: OpenAI's models have windows of input and output together, of
// which the file has either the whole or the part for the input; Alibaba's keep a few
// tokens of a round window for themselves.
func window(provider string, input, output int) (window, maxInput int) {
	switch provider {
	case "openai":
		for _, whole := range []int{400_000, 1_050_000} {
			if input == whole || input == whole-128_000 {
				return whole, whole - 128_000
			}
		}
	case "alibaba":
		for _, whole := range []int{131_072, 262_144, 1_000_000} {
			if input < whole && input > whole-whole/50 {
				return whole, input
			}
		}
	case "google":
		return input, input
	}
	return input, 0
}

func pricesOf(e litellmEntry, raw json.RawMessage) (token.Prices, error) {
	var base rates
	if err := json.Unmarshal(raw, &base); err != nil {
		return token.Prices{}, err
	}
	p := token.Prices{Rates: base.dollars()}
	for i, t := range e.Tiers {
		switch {
		case len(t.Range) == 0:
			return token.Prices{}, errors.New("tiered_pricing: a range is missing")
		case i == 0:
			p.Rates = t.dollars()
		default:
			p.Tiers = append(p.Tiers, token.Tier{Over: t.Range[0].tokens(), Rates: t.dollars()})
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return token.Prices{}, err
	}
	byOver := map[int]token.Rates{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := above.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		thousands, err := strconv.Atoi(m[2])
		var n number
		if err == nil {
			err = json.Unmarshal(all[name], &n)
		}
		if err != nil || thousands > 1<<20 {
			return token.Prices{}, fmt.Errorf("%s: is no price", name)
		}
		r, ok := byOver[thousands*1000]
		if !ok {
			r = p.Rates // what a tier does not have stays
		}
		switch m[1] {
		case "input_cost_per_token":
			r.Input = n.dollars()
		case "output_cost_per_token":
			r.Output = n.dollars()
		case "cache_read_input_token_cost":
			r.CacheRead = n.dollars()
		case "cache_creation_input_token_cost":
			r.CacheWrite = n.dollars()
		default:
			r.CacheWrite1h = n.dollars()
		}
		byOver[thousands*1000] = r
	}
	for _, over := range slices.Sorted(maps.Keys(byOver)) {
		p.Tiers = append(p.Tiers, token.Tier{Over: over, Rates: byOver[over]})
	}
	if !p.Known() {
		return token.Prices{}, nil
	}
	p.Service = e.services(base)
	return p, nil
}

// services returns the factors of service tiers on the price of the input, to which the others
// are in proportion but for a few cache prices of Google's older models.
func (e *litellmEntry) services(base rates) map[string]float64 {
	out := map[string]float64{}
	set := func(tier string, factor float64) {
		if factor = math.Round(factor*1000) / 1000; factor > 0 && factor < 100 && factor != 1 {
			out[tier] = factor
		}
	}
	if base.Input > 0 {
		for tier, price := range map[string]number{"flex": e.Flex, "priority": e.Priority, "ultrafast": e.Ultrafast} {
			set(tier, float64(price/base.Input))
		}
	}
	if factor, ok := out["priority"]; ok && e.Provider == "openai" {
		out["fast"] = factor // another name of it
	}
	var special struct {
		Fast number `json:"fast"`
	}
	if json.Unmarshal(e.Special, &special) == nil {
		set("fast", float64(special.Fast))
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

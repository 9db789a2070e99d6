package figures

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// metrics compares the counters of the running server with the calls that it had.
func (c *check) metrics(base string) error {
	var text string
	if err := get(base, "metrics", &text); err != nil {
		return err
	}
	calls := c.model.calls[c.model.first:]
	by, err := c.own(func(k *call) string { return k.model }, calls)
	if err != nil {
		return err
	}
	sum := func(name, label string) (n float64) {
		for _, m := range regexp.MustCompile(`(?m)^`+name+`\{([^}]*)\} (\S+)$`).FindAllStringSubmatch(text, -1) {
			if f, err := strconv.ParseFloat(m[2], 64); err == nil && strings.Contains(m[1], label) {
				n += f
			}
		}
		return n
	}
	silent := 0.0 // what no provider has reported
	prompts := kit.Used{}
	for i := range calls {
		switch k := &calls[i]; {
		case k.unreported:
			p, err := c.prices.Of(c.oriel, k.model)
			if err != nil {
				return err
			}
			u := k.used
			u.Output = 0
			silent += p.Cost(u)
		case !k.failed:
			prompts.Fresh, prompts.Read, prompts.Output = prompts.Fresh+k.used.Fresh, prompts.Read+k.used.Read,
				prompts.Output+k.used.Output
		}
	}
	c.same("metrics, calls", int(sum("oriel_calls_total", "")), by["total"].Calls)
	c.same("metrics, failed calls", int(sum("oriel_calls_total", `result="failed"`)), by["total"].Failed)
	c.same("metrics, input", int(sum("oriel_provider_tokens_total", `kind="input"`)), prompts.Fresh)
	c.same("metrics, cache", int(sum("oriel_provider_tokens_total", `kind="cache_read"`)), prompts.Read)
	c.same("metrics, output", int(sum("oriel_provider_tokens_total", `kind="output"`)), prompts.Output)
	c.money("metrics, cost of what was reported", sum("oriel_cost_dollars_total", ""), by["total"].Cost-silent)
	return nil
}

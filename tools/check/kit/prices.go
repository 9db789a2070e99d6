package kit

import (
	"encoding/json"
	"fmt"
	"os/exec"
)

// Used are tokens as a provider reports them.
type Used struct{ Fresh, Read, Write, Output int }

// Prompt returns the tokens of the prompt.
func (u Used) Prompt() int { return u.Fresh + u.Read + u.Write }

// Prices are US dollars per million tokens; Known is false if there are none.
type Prices struct {
	Known                      bool
	input, output, read, write float64
	over                       int // tokens of the prompt above which long holds
	long                       *Prices
}

// Cost returns the price of a call.
func (p Prices) Cost(u Used) float64 {
	if p.long != nil && u.Prompt() > p.over {
		p = *p.long
	}
	return (float64(u.Fresh)*p.input + float64(u.Read)*p.read + float64(u.Write)*p.write + float64(
		u.Output)*p.output) / 1e6
}

// PriceList holds the prices of models that a program was asked for.
type PriceList map[string]Prices

// Of asks a program for the prices of a model.
func (l PriceList) Of(oriel, model string) (Prices, error) {
	if p, ok := l[model]; ok {
		return p, nil
	}
	type rates struct {
		Over       int
		Input      float64
		Output     float64
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
	}
	var list struct {
		Models []struct {
			Prices struct {
				rates
				Tiers []rates
			}
		}
	}
	var p Prices
	if out, err := exec.Command(oriel, "models", model, "--json").Output(); err == nil { // else it is unknown
		if err := json.Unmarshal(out, &list); err != nil {
			return p, err
		}
	}
	of := func(r rates) Prices {
		or := func(x float64) float64 {
			if x == 0 {
				return r.Input
			}
			return x
		}
		return Prices{Known: r.Input > 0, input: r.Input, output: r.Output, read: or(r.CacheRead),
			write: or(r.CacheWrite)}
	}
	if len(list.Models) == 1 {
		m := list.Models[0].Prices
		p = of(m.rates)
		if len(m.Tiers) > 1 {
			return p, fmt.Errorf("%s has %d tiers of prices: the checks know one", model, len(m.Tiers))
		}
		for _, t := range m.Tiers {
			long := of(t)
			p.over, p.long = t.Over, &long
		}
	}
	l[model] = p
	return p, nil
}

package serve

import (
	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/settings"
)

// openCondensing opens the client of the summarising model in the settings, or
// returns nil if there is none.
func openCondensing(l *settings.Loaded) (o *oriel.CondenseOptions, done func(), err error) {
	c := l.Condense
	if c.URL == "" {
		return nil, func() {}, nil
	}
	endpoint, err := condense.NewEndpoint(c.URL, c.Model, c.Key)
	if err != nil {
		return nil, nil, err
	}
	known := l.Table.Lookup(c.Model)
	model := condense.Model{Call: endpoint.Call, Window: known.Window, Prices: known.Prices, Prompt: l.Instructions}
	o = &oriel.CondenseOptions{Condenser: model, Inline: c.When == "inline", Wait: c.Wait}
	return o, endpoint.Close, nil
}

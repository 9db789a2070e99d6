package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
)

// condenseFlags are what the command line says of summaries.
type condenseFlags struct {
	url, model, prompt, when string
	wait                     time.Duration
}

func (c *condenseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.url, "condense-url", "", "base `URL` of a server that speaks OpenAI's chat format, to summarise what leaves; its key is $ORIEL_CONDENSE_KEY (default: none is asked)")
	f.StringVar(&c.model, "condense-model", "", "`model` that is asked there")
	f.StringVar(&c.prompt, "condense-prompt", "", "`file` with instructions of your own; {tokens} stands for the limit")
	f.StringVar(&c.when, "condense", "behind", "when: behind (calls never wait, the summary is used by the next cut) or inline (the call that cuts waits)")
	f.DurationVar(&c.wait, "condense-wait", 0, "the longest that a summary may take (default 2m, inline 20s)")
}

// open makes what asks the model; nil where none is asked.
func (c *condenseFlags) open() (o *view.CondenseOptions, done func(), err error) {
	if c.when != "behind" && c.when != "inline" {
		return nil, nil, fmt.Errorf("--condense %s: use behind or inline", c.when)
	}
	if c.url == "" {
		if c.model != "" || c.prompt != "" || c.when == "inline" {
			return nil, nil, fmt.Errorf("no server is named that could summarise: give --condense-url")
		}
		return nil, func() {}, nil
	}
	if c.wait < 0 {
		return nil, nil, fmt.Errorf("--condense-wait %s: give a time above 0", c.wait)
	}
	endpoint, err := record.NewEndpoint(c.url, c.model, os.Getenv("ORIEL_CONDENSE_KEY"))
	if err != nil {
		return nil, nil, fmt.Errorf("--condense-url, --condense-model: %w", err)
	}
	known := token.Builtin().Lookup(c.model)
	model := condense.Model{Call: endpoint.Call, Window: known.Window, Prices: known.Prices}
	if c.prompt != "" {
		text, err := os.ReadFile(c.prompt)
		if err != nil {
			return nil, nil, fmt.Errorf("--condense-prompt: %w", err)
		}
		model.Prompt = string(text)
	}
	o = &view.CondenseOptions{Condenser: model, Inline: c.when == "inline", Wait: c.wait}
	if o.Inline && o.Wait == 0 {
		o.Wait = 20 * time.Second
	}
	return o, endpoint.Close, nil
}

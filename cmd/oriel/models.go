package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/token"
)

func modelsCommand() *cobra.Command {
	var asJSON, learnt bool
	var forget string
	cmd := &cobra.Command{
		Use:   "models [NAME]",
		Short: "Show what is known of each model: window, output, prices, cache rules",
		Long: `Show the model table: context window, largest input and output, prices in US
dollars for a million tokens, the shortest prefix that is cached, and the day on
which the figures were looked up. "~" marks figures that others than the vendor
report.

NAME shows the models whose name contains it; a full name in any of its spellings
(dated, with a cloud's prefix) shows the entry that is used for it.

A file given by --models or $ORIEL_MODELS is laid over the table, field by field.

--learnt shows what the proxy has learnt of models from their providers' answers: how
many tokens they take where that is less than the table says, and how they count. A
limit that one refusal taught holds for the conversation that was refused, and for
all once another one was refused for it, too; after a week it is forgotten.
--forget forgets what was learnt of a model, named as --learnt names it, or of all.
A proxy that runs on the same data folder takes that up with its next calls.`,
		Example: `  oriel models
  oriel models claude
  oriel models gpt-4o-2024-08-06 --json
  oriel models --learnt
  oriel models --forget gpt-4o`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%d names: give one, or none for all models", len(args))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&learnt, "learnt", false, "show what was learnt from providers' answers")
	cmd.Flags().StringVar(&forget, "forget", "", "forget what was learnt of `MODEL`, or of all models for all")
	table, data := addModelTable(cmd), addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("forget") {
			if forget == "" || len(args) > 0 || learnt || asJSON {
				return fmt.Errorf("--forget wants the name of a model, or all, and nothing else: oriel models --forget gpt-4o")
			}
			return forgetLearnt(cmd, data, forget)
		}
		if learnt {
			return showLearnt(cmd, data, strings.Join(args, ""), asJSON)
		}
		models, err := modelTable(*table)
		if err != nil {
			return err
		}
		list := models.All()
		if len(args) > 0 {
			if list = named(models, list, args[0]); len(list) == 0 {
				return fmt.Errorf("there is no model %q: oriel models lists them, --models adds your own", args[0])
			}
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), map[string][]token.Model{"models": list})
		}
		return printModels(cmd, list)
	}
	return cmd
}

func named(models *token.Models, list []token.Model, name string) []token.Model {
	if m := models.Lookup(name); m.Known {
		return []token.Model{m}
	}
	var found []token.Model
	for _, m := range list {
		if strings.Contains(m.ID, strings.ToLower(name)) || m.Provider == strings.ToLower(name) {
			found = append(found, m)
		}
	}
	return found
}

func printModels(cmd *cobra.Command, list []token.Model) error {
	var b bytes.Buffer
	t := table{left: []bool{true, false, false, false, false, false, false, false, false, true}}
	t.row("model", "window", "max in", "max out", "$ in", "$ out", "$ read", "$ write", "cached from", "as of")
	for _, m := range list {
		name := oneLine(m.ID, 60)
		if m.Confidence == "reported" {
			name += " ~"
		}
		t.row(name, count(m.Window), count(m.MaxInput), count(m.MaxOutput),
			dollars(m.Prices.Input), dollars(m.Prices.Output), dollars(m.Prices.CacheRead), dollars(m.Prices.CacheWrite),
			count(m.Cache.Min), m.Date)
	}
	if sc := screenOf(cmd.OutOrStdout()); sc.width > 0 {
		t.narrow(sc.width, 9, 8, 2, 7, 6, 3, 1) // the date, the cache, limits
	}
	t.writeTo(&b)
	_, err := cmd.OutOrStdout().Write(b.Bytes())
	return err
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return thousands(n)
}

func dollars(f float64) string {
	if f == 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

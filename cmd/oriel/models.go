package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

func modelsCommand() *cobra.Command {
	var asJSON, learnt bool
	var forget, update string
	cmd := &cobra.Command{
		Use:   "models [NAME]",
		Short: "Show the model table: windows, limits, prices, cache rules",
		Long: `Show the model table: context window, largest input and output, prices in US
dollars for a million tokens, the shortest prefix that is cached, and where the figures
come from, with their day. "~" marks figures that somebody other than the vendor reports.
A narrow terminal shows fewer columns; --json has all. The last line has the snapshot of
public prices in the table, and its age.

NAME lists the models whose names contain it. A full name in any spelling (with a date,
with a cloud's prefix) shows the entry that is used for it.

A file given by --models or $ORIEL_MODELS overrides the table, field by field.

--update stores newer prices for all commands, and servers apply them within seconds. FILE
is model_prices_and_context_window.json of LiteLLM, a wheel of LiteLLM (pip download
--no-deps litellm), or a file that --update stored. Nothing is fetched. Entries that were
kept by hand change where the file differs from the snapshot of this program. To go back,
remove the file that the command names.

--learnt shows what the proxy has learnt from the answers of providers: limits below
those of the table, and how models count tokens. A limit from one refusal applies to the
conversation that was refused; once a second conversation was refused for the same limit,
it applies to all. It is forgotten after a week. --forget removes what was learnt about a
model, named as --learnt names it, or about all models. A proxy on the same data folder
notices this with its next calls.`,
		Example: `  oriel models
  oriel models claude
  oriel models gpt-4o-2024-08-06 --json
  oriel models --update litellm-1.109.1-py3-none-any.whl
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
	cmd.Flags().StringVar(&update, "update", "", "store newer prices from `FILE`")
	table, data := addModelTable(cmd), addHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("update") {
			if update == "" || len(args) > 0 || learnt || asJSON || cmd.Flags().Changed("forget") {
				return fmt.Errorf("--update wants a file, and nothing else: oriel models --update prices.json")
			}
			return updatePrices(cmd, update)
		}
		if cmd.Flags().Changed("forget") {
			if forget == "" || len(args) > 0 || learnt || asJSON {
				return fmt.Errorf(
					"--forget wants the name of a model, or all, and nothing else: oriel models --forget gpt-4o")
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
			s := models.Snapshot()
			return printJSON(cmd.OutOrStdout(), struct {
				Models   []token.Model `json:"models"`
				Snapshot snapshotJSON  `json:"snapshot"`
			}{list, snapshotJSON{s.Source, s.Also, s.Date, s.Age(time.Now())}})
		}
		return printModels(cmd, list, models.Snapshot())
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

// snapshotJSON says whose figures the table has, and how old they are in days.
type snapshotJSON struct {
	Source string `json:"source"`
	Also   string `json:"also,omitempty"`
	Date   string `json:"date"`
	Age    int    `json:"age_days"`
}

func printModels(cmd *cobra.Command, list []token.Model, s token.Snapshot) error {
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		_, err := fmt.Fprintf(out, "%s\n%s\n", drawModels(list, sc), snapshotLine(s, time.Now()))
		return err
	})
}

// snapshotLine returns a line about the snapshot in the table.
func snapshotLine(s token.Snapshot, now time.Time) string {
	line := "prices: " + term.OneLine(s.Source, 60)
	if s.Also != "" {
		line += ", checked with " + term.OneLine(s.Also, 60)
	}
	age := s.Age(now)
	line += fmt.Sprintf("; of %s, %s old", s.Date, term.Plural(age, "day", "days"))
	if age > token.MaxAge {
		line += ": --update stores newer ones"
	}
	return line
}

func drawModels(list []token.Model, sc term.Screen) []byte {
	var b bytes.Buffer
	t := term.Table{Left: []bool{true, false, false, false, false, false, false, false, false, true, true}}
	t.Row("model", "window", "max in", "max out", "$ in", "$ out", "$ read", "$ write", "cached from", "as of", "from")
	for _, m := range list {
		name := term.OneLine(m.ID, 60)
		if m.Confidence == "reported" {
			name += " ~"
		}
		t.Row(name, count(m.Window), count(m.MaxInput), count(m.MaxOutput),
			dollars(m.Prices.Input), dollars(m.Prices.Output), dollars(m.Prices.CacheRead),
			dollars(m.Prices.CacheWrite),
			count(m.Cache.Min), m.Date, term.OneLine(cmp.Or(m.Figures, "by hand"), 40))
	}
	if sc.Width > 0 {
		t.Narrow(sc.Width, 10, 9, 8, 2, 7, 6, 3, 1) // the origin, the date, the cache, limits
	}
	t.Draw(&b)
	return b.Bytes()
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return term.Thousands(n)
}

func dollars(f float64) string {
	if f == 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

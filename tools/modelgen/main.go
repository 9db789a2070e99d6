// Command modelgen writes the snapshot of windows, limits and prices that package token
// embeds. It reads LiteLLM's price file, in the wheel that PyPI serves, and, to check it and
// for models that it does not have, the lists of models in the npm package of pi-ai.
//
// Where the two differ, or an entry of token/models.json states a figure of its own that
// differs, the difference must be in resolved.json with the side that counts and the reason;
// otherwise modelgen lists it, writes nothing and exits with 1. docs/reference/models.md has
// the command line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/prices"
	"github.com/oriel-context/oriel/token"
)

func main() {
	var o options
	flag.StringVar(&o.wheel, "litellm", "", "wheel of litellm from PyPI (required)")
	flag.StringVar(&o.date, "date", "", "day on which PyPI got the wheel, YYYY-MM-DD (required)")
	flag.StringVar(&o.pi, "pi", "", "archive of @earendil-works/pi-ai from npm (required)")
	flag.StringVar(&o.out, "out", "../token/snapshot.json", "file to write")
	flag.StringVar(&o.hand, "hand", "../token/models.json", "entries kept by hand")
	flag.StringVar(&o.resolved, "resolved", "modelgen/resolved.json", "differences that were decided")
	age := flag.Bool("age", false, "only warn if the snapshot is old")
	flag.Parse()
	if *age {
		warnOfAge(token.BuiltinSnapshot(), time.Now())
		return
	}
	if o.wheel == "" || o.date == "" || o.pi == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "modelgen:", err)
		os.Exit(1)
	}
}

func warnOfAge(s token.Snapshot, now time.Time) {
	if n := s.Age(now); n > token.MaxAge {
		fmt.Fprintf(os.Stderr, "warning: the table of prices is %d days old (%s of %s): run tools/modelgen\n",
			n, s.Source, s.Date)
	}
}

type options struct{ wheel, date, pi, out, hand, resolved string }

func (o options) run() error {
	first, err := prices.Read(o.wheel)
	if err != nil {
		return err
	}
	first.Date = o.date
	second, err := readPi(o.pi)
	if err != nil {
		return err
	}
	hand, err := readHand(o.hand)
	if err != nil {
		return err
	}
	decided, err := readResolved(o.resolved)
	if err != nil {
		return err
	}
	s, open := merge(first, second, hand, decided)
	for _, d := range open {
		fmt.Printf("%s %s: %s\n", d.ID, d.Field, d.what)
	}
	for _, d := range decided {
		if !d.used {
			fmt.Printf("%s %s: is decided in %s, but there is no difference\n", d.ID, d.Field, o.resolved)
		}
	}
	if len(open) > 0 || slices.ContainsFunc(decided, func(d *difference) bool { return !d.used }) {
		return fmt.Errorf("decide these in %s", o.resolved)
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if _, err := token.ReadSnapshot(data); err != nil {
		return err
	}
	fmt.Printf("%s: %d models, %d bytes; %d differences were decided\n", o.out, len(s.Models), len(data), len(decided))
	return os.WriteFile(o.out, data, 0o644)
}

// handEntry has the figures that an entry kept by hand states.
type handEntry struct {
	ID        string   `json:"id"`
	Aliases   []string `json:"aliases"`
	Guess     bool     `json:"guess"`
	Family    bool     `json:"family"`
	Window    *int     `json:"window"`
	MaxInput  *int     `json:"max_input"`
	MaxOutput *int     `json:"max_output"`
	Prices    *token.Prices
}

func readHand(path string) (map[string]handEntry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct{ Models []handEntry }
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string]handEntry{}
	for _, e := range file.Models {
		if !e.Guess {
			out[e.ID] = e
		}
	}
	return out, nil
}

// A difference is a figure of which two sources have different values.
type difference struct {
	ID    string `json:"id"`
	Field string `json:"field"`
	// Use is the side that counts: litellm, pi or hand.
	Use string `json:"use"`
	Why string `json:"why"`

	what string
	used bool
}

func readResolved(path string) ([]*difference, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*difference
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, d := range list {
		if d.Why == "" || !slices.Contains([]string{"litellm", "pi", "hand"}, d.Use) {
			return nil, fmt.Errorf("%s: %s %s: needs use (litellm, pi or hand) and why", path, d.ID, d.Field)
		}
	}
	return list, nil
}

package figures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// row is a row of oriel usage, of the API, and of the check's own sums.
type row struct {
	Key                          string
	Calls, Failed, Input, Output int
	CacheRead                    int `json:"cache_read"`
	CacheWrite                   int `json:"cache_write"`
	LeftOut                      int `json:"left_out"`
	Unreported                   int
	Cost, Without                float64
	Unknown                      []string `json:"unknown_models"`
}

func (r *row) add(o *row) {
	r.Calls, r.Failed, r.Input, r.Output = r.Calls+o.Calls, r.Failed+o.Failed, r.Input+o.Input, r.Output+o.Output
	r.CacheRead, r.CacheWrite, r.LeftOut, r.Unreported = r.CacheRead+o.CacheRead, r.CacheWrite+o.CacheWrite,
		r.LeftOut+o.LeftOut, r.Unreported+o.Unreported
	r.Cost, r.Without, r.Unknown = r.Cost+o.Cost, r.Without+o.Without, append(r.Unknown, o.Unknown...)
}

// differ notes a difference.
func (c *check) differ(equal bool, what string, got, want any) {
	if c.compared++; !equal {
		c.bad++
		fmt.Printf("%s: %v, want %v\n", what, got, want)
	}
}

func (c *check) same(what string, got, want int) { c.differ(got == want, what, got, want) }

// money compares to a hundredth of a cent.
func (c *check) money(what string, got, want float64) {
	c.differ(math.Abs(got-want) < 1e-4, what, got, want)
}

// near compares what is estimated: to a tenth.
func (c *check) near(what string, got, want float64) {
	c.differ(math.Abs(got-want) <= want/10, what, got, want)
}

// rows compares all figures of two rows.
func (c *check) rows(what string, got, want *row) {
	for _, f := range []struct {
		name      string
		got, want int
	}{
		{"calls", got.Calls, want.Calls},
		{"failed", got.Failed, want.Failed},
		{"input", got.Input, want.Input},
		{"output", got.Output, want.Output},
		{"cache read", got.CacheRead, want.CacheRead},
		{"cache write", got.CacheWrite, want.CacheWrite},
		{"left out", got.LeftOut, want.LeftOut},
		{"unreported", got.Unreported, want.Unreported},
	} {
		c.same(what+", "+f.name, f.got, f.want)
	}
	c.money(what+", cost", got.Cost, want.Cost)
	c.money(what+", without", got.Without, want.Without)
	list := func(l []string) string { slices.Sort(l); return strings.Join(slices.Compact(l), " ") }
	c.differ(list(got.Unknown) == list(want.Unknown), what+", models without a price", got.Unknown, want.Unknown)
}

// usage returns the rows of oriel usage, and their sum under "total".
func (c *check) usage(by string) (map[string]*row, error) {
	out, err := c.run("usage", "--by", by, "--json")
	if err != nil {
		return nil, err
	}
	rows := map[string]*row{"total": {}, "resumed": {}}
	for line := range bytes.Lines(out) {
		r := new(row)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, err
		}
		rows[r.Key] = r
		rows["total"].add(r)
	}
	return rows, nil
}

// own adds up what the model has seen, by session or by model.
func (c *check) own(key func(*call) string, calls []call) (map[string]*row, error) {
	rows := map[string]*row{"total": {}}
	for i := range calls {
		k := &calls[i]
		p, err := c.prices.Of(c.oriel, k.model)
		if err != nil {
			return nil, err
		}
		r := &row{Calls: 1, Input: k.used.Prompt(), CacheRead: k.used.Read, CacheWrite: k.used.Write,
			Output: k.used.Output}
		r.Cost, r.Without = p.Cost(k.used), p.Cost(k.alone)
		switch {
		case k.failed:
			r = &row{Calls: 1, Failed: 1}
		case k.unreported:
			// Nobody reports the output, and the rest is an estimate.
			u, alone := k.used, k.alone
			u.Output, alone.Output = 0, 0
			r.Unreported, r.Output, r.Cost, r.Without = 1, 0, p.Cost(u), p.Cost(alone)
		}
		if !p.Known && !k.failed {
			r.Unknown = []string{k.model}
		}
		for _, name := range []string{key(k), "total"} {
			if rows[name] == nil {
				rows[name] = &row{Key: name}
			}
			rows[name].add(r)
		}
	}
	return rows, nil
}

// compare compares everything that shows a sum.
func (c *check) compare(base string) error {
	for _, f := range []func(string) error{c.usages, c.overview, c.conversations, c.plans, c.windows, c.metrics,
		c.texts} {
		if err := f(base); err != nil {
			return err
		}
	}
	return nil
}

// usages compares oriel usage with what the model has seen, and every grouping of it with the
// others and with the API.
func (c *check) usages(base string) error {
	for by, key := range map[string]func(*call) string{
		"conversation": func(k *call) string { return k.session },
		"model":        func(k *call) string { return k.model },
	} {
		got, err := c.usage(by)
		if err != nil {
			return err
		}
		want, err := c.own(key, c.model.calls)
		if err != nil {
			return err
		}
		c.same("usage by "+by+", rows", len(got), len(want)+map[string]int{"conversation": 0, "model": 1}[by])
		for name, w := range want {
			g, what := got[name], "usage by "+by+", "+name
			if g == nil {
				c.differ(false, what, "no row", "one")
				continue
			}
			// What is left out is counted by Oriel; what nobody reports, and the cost without
			// Oriel, are estimates.
			c.near(what+", without", g.Without, w.Without)
			w.LeftOut, w.Without = g.LeftOut, g.Without
			if w.Unreported > 0 {
				c.near(what+", input", float64(g.Input), float64(w.Input))
				c.near(what+", cost", g.Cost, w.Cost)
				w.Input, w.CacheRead, w.Cost = g.Input, g.CacheRead, g.Cost
			}
			c.rows(what, g, w)
		}
	}
	all, err := c.usage("conversation")
	if err != nil {
		return err
	}
	for _, by := range []string{"hour", "day", "week", "month", "model", "project", "conversation"} {
		got, err := c.usage(by)
		if err != nil {
			return err
		}
		c.rows("usage by "+by+", sum", got["total"], all["total"])
		var web struct {
			Rows  []row
			Total row
		}
		if err := get(base, "api/usage?by="+by+"&zone=UTC", &web); err != nil {
			return err
		}
		c.rows("console, usage by "+by, &web.Total, all["total"])
		for i := range web.Rows {
			if g := got[web.Rows[i].Key]; g == nil {
				c.differ(false, "console, usage by "+by, web.Rows[i].Key, "a row of oriel usage")
			} else {
				c.rows("console, usage by "+by+", "+g.Key, &web.Rows[i], g)
			}
		}
	}
	return nil
}

// overview compares the first page of the console, the status line, the statistics and the
// measures of quality.
func (c *check) overview(base string) error {
	all, err := c.usage("day")
	if err != nil {
		return err
	}
	t := all["total"]
	var o struct {
		Today struct {
			Calls, Failed, Cuts, Recalls, Passages int
			Tokens                                 struct {
				Sent, Without, Output int
				LeftOut               int `json:"left_out"`
				CacheRead             int `json:"cache_read"`
				CacheWrite            int `json:"cache_write"`
			}
			Money struct {
				Cost, Without, Saved float64
				Unknown              []string `json:"unknown_models"`
			}
		}
		Store struct{ Conversations, Messages int }
	}
	if err := get(base, "api/overview?zone=UTC", &o); err != nil {
		return err
	}
	d := &o.Today
	c.rows("overview", &row{
		Calls: d.Calls, Failed: d.Failed, Input: d.Tokens.Sent, Output: d.Tokens.Output, CacheRead: d.Tokens.CacheRead,
		CacheWrite: d.Tokens.CacheWrite,
		LeftOut:    d.Tokens.LeftOut, Unreported: t.Unreported, Cost: d.Money.Cost, Without: d.Money.Without,
		Unknown: d.Money.Unknown,
	}, t)
	c.money("overview, saved", d.Money.Saved, t.Without-t.Cost)
	c.same("overview, without", d.Tokens.Without, t.Input+t.LeftOut)
	var status struct {
		Cost, Without float64
		Tokens        int
	}
	if err := c.read(&status, "statusline"); err != nil {
		return err
	}
	c.money("statusline, cost", status.Cost, t.Cost)
	c.money("statusline, without", status.Without, t.Without)
	var stats struct{ Conversations, Messages int }
	if err := c.read(&stats, "stats"); err != nil {
		return err
	}
	c.same("overview against stats, conversations", o.Store.Conversations, stats.Conversations)
	c.same("overview against stats, messages", o.Store.Messages, stats.Messages)
	var quality struct{ Calls, Skipped, Cut, Passages int }
	if err := c.read(&quality, "usage", "--quality"); err != nil {
		return err
	}
	c.same("quality, calls", quality.Calls+quality.Skipped, t.Calls)
	c.same("quality against overview, passages", quality.Passages, d.Passages)
	c.differ(d.Recalls > 0 && d.Passages >= d.Recalls, "overview, recalls", d.Recalls, "some")
	return nil
}
